"""The tools of a run: which of the library and of external servers it is offered, how they are shown and called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.actions.server_tools import ALL_TOOLS, FOLDED, arranged, external_of
from agent.answer import OutputFile
from agent.consent.external_tools import SERVER
from agent.consent.rulings import Verdict, judge_call
from agent.context import Context
from agent.events import ToolCalled
from agent.material.origins import origins_of, results_of
from agent.material.outputs import with_outputs
from agent.material.pictures import MOST_OF_ONE, Place, watched
from agent.state import RESULT, Decision, Ending, State
from agent.steps import value_text
from mcp_tools.clients.definitions import plain_schema
from mcp_tools.clients.replies import ReplyFile
from mcp_tools.errors import ArgumentsError, LibraryError, NotPermittedError
from mcp_tools.hosts import HostError
from mcp_tools.library.arguments import surely_fits
from mcp_tools.library.dependencies import needs_of
from mcp_tools.library.question_template import arguments_for
from mcp_tools.prompt import data_block
from mcp_tools.run import outcome_class, run_tool
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Status, Tool, call_text

if TYPE_CHECKING:
    from agent.calls.host_requests import Doubts

DRAFT = "draft"
"""Marks a tool of the library that the user did not approve: it may be called, and what it says of itself is data."""
NEAR = "near"
"""Marks a tool of the library without its own function: a line says what programs can import."""


def shown_tool(tool: Tool) -> dict[str, Json]:
    """A tool of the library as prompts and rules see it; what a draft says of itself is data, and nothing more."""
    if tool.status is Status.VERIFIED:
        asked = tool.provenance.get("asked")
        returns = tool.output_schema.get("properties", {}).get("result", {}).get("description", "")
        said = f"{tool.description}\n\nReturns:\n    {returns}" if returns else tool.description
        return {"name": tool.name, "description": said, "inputSchema": tool.input_schema, "asked": asked}
    description = data_block(f"tool {tool.name}, not approved", tool.description)
    schema = plain_schema(tool.input_schema, described=False)
    return {"name": tool.name, "description": description, "inputSchema": schema, DRAFT: True}


async def tools_now(state: State, context: Context) -> list[dict[str, Any]]:
    """Return the shown tools, with the present tools of external servers, which may come late or change."""
    tools = state["tools"]
    if not context.external.is_active or not state.get("steps") or state["purpose"].wants_tool:
        return tools
    own, known = [tool for tool in tools if SERVER not in tool], external_of(state)
    full = {tool["name"] for tool in known if FOLDED not in tool}
    found = await context.external.search(state["question"], ALL_TOOLS)
    return arranged(own, found, [tool["name"] for tool in tools], full)


_LONGEST_ARGUMENT = 500
_LONGEST_SPEECH = 8_000


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a tool's call."""

    ok: bool
    value: Json
    finding: str
    """Text for the next prompt: the call with its result, or the problem and its remedy."""
    text: str = ""
    """The result alone."""
    places: tuple[Place, ...] = ()
    """The pictures in the result of an external tool."""
    returned: tuple[Json, ...] = ()
    """The one value that a program gets of an external tool; empty if that is the text."""
    files: Sequence[OutputFile] = ()
    """Files that a tool of the library wrote for the user."""
    called: tuple[str, ...] = ()
    """Tools of the library that gave something, this one before those that it called."""


async def call_tool(
    context: Context,
    tool: Tool,
    arguments: dict[str, Json],
    *,
    read: Sequence[Path] = (),
    doubts: Doubts | None = None,
) -> CallResult:
    """Calls a tool, which may open what is to be read; a misfit, or a failure, is a result that a model can act on.

    The user is asked about requests to hosts for which `doubts` returns True.
    """
    shown = call_text(tool.name, arguments)
    granted = read if tool.capabilities.read else ()

    try:
        needs = await needs_of(tool.capabilities.tools, context.library.get, of=tool.name)
    except LibraryError as lacking:
        context.emit(ToolCalled(tool.name, arguments, False, one_line(lacking.message)))
        return CallResult(False, None, f"{shown} was not called: {lacking}")

    async def run(folder: Path | None) -> Outcome:
        carried = partial(context.hosts.of_tool, doubts)
        return await run_tool(
            tool, arguments, context.sandbox, read=granted, write=folder, needs=needs, carried=carried
        )

    try:
        outcome, files = await with_outputs(context.outputs, context.calls, tool.capabilities.write, run)
    except (ArgumentsError, HostError, NotPermittedError) as misfit:
        context.emit(ToolCalled(tool.name, arguments, False, one_line(misfit.message)))
        return CallResult(False, None, f"{shown} was not called: {misfit.message}")
    problem = outcome.problem
    await context.library.record_call(tool, outcome.ok, outcome_class(tool, outcome), arguments)
    await context.library.record_calls(outcome.called)
    if problem is not None:
        context.emit(ToolCalled(tool.name, arguments, False, one_line(problem.message), outcome.seconds))
        return CallResult(False, None, f"{shown} failed: {problem.message}")
    text = value_text(outcome.value)
    context.emit(ToolCalled(tool.name, arguments, True, one_line(text), outcome.seconds))
    called = (tool.name, *(one.name for one in outcome.called if one.calls > one.failed))
    return CallResult(True, outcome.value, f"{shown} = {text}", text, files=files, called=called)


def ruling_on(tool: dict[str, Any], arguments: dict[str, Json], state: State, context: Context) -> Verdict:
    """Return True if a tool of an external server may be called with these arguments."""
    files = {text for file in state.get("attached", []) for text in (file["name"], file["path"])}
    reads = tool.get("readOnly") is True
    results = results_of(tool[SERVER], state, context)
    origins = origins_of(state, context)
    return judge_call(tool["name"], arguments, origins, read_only=reads, files=files, results=results)


async def call_external(context: Context, name: str, arguments: dict[str, Json], question: str) -> CallResult:
    """Calls a tool of an external server; what it says is data, also when it says that it failed.

    Its sounds and films are heard and watched with the question in mind, as far as there is a model for them.
    """
    shown = call_text(name, arguments, longest=_LONGEST_ARGUMENT)
    reply = await context.external.call(name, arguments, context.budget.seconds_left)
    text = "\n".join(filter(None, [reply.text, *[await _heard(file, context, question) for file in reply.files]]))
    context.emit(ToolCalled(name, arguments, reply.ok, one_line(text), reply.seconds, name.partition("__")[0]))
    pictures = [Path(file.path) for file in reply.files if file.kind.startswith("image/")]
    places = tuple(Place(path.name, path) for path in pictures[:MOST_OF_ONE])
    if not reply.ok:
        failed = "was not called" if reply.kind in {"arguments", "unknown"} else "failed"
        return CallResult(False, None, f"{shown} {failed}: {text}", places=places)
    return CallResult(True, reply.value, f"{shown} = {text}", text, places, reply.returned)


async def _heard(file: ReplyFile, context: Context, question: str) -> str:
    """Return the speech in a sound or a film of a result; empty for other files, or without a transcriber."""
    if not file.kind.startswith(("audio/", "video/")):
        return ""
    path = Path(file.path)
    if said := await watched(path, path.suffix.removeprefix("."), context, question):
        return f"{path.name}: {said}"
    part = await context.reader.read(path, path.name, page=1, find="", limit=_LONGEST_SPEECH)
    return f"{path.name}: {part['text']}" if part.get("text") else ""


def asked_before(state: State) -> Decision | None:
    """The call of a tool that was made for the same question with other values, or for this very one."""
    if state.get("files") or state.get("folder"):
        return None
    for tool in state["tools"]:
        arguments = arguments_for(state["question"], tool.get("asked"))
        if arguments is not None and surely_fits(arguments, tool["inputSchema"]):
            ending = Ending(tool["asked"].get("final", RESULT.form))
            return Decision("use_tool", "Asked before with other values.", tool["name"], arguments, ending=ending)
    return None
