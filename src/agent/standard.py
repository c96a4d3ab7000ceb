"""The strategy for capable models: one structured call for each decision, and no rule that overrules it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.attached import ROOM_OF_ALL
from agent.browser.opening import BROWSER_USE
from agent.browser.protocol import Outcome
from agent.context import Context
from agent.conversation import Conversation
from agent.creating import create_tool
from agent.deciding import ask_for_tool, ask_until_possible, next_action
from agent.models.protocol import Role
from agent.permission import is_asked_for
from agent.programs.written import run_written
from agent.provenance import Origins
from agent.restating import restate
from agent.state import Decision, State
from agent.steps import READING
from agent.strategy import PromptLimits, Update, strategy_for
from mcp_tools.create import StandardRecipe
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.web.specialist.evidence import Evidence, Wanted

LIMITS = PromptLimits(
    reading=READING,
    section=READING,
    files=ROOM_OF_ALL,
    addresses=3_000,
    evidence=READING,
    history=16_000,
    answer=2_000,
    tests=300,
    thoughts=12_000,
)


class Standard:
    """Trusts the model's own judgement."""

    limits = LIMITS

    async def decide(self, state: State, context: Context) -> list[Decision]:
        """One structured call, asked again with the reason while its decision cannot be carried out."""
        return [await next_action(state, context, ask_until_possible, ask_for_tool)]

    async def research(self, wanted: Wanted, context: Context) -> Evidence:
        """The model plans a search that has parts, and chooses what is quoted."""
        from agent.web.specialist.research import research

        assert context.web is not None
        return await research(wanted, context, context.web)

    def result_of(self, text: str, question: str, *, downloaded: bool = False) -> Json:
        """The coordinator reads the finding, and answers itself."""
        return None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> Outcome:
        """browser-use; without its package, the small strategy's driver."""
        if find_spec("browser_use") is None:
            return await strategy_for("", "small").operate(task, url, files, origins, context)
        assert context.browser is not None

        async def ask(*args: Any, **options: Any) -> Any:
            return await context.complete(Role.BROWSER, *args, **options)

        return await context.browser.do(task, url, files, ask, driver=BROWSER_USE, origins=origins)

    async def program(self, state: State, context: Context) -> Update:
        """One program, with a second attempt that sees the failure."""
        return await run_written(state, context)

    async def create(self, state: State, context: Context) -> Update:
        """A spec, tests by an examiner, and one function a round."""
        return await create_tool(state, context, StandardRecipe())

    async def restate(self, message: str, earlier: Conversation, source: Conversation | None, context: Context) -> str:
        """The model is asked about every message."""
        return await restate(message, earlier, source, context)

    async def is_wanted(self, action: str, wanted: str, context: Context) -> bool:
        """The model judges the action by what the user wrote."""
        return await is_asked_for(action, wanted, context)

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """The model's answer is believed."""
        return text
