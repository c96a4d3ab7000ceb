"""The built-in tools, which search, describe, call and propose library tools, run code, answer and create tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mcp_tools.errors import AlitaError, IsolationError, LibraryError, NotPermittedError, PolicyError
from mcp_tools.library.dependencies import needs_of, tools_among
from mcp_tools.sandbox.protocol import Job
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.serving.client_call import (
    BuiltinTool,
    ClientCall,
    ClientReply,
    ServerLimits,
    error_reply,
    heartbeat,
    outcome_meta,
    problem_reply,
    refusal_reply,
    value_reply,
)
from mcp_tools.serving.code_reader import CodeReader, UnreadableCodeError
from mcp_tools.serving.elicitation import FILES_SCHEMA, ask_to_read, can_ask
from mcp_tools.serving.propose_tool import MAX_EXAMPLES, ProposalRules, ToolProposals
from mcp_tools.serving.resources import PARTS, ToolParts
from mcp_tools.serving.served_files import files_of_call
from mcp_tools.serving.tool_calls import ToolRunner
from mcp_tools.text import did_you_mean, one_line
from mcp_tools.tool import Json, Status, Tool, object_schema

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult


def definition(
    name: str,
    title: str,
    description: str,
    properties: dict[str, Json],
    *,
    required: Sequence[str] = (),
    output: dict[str, Json],
    acts: bool = False,
    is_open: bool | None = None,
) -> dict[str, Json]:
    """Return the MCP tool object of a built-in tool.

    Args:
        name: The name that clients call.
        title: A short label.
        description: The text for the model.
        properties: Schemas of the arguments.
        required: Names of required arguments.
        output: Schemas of the result's members, all of which are required.
        acts: True if the tool changes something. False if it is read-only.
        is_open: The `openWorldHint`. Defaults to `acts`.
    """
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": object_schema(properties, required),
        "outputSchema": {"type": "object", "properties": output, "required": list(output)},
        "annotations": {
            "readOnlyHint": not acts,
            "destructiveHint": False,
            "idempotentHint": not acts,
            "openWorldHint": acts if is_open is None else is_open,
        },
    }


ReportProgress = Callable[[str], Awaitable[None]]


class QuestionAgent(Protocol):
    """Answers questions and creates tools. Both methods raise `AlitaError` for problems that the user can fix."""

    async def ask(self, question: str, *, files: Sequence[Path] = (), report: ReportProgress) -> dict[str, Json]:
        """Answer a question.

        Returns:
            `answer`, `status`, `tools_created`, `tools_used`, and the cost of the run.
        """
        ...

    async def create_tool(
        self, question: str, *, files: Sequence[Path] = (), report: ReportProgress
    ) -> dict[str, Json]:
        """Create a tool that answers questions of this kind, or find one in the library.

        Returns:
            The names of tools under `created` and `reused`, and the `answer` to the question.
        """
        ...


_MAX_QUESTION_CHARS = 100_000
_MAX_PROGRESS_CHARS = 300
_MAX_SOURCE_CHARS = 200_000
_MAX_TOOL_CHARS = 32_768
"""Size limit of a proposed tool. It is lower than for programs, because a proof parses the code many times."""
_MAX_RESULTS = 50
_MAX_TESTS = 20
_SEARCH_POOL = 200
"""Number of top library matches from which the offered tools are selected."""

_HOST_REMEDY = "Call a library tool that reaches the host by its name, or make one with create_tool."

_NAME: dict[str, Json] = {"type": "string", "maxLength": 128, "description": "The tool's name."}

_SEARCH = definition(
    "search_tools",
    "Search tools",
    "Finds tools in the library that fit a task. "
    "Use it before asking for a new tool; call what it finds with call_tool.",
    {
        "query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The task, in a few words."},
        "limit": {"type": "integer", "minimum": 1, "maximum": _MAX_RESULTS, "description": "How many at most; 10."},
    },
    required=["query"],
    output={"tools": {"type": "array", "items": {"type": "object"}}, "total": {"type": "integer"}},
)
_DESCRIBE = definition(
    "describe_tool",
    "Describe a tool",
    "Describes one tool: its schemas, status, call statistics, and the hashes of its source and definition.",
    {
        "name": _NAME,
        "include": {
            "type": "array",
            "items": {"type": "string", "enum": [*PARTS]},
            "description": "More to get: source, tests, evidence, approved versions with diffs, or a server file.",
        },
    },
    required=["name"],
    output={
        "tool": {"type": "object"},
        "calls": {"type": "object"},
        "parts": {"type": "object", "description": "What was asked for with include."},
        "examiner": {"type": ["string", "null"], "description": "The model or the client whose tests it passes."},
    },
)
_CALL = definition(
    "call_tool",
    "Call a tool",
    "Calls a tool of the library by name, in the sandbox. Its arguments must fit the inputSchema that search_tools and "
    "describe_tool tell.",
    {
        "name": _NAME,
        "arguments": {"type": "object", "description": "The tool's arguments."},
        "files": FILES_SCHEMA,
    },
    required=["name"],
    output={"result": {}},
)
_QUESTION: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": _MAX_QUESTION_CHARS}
_NAMES: dict[str, Json] = {"type": "array", "items": {"type": "string"}}

_CREATE = definition(
    "create_tool",
    "Create a tool",
    "Writes the tool that answers questions of a kind, proves it in the sandbox, and keeps it in the library, where it "
    "can be called at once. Give one concrete question with its values; they become parameters. It may take minutes.",
    {"question": {**_QUESTION, "description": "One question that the tool must answer."}, "files": FILES_SCHEMA},
    required=["question"],
    output={"created": _NAMES, "reused": _NAMES, "answer": {"type": "string"}},
    acts=True,
)
_ASK = definition(
    "ask",
    "Ask alita",
    "Asks alita a question; may take minutes. It uses the tools of the library, and makes one if none fits.",
    {"question": {**_QUESTION, "description": "What is asked."}, "files": FILES_SCHEMA},
    required=["question"],
    output={"answer": {"type": "string"}, "status": {"type": "string"}, "tools_created": _NAMES, "tools_used": _NAMES},
    acts=True,
)
_RUN_CODE = definition(
    "run_code",
    "Run a program",
    "Runs a one-off Python program in the sandbox: no network, no files of the machine. Print the result, or define "
    "a function and give its arguments to get its value back. It may import tools of the library by name.",
    {
        "source": {"type": "string", "minLength": 1, "maxLength": _MAX_SOURCE_CHARS, "description": "The program."},
        "arguments": {"type": "object", "description": "Arguments of the function to call, by name."},
        "function": {"type": "string", "maxLength": 128, "description": "Which one to call; the last one defined."},
        "packages": {
            "type": "array",
            "items": {"type": "string", "maxLength": 200},
            "description": "Packages beyond numpy, pandas, dateutil and yaml; only those that the user allowed.",
        },
        "writes_files": {"type": "boolean", "description": "True to get the files that it writes where it begins."},
    },
    required=["source"],
    output={
        "value": {"description": "What the function returned; null for a program."},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "cut": {"type": "boolean", "description": "Whether more was printed than is kept."},
    },
)
_PROPOSE = definition(
    "propose_tool",
    "Propose a tool",
    "Adds a Python function that you wrote to the library, if it passes its proof: checks, your examples, other inputs "
    "and deliberate bugs, all in the sandbox. No model is asked. The module has one public function with types for "
    "all parameters and the result, and a docstring: a summary, Args, Returns, and Raises if it refuses input with "
    "ValueError. It computes from its arguments: no network, no files. A comment block `# /// script` declares "
    "packages. The reply names all problems to mend, or the tool.",
    {
        "name": {
            **_NAME,
            "description": "The function that is the tool; needed only if several are public.",
        },
        "code": {
            "type": "string",
            "minLength": 1,
            "maxLength": _MAX_TOOL_CHARS,
            "description": "The whole module.",
        },
        "examples": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_EXAMPLES,
            "items": object_schema(
                {
                    "arguments": {"type": "object", "description": "Each argument by name."},
                    "result": {"description": "What the call must return."},
                    "raises": {"type": "boolean", "description": "True if the call must raise ValueError instead."},
                },
                ["arguments"],
            ),
            "description": "Calls with their results, at least two with different arguments; without them, the `>>>` "
            "examples of the docstring. Good ones fail with any small bug: limits, special cases, refused input.",
        },
    },
    required=["code"],
    output={
        "status": {"type": "string", "enum": ["registered", "draft", "refused", "same"]},
        "tool": {"type": ["string", "null"], "description": "The name under which it is kept."},
        "problems": {**_NAMES, "description": "What to mend."},
        "tests": {"type": "integer", "description": "Tests that are kept with the tool."},
        "mutants": {"type": ["object", "null"], "description": "Deliberate bugs: tried, killed, and a few survivors."},
        "examiner": {"type": ["string", "null"], "description": "Who tested it; a client tests its own code."},
        "note": {"type": "string"},
    },
    acts=True,
    is_open=False,
)


class BuiltinTools:
    """Implements the seven built-in tools."""

    def __init__(
        self,
        catalogue: Catalogue,
        runner: ToolRunner,
        agent: QuestionAgent | None,
        limits: ServerLimits,
        rules: ProposalRules,
    ) -> None:
        self._reader = CodeReader()
        self._proposals = ToolProposals(catalogue, runner.sandbox, limits, rules, self._reader)
        self._catalogue = catalogue
        self._parts = ToolParts(catalogue)
        self._runner = runner
        self._agent = agent
        self._limits = limits

    def tools(self) -> list[BuiltinTool]:
        """Return all built-in tools. Without an agent, `ask` and `create_tool` return an error that says so."""
        return [
            BuiltinTool(_SEARCH, self._search),
            BuiltinTool(_DESCRIBE, self._describe),
            BuiltinTool(_CALL, self._call),
            BuiltinTool(_PROPOSE, self._proposals.propose),
            BuiltinTool(_CREATE, self._ask),
            BuiltinTool(_ASK, self._ask),
            BuiltinTool(_RUN_CODE | self._readable_folder(), self._run),
        ]

    def _readable_folder(self) -> dict[str, Json]:
        folders = ", ".join(map(str, self._runner.readable))
        return {"description": f"{_RUN_CODE['description']} It may read {folders}."} if folders else {}

    async def _search(self, call: ClientCall) -> ClientReply:
        await self._catalogue.renew()
        library = self._catalogue.library
        hits = await library.run_async(library.search, call.arguments["query"], _SEARCH_POOL)
        names = [hit.tool.name for hit in hits if self._catalogue.offers(hit.tool.name, can_ask(call.context))]
        found = [self._catalogue.definition(name) for name in names[: call.arguments.get("limit", 10)]]
        brief = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in found]
        return self._reply({"tools": brief, "total": len(self._catalogue.all_names())})

    async def _describe(self, call: ClientCall) -> ClientReply:
        await self._catalogue.renew()
        name = call.arguments["name"]
        tool = await self._catalogue.tool(name)
        if tool is None:
            return self._unknown(name)
        stats = await self._catalogue.library.run_async(self._catalogue.library.stats, name)
        calls = {name: value for name, value in asdict(stats).items() if name != "last"}
        examiner = tool.provenance.get("examiner")
        parts = dict[str, Json]()
        for kind in dict.fromkeys(call.arguments.get("include", ())):
            try:
                found = await self._parts.part(tool, kind)
            except LibraryError as error:
                return error_reply("denied", error.message, remedy=f"Remove {kind} from include.")
            is_long = isinstance(found, list) and len(found) > _MAX_TESTS
            parts[kind] = {"first": found[:_MAX_TESTS], "total": len(found)} if is_long else found
        about = {"tool": self._catalogue.definition(name), "calls": calls, "examiner": examiner}
        return self._reply({**about, "parts": parts})

    async def _call(self, call: ClientCall) -> ClientReply | InputRequiredResult:
        name, files = call.arguments["name"], call.arguments.get("files", [])
        tool = await self._catalogue.tool(name)
        if tool is None:
            return self._unknown(name)
        if files and not tool.capabilities.read:
            return error_reply("denied", f"{name} does not read files", remedy="Call the tool without files.")
        return await self._runner.run(tool, call.arguments.get("arguments", {}), call, files=files)

    def _unknown(self, name: str) -> ClientReply:
        hint = did_you_mean(name, self._catalogue.all_names(), most=3)
        return error_reply("unknown_tool", f"there is no tool {name!r}", remedy=f"{hint}search_tools finds the tools.")

    async def _ask(self, call: ClientCall) -> ClientReply | InputRequiredResult:
        if self._agent is None:
            return error_reply(
                "no_agent",
                "this server has no agent",
                remedy="Use its library tools, or submit code with propose_tool.",
            )
        creates = call.params.name == _CREATE["name"]
        files: tuple[Path, ...] = ()
        if names := call.arguments.get("files"):
            who = "a new tool" if creates else "alita"
            answer = await ask_to_read(call, names, who, self._limits.consent_seconds)
            if not isinstance(answer, tuple):
                return answer
            files = answer

        async def report(text: str) -> None:
            await call.report_progress(one_line(text, _MAX_PROGRESS_CHARS))

        act = self._agent.create_tool if creates else self._agent.ask
        try:
            async with asyncio.timeout(self._limits.agent_seconds):
                content = await act(call.arguments["question"], files=files, report=report)
        except TimeoutError:
            message = f"alita did not answer within {self._limits.agent_seconds:.0f} s"
            return error_reply("wall_time", message, remedy="Ask a smaller question.")
        except IsolationError:
            raise
        except AlitaError as error:  # its message is written for users and contains no API keys
            return error_reply("failed", error.message, remedy=error.remedy)
        if failure := content.pop("error", None):
            kind, remedy = str(content.get("status", "failed")), str(content.get("remedy", ""))
            return error_reply(kind, str(failure), remedy=remedy)
        return self._reply(content)

    async def _run(self, call: ClientCall) -> ClientReply:
        source, arguments = call.arguments["source"], call.arguments.get("arguments")
        limits, packages = self._limits.program, tuple(call.arguments.get("packages", ()))
        library = self._catalogue.library
        try:
            code = await self._reader.read(source, packages)
            if code.hosts:
                message = f"run_code cannot reach hosts, but this program declares {', '.join(code.hosts)}"
                return error_reply("denied", message, remedy=_HOST_REMEDY)
            needs = await needs_of(await tools_among(code.modules, library.get_async), library.get_async)
        except UnreadableCodeError as unread:
            return error_reply("cpu_time", unread.message)
        except LibraryError as lacking:
            return error_reply("dependency", lacking.message, remedy=lacking.remedy)
        last = code.functions[-1] if arguments is not None and code.functions else None
        entry = call.arguments.get("function") or last
        writes, carried = bool(call.arguments.get("writes_files", False)), self._runner.carried
        may = {"packages": [*packages], "write": writes}
        program = Tool("", "", {}, {}, source, status=Status.VERIFIED, provenance={"capabilities": may})
        job = Job(
            source,
            entry,
            arguments or {},
            modules=needs.modules,
            read=self._runner.readable,
            packages=needs.and_packages(packages),
            limits=limits,
        )
        try:
            async with (
                carried(program, needs) if carried else nullcontext(),
                files_of_call(self._runner.outputs, writes) as (folder, made),
                heartbeat(call, "the program", limits.wall_seconds),
            ):
                outcome = await self._runner.sandbox.run(replace(job, write=folder))
        except (NotPermittedError, PolicyError) as error:
            return refusal_reply(error)
        if outcome.called:
            await library.run_async(library.record_calls, outcome.called)
        meta = outcome_meta(outcome)
        if outcome.problem is not None:
            remedy = _HOST_REMEDY if outcome.problem.message.startswith("network access is not granted") else None
            reply = problem_reply(outcome.problem, who="the program", meta=meta, remedy=remedy)
            if printed := outcome.stdout[-4000:]:
                reply.result["content"].append({"type": "text", "text": f"Output before the failure:\n{printed}"})
            return reply
        return self._reply({key: getattr(outcome, key) for key in ("value", "stdout", "stderr", "cut")}, meta, made)

    def _reply(
        self, content: dict[str, Json], meta: dict[str, Json] | None = None, files: Sequence[dict[str, Json]] = ()
    ) -> ClientReply:
        return value_reply(content, limit=self._limits.result_bytes, meta=meta, files=files)
