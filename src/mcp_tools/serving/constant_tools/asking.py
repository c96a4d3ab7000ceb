"""`ask` and `create_tool`: the whole agent, and the part of it that makes tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_tools.errors import AlitaError, IsolationError
from mcp_tools.serving.call import Call, ConstantTool, ServerLimits
from mcp_tools.serving.consent import FILES_SCHEMA, granted
from mcp_tools.serving.constant_tools.agent import Agent
from mcp_tools.serving.constant_tools.schemas import definition
from mcp_tools.serving.results import Reply, error_reply, value_reply
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

_LONGEST_QUESTION = 100_000
_LONGEST_LINE = 300


class Asking:
    """The two tools that need an agent. Without one they say so."""

    def __init__(self, agent: Agent | None, limits: ServerLimits) -> None:
        self._agent = agent
        self._limits = limits

    def tools(self) -> list[ConstantTool]:
        """The constant tools of this file."""
        return [ConstantTool(_CREATE, self._create), ConstantTool(_ASK, self._ask)]

    async def _ask(self, call: Call) -> Reply | InputRequiredResult:
        return await self._with_agent(call, "alita", create=False)

    async def _create(self, call: Call) -> Reply | InputRequiredResult:
        return await self._with_agent(call, "a new tool", create=True)

    async def _with_agent(self, call: Call, who: str, *, create: bool) -> Reply | InputRequiredResult:
        if self._agent is None:
            return error_reply("no_agent", "this server has no agent", remedy="Use the tools of its library.")
        files: tuple[Path, ...] = ()
        if names := call.arguments.get("files"):
            answer = await granted(call, names, who, self._limits.consent_seconds)
            if not isinstance(answer, tuple):
                return answer
            files = answer

        async def tell(text: str) -> None:
            await call.tell(one_line(text, _LONGEST_LINE))

        act = self._agent.create_tool if create else self._agent.ask
        return await self._answered(act(call.arguments["question"], files=files, tell=tell))

    async def _answered(self, work: Awaitable[dict[str, Json]]) -> Reply:
        try:
            async with asyncio.timeout(self._limits.agent_seconds):
                content = await work
        except TimeoutError:
            message = f"no answer within {self._limits.agent_seconds:.0f} s"
            return error_reply("wall_time", message, remedy="Ask for less at once.")
        except IsolationError:
            raise
        except AlitaError as error:  # written for people, without keys
            return error_reply("failed", error.message, remedy=error.remedy)
        if failure := content.pop("error", None):
            return error_reply(
                str(content.get("status", "failed")), str(failure), remedy=str(content.get("remedy", ""))
            )
        return value_reply(content, limit=self._limits.result_bytes)


_QUESTION: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": _LONGEST_QUESTION}
_NAMES: dict[str, Json] = {"type": "array", "items": {"type": "string"}}

_CREATE = definition(
    "create_tool",
    "Create a tool",
    "Writes the tool that answers questions of a kind, proves it in the sandbox, and keeps it in the library, where it "
    "can be called at once. Give one concrete question with its values; they become parameters. It takes a while.",
    {"question": {**_QUESTION, "description": "One question that the tool must answer."}, "files": FILES_SCHEMA},
    required=["question"],
    output={"created": _NAMES, "reused": _NAMES, "answer": {"type": "string"}},
    read_only=False,
    idempotent=False,
    open_world=True,
)
_ASK = definition(
    "ask",
    "Ask alita",
    "Asks the whole agent a question. It uses the tools of the library, and makes the one that is missing. It takes a "
    "while.",
    {"question": {**_QUESTION, "description": "What is asked."}, "files": FILES_SCHEMA},
    required=["question"],
    output={"answer": {"type": "string"}, "status": {"type": "string"}, "tools_created": _NAMES, "tools_used": _NAMES},
    read_only=False,
    idempotent=False,
    open_world=True,
)
