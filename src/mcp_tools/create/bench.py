"""Runs a proposed tool: each call once, within one time limit for all, with the files of its tests."""

from __future__ import annotations

import ast
import copy
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from mcp_tools.create.examiner import passes
from mcp_tools.create.interfaces import Proposal, Test
from mcp_tools.create.written import leaves
from mcp_tools.errors import ArgumentsError
from mcp_tools.library.arguments import surely_fits, validate_arguments
from mcp_tools.packages import installed
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Sandbox
from mcp_tools.tool import Json, Tool

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}


def mutants(source: str, *, count: int = 6, seed: int = 0) -> list[str]:
    """Up to `count` versions of the source that each differ from it in one place."""
    tree = ast.parse(source)
    places = [index for index, node in _walk_tool(tree) if _mutate(copy.copy(node))]
    Random(seed).shuffle(places)  # noqa: S311 - a repeatable choice
    versions = []
    for index in places[:count]:
        version = copy.deepcopy(tree)
        _mutate(list(ast.walk(version))[index])
        versions.append(ast.unparse(version))
    return versions


def _walk_tool(tree: ast.Module) -> Iterator[tuple[int, ast.AST]]:
    """Every node of the code, without the runner and without annotations, by its position in walking order."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in tree.body and isinstance(node, ast.If):
            left_out.update(ast.walk(node))
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            left_out.update(ast.walk(part) if part is not None else ())
    return ((index, node) for index, node in enumerate(ast.walk(tree)) if node not in left_out)


def _mutate(node: ast.AST) -> bool:
    """Swaps the comparison or the operator of a node, or raises its number; False for any other node."""
    match node:
        case ast.Compare(ops=[first, *others]) if type(first) in _COMPARISONS:
            node.ops = [_COMPARISONS[type(first)](), *others]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _OPERATORS:
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=int(value)) if type(value) is int:
            node.value = value + 1
        case _:
            return False
    return True


_TRIAL_SECONDS = 5.0
_MOST_SECONDS = 20.0
"""What the trial runs may take together, beside the tests."""
_MUTANT_SECONDS = 1.0
_MUTANTS = 6
_MOST_MUTANTS = 30
"""Tried when the first ones fail no test."""
_TIMES_THE_TOOL = 3
"""How much longer than the tool a wrong version of it may take before it counts as hanging."""
_TEXTS = frozenset(
    {"", ".csv", ".tsv", ".txt", ".md", ".json", ".jsonl", ".xml", ".html", ".yaml", ".yml", ".toml", ".log"}
)
_WORKBOOK = ".xlsx"
_WRITING = """def _write_files(files):
    import json
    import pathlib

    for name, text in files.items():
        if not name.lower().endswith(".xlsx"):
            pathlib.Path(name).write_text(text, encoding="utf-8")
            continue
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in json.loads(text).items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(name)
"""


@dataclass(frozen=True, slots=True)
class TrialCall:
    """Arguments, with the files that stand beside the tool."""

    arguments: dict[str, Json]
    files: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return json.dumps([self.arguments, self.files], sort_keys=True)


class Bench:
    """The runs of one proposal, which says what may be read and imported."""

    def __init__(self, proposal: Proposal, sandbox: Sandbox) -> None:
        self._proposal = proposal
        self._sandbox = sandbox
        self._known: dict[str, Outcome] = {}
        self._seconds = 0.0
        self.runs = 0
        """How many calls were made."""

    async def first(self, source: str, entry: str, arguments: dict[str, Json], seconds: float) -> Outcome:
        """The question's own call."""
        outcome = await self._sandbox.run(self._job(source, entry, TrialCall(arguments), seconds))
        self._known[TrialCall(arguments).key] = outcome
        self.runs += 1
        return outcome

    async def run(self, tool: Tool, call: TrialCall) -> Outcome | None:
        """A trial run; None for arguments that the schema does not take, and for one run too many."""
        if call.key not in self._known and (self._seconds > _MOST_SECONDS or misfits(tool, call.arguments)):
            return None
        return await self.call(tool, call)

    async def call(self, tool: Tool, call: TrialCall) -> Outcome:
        """What a call gives; each is made once."""
        if call.key not in self._known:
            job = self._job(tool.source, tool.name, call, _TRIAL_SECONDS)
            self._known[call.key] = await self._sandbox.run(job)
            self._seconds += self._known[call.key].seconds
            self.runs += 1
        return self._known[call.key]

    async def call_anew(self, tool: Tool, arguments: dict[str, Json]) -> Outcome:
        """What a call of this or another tool gives now."""
        return await self._sandbox.run(self._job(tool.source, tool.name, TrialCall(arguments), _TRIAL_SECONDS))

    async def killed(self, tool: Tool, suite: Sequence[Test], slowest: float) -> tuple[int, int]:
        """How many wrong versions of the code were tried, and how many of them fail a test.

        Careful code has many places, such as limits and guards, whose change no result shows: more are tried until
        one fails.
        """
        seconds = _MUTANT_SECONDS + _TIMES_THE_TOOL * slowest
        made = killed = 0
        for version in mutants(tool.source, count=_MOST_MUTANTS):
            if made >= _MUTANTS and killed:
                break
            made += 1
            for test in suite:
                job = self._job(version, tool.name, TrialCall(test.arguments, test.files), seconds)
                if not passes(test, await self._sandbox.run(job)):
                    killed += 1
                    break
        return made, killed

    def forget(self, call: TrialCall, outcome: Outcome) -> None:
        """What is known is of another source now, but for one call."""
        self._known = {call.key: outcome}

    def paths(self, arguments: dict[str, Json]) -> list[str]:
        """The parameters that take attached files, for which there is no other one to try."""
        known = {str(path) for path in self._proposal.files}
        return [name for name, value in arguments.items() if any(leaf in known for leaf in leaves(value))]

    def _job(self, source: str, entry: str, call: TrialCall, seconds: float) -> Job:
        limits = Limits(wall_seconds=seconds, cpu_seconds=math.ceil(seconds))
        return self._proposal.job(with_files(source, call.files), entry, call.arguments, limits)


def misfits(tool: Tool, arguments: dict[str, Json]) -> list[str]:
    """What of some arguments the tool's schema does not take."""
    try:
        validate_arguments(tool, arguments)
    except ArgumentsError as misfit:
        return [misfit.message]
    return []


def without_absent(arguments: dict[str, Json], schema: dict[str, Json]) -> dict[str, Json]:
    """The arguments without the nulls that stand for an absent one."""
    absent = {
        name
        for name, of_parameter in schema["properties"].items()
        if name not in schema["required"] and name in arguments and arguments[name] is None
        if not surely_fits(None, of_parameter)
    }
    return {name: value for name, value in arguments.items() if name not in absent}


def fitted(arguments: dict[str, Json], tool: Tool) -> dict[str, Json]:
    """The arguments that the tool still takes."""
    return {name: value for name, value in arguments.items() if name in tool.input_schema["properties"]}


def writable(path: Path) -> bool:
    """Whether a test can bring a file of this kind."""
    suffix = path.suffix.lower()
    return suffix in _TEXTS or (suffix == _WORKBOOK and bool(installed(("openpyxl",))))


def with_files(source: str, files: dict[str, str]) -> str:
    """The source, which first writes some files, texts by name, into its scratch folder.

    The text of a workbook is JSON: the rows of each sheet by its name.
    """
    return f"{source}\n\n{_WRITING}\n\n_write_files({files!r})\n" if files else source


def usable(files: dict[str, str]) -> bool:
    """Whether these files can be written."""
    for name, text in files.items():
        path = Path(name)
        if path.name != name or name.startswith(".") or not (isinstance(text, str) and writable(path)):
            return False
        if path.suffix.lower() == _WORKBOOK and not _is_workbook(text):
            return False
    return True


def _is_workbook(text: str) -> bool:
    try:
        sheets = json.loads(text)
    except ValueError:
        return False
    return isinstance(sheets, dict) and all(
        isinstance(rows, list) and all(isinstance(row, list) for row in rows) for rows in sheets.values()
    )
