"""Try an imported source that has no JSON file: checks, schemas, its own examples, and various calls."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from mcp_tools.checks.check import check
from mcp_tools.checks.header import with_header
from mcp_tools.create.documented_function import DocumentedFunction, read_function
from mcp_tools.create.examiner import passes
from mcp_tools.create.interfaces import Proposal, TrialCall
from mcp_tools.create.proposal_runner import ProposalRunner
from mcp_tools.create.variations import alternatives, variations
from mcp_tools.environments.known import imported_packages
from mcp_tools.errors import AlitaError, LibraryError
from mcp_tools.exchange.candidates import Candidate
from mcp_tools.exchange.registry import repaired
from mcp_tools.library.dependencies import Get, module_names, needs_of
from mcp_tools.packages import import_name
from mcp_tools.sandbox.protocol import Problem, Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool, call_text

_CALLS = 8
_SAMPLES: dict[str, Json] = {
    "integer": 3, "number": 2.5, "boolean": True, "array": [3, 1, 2], "object": {"a": 1}, "null": None,
}  # fmt: skip
_TEXTS = ("Oxmere 12, 7.5 and 2024-03-01", "7", "[1, 2]")


class RefusedImportError(AlitaError):
    """The source cannot be imported as a tool."""


@dataclass(frozen=True, slots=True)
class TriedTool:
    """A tool that was built from a source and tried."""

    tool: Tool
    repairs: list[str] = field(default_factory=list)
    tests: int = 0
    """Number of examples in the docstring. All of them passed."""


async def try_source(
    one: Candidate,
    origin: str,
    *,
    open_sandbox: Callable[[], Awaitable[Sandbox]],
    get: Get,
    not_allowed: Callable[[Sequence[str]], list[str]],
) -> TriedTool:
    """Repair a source, try it, and build its tool.

    Args:
        one: The source and its name.
        origin: Name of the imported file, stored in the provenance.
        open_sandbox: Opens the sandbox.
        get: Returns a library tool by name, because the source may import library tools.
        not_allowed: Returns the given packages that the user has not allowed.

    Raises:
        RefusedImportError: The source cannot become a tool.
        AlitaError: The sandbox fails.
    """
    text, repairs = repaired(one.source.decode("utf-8", "replace"), one.name, one.about)
    source = text if repairs else one.source
    tools = tuple([name for name in module_names(text, one.capabilities.packages) if await _is_there(name, get)])
    packages = dict.fromkeys((*one.capabilities.packages, *imported_packages(text, tools)))
    capabilities = replace(one.capabilities, packages=tuple(packages), tools=tools)
    report = check(source, capabilities=capabilities, function=one.name)
    if not report.ok:
        raise RefusedImportError(_several([f"{one.rule}: {one.message}" for one in report.findings]))
    if lacking := not_allowed(capabilities.packages):
        names = shlex.join(lacking)
        raise RefusedImportError(
            f"it needs packages that you have not allowed: {names}",
            remedy=f"run: alita packages allow {names}, then import the tool again",
        )
    function = read_function(text, one.name, capabilities)
    assert function is not None, "the checks have found the function"
    try:
        needs = await needs_of(tools, get, of=one.name)
    except LibraryError as error:
        raise RefusedImportError(error.message, remedy=error.remedy) from None
    sandbox = await open_sandbox()
    runner = ProposalRunner(Proposal("", text, {}, one.name, capabilities=capabilities, needs=needs), sandbox)
    tool = await runner.describe(function)
    if isinstance(tool, Problem):
        raise RefusedImportError(f"no schema can be derived: {one_line(tool.message, 300)}")
    passed = await _passed(tool, function, runner)
    if not (capabilities.read or capabilities.hosts):  # otherwise there are no files or responses to try it with
        await _require_results(tool, [test["arguments"] for test in passed], runner)
    used = tuple(
        name for name in capabilities.packages if name in one.capabilities.packages or import_name(name) in text
    )
    record = {
        "capabilities": asdict(replace(capabilities, packages=used)),
        "tests": passed,
        "model": f"imported from {origin}",
    }
    if repairs:
        record["repaired"] = repairs
    source = with_header(text, replace(capabilities, packages=used)) if used or tools else text
    return TriedTool(replace(tool, source=source, provenance=record), repairs, len(passed))


async def _is_there(name: str, get: Get) -> bool:
    try:
        await get(name)
    except AlitaError:
        return False
    return True


async def _passed(tool: Tool, function: DocumentedFunction, runner: ProposalRunner) -> list[Json]:
    """Run the docstring's examples, and return them as tests. A tool that uses hosts is not run.

    Raises:
        RefusedImportError: An example fails.
    """
    passed = []
    for test in function.examples if not runner.proposal.capabilities.hosts else ():
        outcome = await runner.run(tool, test.call)
        if not passes(test, outcome):
            got = outcome.problem.message if outcome.problem else repr(outcome.value)
            wanted = test.error or repr(test.expected)
            shown = test.shown(tool.name, longest=40)
            raise RefusedImportError(f"its own example fails: {shown} gives {got:.200}, expected {wanted:.200}")
        passed.append(test.as_json())
    return passed


async def _require_results(tool: Tool, known: Sequence[dict[str, Json]], runner: ProposalRunner) -> None:
    """Refuse a tool if no call succeeds, or if all calls give the same result."""
    if not tool.input_schema["properties"]:
        raise RefusedImportError("it takes no parameters, so its result is always the same")
    results, failures = list[str](), list[str]()
    for arguments in [*known, *_calls(tool, known)]:
        outcome = await runner.try_run(tool, TrialCall(arguments))
        if outcome is not None and outcome.problem is not None:
            shown = call_text(tool.name, arguments, longest=40)
            failures.append(f"{shown}: {one_line(outcome.problem.message, 200)}")
            if outcome.problem.kind in {"wall_time", "cpu_time"}:
                break
        elif outcome is not None:
            results.append(json.dumps(outcome.value, sort_keys=True))
        if len({*results}) > 1:
            return
    if not results:
        raise RefusedImportError(
            f"all calls that were tried failed, for example {failures[0]}" if failures else "no call could be tried"
        )
    if len(results) > 1:
        raise RefusedImportError(
            f"all {len(results)} calls with different arguments give the same result: {results[0]:.100}"
        )


def _calls(tool: Tool, known: Sequence[dict[str, Json]]) -> Iterator[dict[str, Json]]:
    """Yield arguments for trial calls, derived from the known calls or from the schema."""
    properties = tool.input_schema["properties"]
    for text in _TEXTS if not known else ():
        base = {name: _sample(schema, text) for name, schema in properties.items()}
        yield base
        yield from variations(base, count=_CALLS // len(_TEXTS))
    for base in known[:1]:
        for name, schema in properties.items():
            for other in alternatives(base.get(name, schema.get("default")), schema)[: _CALLS // 2]:
                yield {**base, name: other}


def _sample(schema: dict[str, Json], text: str) -> Json:
    if schema.get("enum"):
        return schema["enum"][0]
    branches = schema.get("anyOf") or [schema]
    first = next((one for one in branches if isinstance(one, dict) and one.get("type") != "null"), {})
    if first.get("default", schema.get("default")) not in (None, ""):
        return first.get("default", schema.get("default"))
    if first.get("type") == "array":
        inner = first.get("items")
        return (
            [_sample(inner, part) for part in (text, "7", "1")]
            if isinstance(inner, dict) and inner
            else _SAMPLES["array"]
        )
    if first.get("format") == "date":
        return "2024-03-01"
    return _SAMPLES.get(str(first.get("type")), text)


def _several(texts: Sequence[str], most: int = 3) -> str:
    more = f"; and {len(texts) - most} more" if len(texts) > most else ""
    return "; ".join(one_line(text, 200) for text in texts[:most]) + more
