"""The graph's state, JSON-plain, and the coordinator's typed decisions."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, TypedDict, get_args

from agent.errors import ModelOutputError
from mcp_tools.tool import Json, call_text

Action = Literal["search", "browse", "read_file", "use_tool", "create_tool", "run_code", "answer"]
ACTIONS: tuple[Action, ...] = get_args(Action)


class Step(TypedDict):
    """One action of a run and what it found."""

    number: int
    action: Action
    input: str
    """The action's input in short; with the action it tells whether a step is a repetition."""
    ok: bool
    finding: str
    """What later steps may read: a result, or why there is none."""
    value: Json
    """The result as JSON, when the step computed one."""


class State(TypedDict, total=False):
    """What a run knows. Everything that is not plain JSON lives in the context."""

    question: str
    files: list[str]
    without: list[Action]
    """Actions that are not possible in this run."""
    tools: list[dict[str, Json]]
    """The few tools that may fit: name, description, inputSchema; of the library's `asked`, what it was made for; of
    an external one `server`, the server's name."""
    decision: dict[str, Json]
    steps: Annotated[list[Step], operator.add]
    created: Annotated[list[str], operator.add]
    used: Annotated[list[str], operator.add]
    limit: str | None
    """The limit that ended the run."""
    text: str
    """The answer's text."""
    calls: int
    """How far the run has come in its journal."""
    usage: dict[str, Json]
    """What the run has cost so far."""
    status: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The coordinator's choice of the next action."""

    action: Action
    why: str = ""
    tool: str = ""
    """The tool to use, for `use_tool`."""
    arguments: dict[str, Json] = field(default_factory=dict)
    answer: str = ""
    """The answer's text, for `answer`."""

    @property
    def input(self) -> str:
        """What the action works on, in short; equal inputs make a repetition."""
        if self.action == "use_tool":
            return call_text(self.tool, dict(sorted(self.arguments.items())))
        return self.action

    def as_json(self) -> dict[str, Json]:
        """The form that the state holds."""
        return asdict(self)

    @classmethod
    def from_json(cls, form: Any) -> Decision:
        """Reads what a model filled in.

        Raises:
            ModelOutputError: The action is unknown, or a part of it is missing; the message tells the model.
        """
        if not isinstance(form, dict) or not isinstance(form.get("next"), dict):
            raise ModelOutputError(f"A decision is an object with `why` and `next`, not {str(form)[:80]!r}.")
        chosen = form["next"]
        action = chosen.get("action")
        if action not in ACTIONS:
            raise ModelOutputError(f"There is no action {str(action)[:80]!r}. Choose one of: {', '.join(ACTIONS)}.")
        tool, answer = chosen.get("tool"), chosen.get("answer")
        if action == "use_tool" and not (isinstance(tool, str) and tool):
            raise ModelOutputError("use_tool needs `tool`, the name of a tool.")
        arguments = chosen.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise ModelOutputError(f"`arguments` is an object, not {str(arguments)[:80]!r}.")
        return cls(
            action,
            str(form.get("why") or ""),
            tool if action == "use_tool" else "",
            arguments if action == "use_tool" else {},
            "" if answer is None else str(answer),
        )
