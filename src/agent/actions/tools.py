"""The tools that a run is offered, from the library and external servers: how they are shown and called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.actions.server_tools import ALL_TOOLS, arranged, external_of
from agent.answer import OutputFile
from agent.consent.rulings import Verdict, judge_call
from agent.context import Context
from agent.events import ToolCalled
from agent.material.origins import origins_of, results_of
from agent.material.outputs import with_outputs
from agent.material.pictures import MOST_OF_ONE, Place, watched
from agent.state import RESULT, Decision, Ending, State, ToolRef
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


def shown_tool(tool: Tool) -> ToolRef:
    """Return a tool of the library as prompts and rules see it. The description of a draft is data."""
    if tool.status is Status.VERIFIED:
        asked = tool.provenance.get("asked")
        returns = tool.output_schema.get("properties", {}).get("result", {}).get("description", "")
        said = f"{tool.description}\n\nReturns:\n    {returns}" if returns else tool.description
        return ToolRef(tool.name, said, tool.input_schema, asked=asked)
    description = data_block(f"tool {tool.name}, not approved", tool.description)
    schema = plain_schema(tool.input_schema, described=False)
    return ToolRef(tool.name, description, schema, is_draft=True)


async def tools_now(state: State, context: Context) -> list[ToolRef]:
    """Return the tools to show. Tools of external servers are refreshed, since they may appear late or change."""
    tools = state["tools"]
    if not context.external.is_active or not state.get("steps") or state["purpose"].wants_tool:
        return tools
    own, known = [tool for tool in tools if not tool.is_external], external_of(state)
    full = {tool.name for tool in known if not tool.is_folded}
    found = await context.external.search(state["question"], ALL_TOOLS)
    return arranged(own, found, [tool.name for tool in tools], full)


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
    """The result without the call."""
    places: tuple[Place, ...] = ()
    """Pictures in the result of an external tool."""
    returned: tuple[Json, ...] = ()
    """A tuple with the external tool's value for a program; empty if the value is the text."""
    files: Sequence[OutputFile] = ()
    """Files that a tool of the library wrote for the user."""
    called: tuple[str, ...] = ()
    """Library tools that returned a result: this tool, then the tools that it called."""


async def call_tool(
    context: Context,
    tool: Tool,
    arguments: dict[str, Json],
    *,
    read: Sequence[Path] = (),
    doubts: Doubts | None = None,
) -> CallResult:
    """Call a tool, which may open the files in `read`. Wrong arguments and failures become results for the model.

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


def ruling_on(tool: ToolRef, arguments: dict[str, Json], state: State, context: Context) -> Verdict:
    """Return the ruling on a call of an external tool."""
    files = {text for file in state.get("attached", []) for text in (file["name"], file["path"])}
    reads = tool.is_read_only
    results = results_of(tool.server, state, context)
    origins = origins_of(state, context)
    return judge_call(tool.name, arguments, origins, read_only=reads, files=files, results=results)


async def call_external(context: Context, name: str, arguments: dict[str, Json], question: str) -> CallResult:
    """Call a tool of an external server. The text of its result is data, even if it reports a failure.

    Sounds and films in the result are transcribed for the question, if a model can do that.
    """
    shown = call_text(name, arguments, longest=_LONGEST_ARGUMENT)
    reply = await context.external.call(name, arguments, context.budget.seconds_left)
    text = "\n".join(filter(None, [reply.text, *[await _transcript(file, context, question) for file in reply.files]]))
    context.emit(ToolCalled(name, arguments, reply.ok, one_line(text), reply.seconds, name.partition("__")[0]))
    pictures = [Path(file.path) for file in reply.files if file.kind.startswith("image/")]
    places = tuple(Place(path.name, path) for path in pictures[:MOST_OF_ONE])
    if not reply.ok:
        failed = "was not called" if reply.kind in {"arguments", "unknown"} else "failed"
        return CallResult(False, None, f"{shown} {failed}: {text}", places=places)
    return CallResult(True, reply.value, f"{shown} = {text}", text, places, reply.returned)


async def _transcript(file: ReplyFile, context: Context, question: str) -> str:
    """Return the transcript of an audio or video file; empty for other files, or without a transcriber."""
    if not file.kind.startswith(("audio/", "video/")):
        return ""
    path = Path(file.path)
    if seen := await watched(path, path.suffix.removeprefix("."), context, question):
        return f"{path.name}: {seen}"
    part = await context.reader.read(path, path.name, page=1, find="", limit=_LONGEST_SPEECH)
    return f"{path.name}: {part['text']}" if part.get("text") else ""


def asked_before(state: State) -> Decision | None:
    """Return a call of a tool that was made for this question, or for the same one with other values."""
    if state.get("files") or state.get("folder"):
        return None
    for tool in state["tools"]:
        arguments = arguments_for(state["question"], tool.asked)
        if arguments is not None and surely_fits(arguments, tool.input_schema):
            ending = Ending((tool.asked or {}).get("final", RESULT.form))
            return Decision("use_tool", "Asked before with other values.", tool.name, arguments, ending=ending)
    return None
