"""Prompts: how a model is asked to make, to find and to explain a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from mcp_tools.serving.envelope import COMPLETE, FIXED
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import GetPromptRequestParams

_LONGEST = 20_000


class _Prompt(NamedTuple):
    title: str
    description: str
    argument: str
    meaning: str
    text: str


_PROMPTS = {
    "make_tool": _Prompt(
        "Make a tool",
        "Makes a tool for a kind of task, after looking whether there is one.",
        "task",
        "What the tool should do.",
        "Look with search_tools whether a tool for the task below exists. If one fits, show with call_tool that it "
        "does. If none does, think of one concrete question of this kind with all its values, and give it to "
        "create_tool. Then say in one sentence what the tool takes and gives.\n\nThe task:\n{task}",
    ),
    "find_tool": _Prompt(
        "Which tool fits?",
        "Finds the tools that fit a task, and says which to use and how.",
        "task",
        "What is to be done.",
        "Find with search_tools the tools that fit the task below, in several wordings if the first finds none. Say "
        "which one fits best and why, and give the arguments of the call as JSON. If none fits, say so.\n\n"
        "The task:\n{task}",
    ),
    "explain_tool": _Prompt(
        "Explain a tool",
        "Explains what a tool does, how far it can be trusted, and where it fails.",
        "name",
        "The tool's name.",
        "Read the resources alita://tools/{name}/source, alita://tools/{name}/tests and alita://tools/{name}/evidence. "
        "Explain in plain words what the tool does, with one example call. Say what its tests cover, what they do not, "
        "and for which arguments you would not trust it.",
    ),
}


class Prompts:
    """The prompts of the server."""

    async def list(self, *_: object) -> dict[str, Json]:
        """All of them."""
        return {
            **FIXED,
            "prompts": [
                {
                    "name": name,
                    "title": prompt.title,
                    "description": prompt.description,
                    "arguments": [{"name": prompt.argument, "description": prompt.meaning, "required": True}],
                }
                for name, prompt in _PROMPTS.items()
            ],
        }

    async def get(self, _: ServerRequestContext[Any, Any], params: GetPromptRequestParams) -> dict[str, Json]:
        """One prompt with its argument filled in.

        Raises:
            MCPError: There is no such prompt, or its argument is missing or too long.
        """
        prompt = _PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"no prompt {one_line(params.name)}: there are {', '.join(_PROMPTS)}")
        value = printable((params.arguments or {}).get(prompt.argument, "")).strip()
        if not value or len(value) > _LONGEST:
            raise MCPError(INVALID_PARAMS, f"{params.name} wants {prompt.argument!r}, 1 to {_LONGEST:,} characters")
        text = prompt.text.replace(f"{{{prompt.argument}}}", value)
        return {
            **COMPLETE,
            "description": prompt.description,
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        }
