"""Where a proposed tool is run: each call once, within a time for all of them, with the files that its tests bring."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcp_tools.create.examiner import passes
from mcp_tools.create.mutants import mutants
from mcp_tools.create.protocol import Request, Test
from mcp_tools.errors import ArgumentsError
from mcp_tools.fits import surely_fits
from mcp_tools.library import validate_arguments
from mcp_tools.packages import installed
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Sandbox
from mcp_tools.tool import Json, Tool

_TRIAL_SECONDS = 5.0
_MOST_SECONDS = 20.0
"""What the trial runs may take together, beside the tests."""
_MUTANT_SECONDS = 1.0
_TIMES_THE_TOOL = 3
"""How much longer than the tool a wrong version of it may take before it counts as hanging."""
_TEXTS = frozenset(
    {"", ".csv", ".tsv", ".txt", ".md", ".json", ".jsonl", ".xml", ".html", ".yaml", ".yml", ".toml", ".log"}
)
_WORKBOOK = ".xlsx"


class Bench:
    """The runs of one proposal.

    Args:
        request: What may be read and imported.
        sandbox: Where it runs.
        folder: An empty folder for the files of tests.
    """

    def __init__(self, request: Request, sandbox: Sandbox, folder: Path) -> None:
        self._request = request
        self._sandbox = sandbox
        self._folder = folder
        self._known: dict[str, Outcome] = {}
        self._seconds = 0.0
        self._placed = 0
        self.runs = 0
        """How many calls were made."""

    async def first(self, source: str, entry: str, arguments: dict[str, Json], seconds: float) -> Outcome:
        """The question's own call."""
        outcome = await self._sandbox.run(self._job(source, entry, arguments, seconds))
        self._known[_key(arguments)] = outcome
        self.runs += 1
        return outcome

    async def run(self, tool: Tool, arguments: dict[str, Json]) -> Outcome | None:
        """A trial run; None for arguments that the schema does not take, and for one run too many."""
        if _key(arguments) not in self._known and (self._seconds > _MOST_SECONDS or misfits(tool, arguments)):
            return None
        return await self.call(tool, arguments)

    async def call(self, tool: Tool, arguments: dict[str, Json]) -> Outcome:
        """What a call gives; each is made once."""
        key = _key(arguments)
        if key not in self._known:
            job = self._job(tool.source, tool.name, arguments, _TRIAL_SECONDS)
            self._known[key] = await self._sandbox.run(job)
            self._seconds += self._known[key].seconds
            self.runs += 1
        return self._known[key]

    async def call_other(self, tool: Tool, arguments: dict[str, Json]) -> Outcome:
        """What a call of another tool gives."""
        return await self._sandbox.run(self._job(tool.source, tool.name, arguments, _TRIAL_SECONDS))

    async def killed(self, tool: Tool, suite: Sequence[Test], slowest: float) -> tuple[int, int]:
        """How many wrong versions of the code there are, and how many of them fail a test."""
        seconds = _MUTANT_SECONDS + _TIMES_THE_TOOL * slowest
        versions = mutants(tool.source)
        killed = 0
        for version in versions:
            for test in suite:
                job = self._job(version, tool.name, test.arguments, seconds)
                if not passes(test, await self._sandbox.run(job)):
                    killed += 1
                    break
        return len(versions), killed

    def forget(self) -> None:
        """What is known is of another source now."""
        self._known = {}

    def with_files(self, test: Test) -> Test:
        """The test with the paths of its files as arguments; each test has a folder of its own."""
        if not test.files:
            return test
        self._placed += 1
        return replace(test, arguments=placed(test.arguments, test.files, self._folder / str(self._placed)))

    def paths(self, arguments: dict[str, Json]) -> list[str]:
        """The parameters that take attached files, for which there is no other one to try."""
        known = {str(path) for path in self._request.files}
        return [name for name, value in arguments.items() if known & set(_texts(value))]

    def _job(self, source: str, entry: str, arguments: dict[str, Json], seconds: float) -> Job:
        limits = Limits(wall_seconds=seconds, cpu_seconds=math.ceil(seconds))
        job = self._request.job(source, entry, arguments, limits)
        return replace(job, read=(*job.read, self._folder)) if self._request.files else job


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


def placed(arguments: dict[str, Json], files: dict[str, str], folder: Path) -> dict[str, Json]:
    """Writes the files of a test into a folder, and gives its arguments with their paths.

    Args:
        arguments: With the names of the files where the tool takes paths.
        files: The text of each file by its name; of a workbook JSON, the rows of each sheet by its name.
        folder: Is made.

    Raises:
        ValueError: A name leads out of the folder, or the text of a workbook is not of that form.
    """
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    for name, text in files.items():
        if Path(name).name != name or name.startswith(".") or not (isinstance(text, str) and writable(Path(name))):
            raise ValueError(f"a test cannot bring the file {name!r}")
        path = folder / name
        if path.suffix.lower() == _WORKBOOK:
            _write_workbook(path, text)
        else:
            path.write_text(text, encoding="utf-8")
        path.chmod(0o644)

    def with_path(value: Json) -> Json:
        if isinstance(value, list):
            return [with_path(inner) for inner in value]
        return str(folder / value) if isinstance(value, str) and value in files else value

    return {name: with_path(value) for name, value in arguments.items()}


def _write_workbook(path: Path, text: str) -> None:
    import openpyxl  # type: ignore[import-untyped]  # it has no types

    book = openpyxl.Workbook()
    book.remove(book.active)
    try:
        for title, rows in json.loads(text).items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(path)
    except (AttributeError, TypeError, IndexError) as error:
        raise ValueError(f"{path.name} must be sheets with their rows: {error}") from None


def _texts(value: Json) -> list[str]:
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [value] if isinstance(value, str) else []


def _key(arguments: dict[str, Json]) -> str:
    return json.dumps(arguments, sort_keys=True)
