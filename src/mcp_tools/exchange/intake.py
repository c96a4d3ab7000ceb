"""Import of tools: each is checked, tried if it has no schemas yet, and placed as a draft, or refused."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mcp_tools.checks.check import check
from mcp_tools.checks.source import parameters
from mcp_tools.environments.lock import PackageError, PackageIndexError
from mcp_tools.environments.wrapped import WrappedCode, is_wrapped, label_of, wheel_name
from mcp_tools.errors import LibraryError, ModelFixableError, UsageError
from mcp_tools.exchange.candidates import Candidate
from mcp_tools.exchange.local_code import verified_wheel
from mcp_tools.exchange.trial import NotTakenError, tried
from mcp_tools.library import folder as files
from mcp_tools.library.approvals import ApprovedHashes, errors_of
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import Flaw, encoded, parsed, read_tool, source_path, valid_name
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Tool

Verdict = Literal["imported", "repaired", "replaced", "already there", "refused"]


@dataclass(frozen=True, slots=True)
class Taken:
    """The verdict on one tool."""

    name: str
    verdict: Verdict
    reason: str = ""
    """Why it was refused."""
    remedy: str = ""
    repairs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The form that `--json` prints."""
        return asdict(self)


class Intake:
    """Takes tools into a library.

    Args:
        library: The library.
        origin: The name of the file that brings them, for the record of those that have none.
        open_sandbox: Opens the sandbox, once; only sources without schemas need it.
        not_allowed: Picks the packages that the user has not allowed.
        code: Storage of wrapped code.
        replace: True if a tool takes the place of another one of its name.
    """

    def __init__(
        self,
        library: Library,
        origin: str,
        *,
        open_sandbox: Callable[[], Awaitable[Sandbox]],
        not_allowed: Callable[[Sequence[str]], list[str]],
        code: WrappedCode,
        replace: bool = False,
    ) -> None:
        self._library = library
        self._origin = origin
        self._open_sandbox = open_sandbox
        self._not_allowed = not_allowed
        self._code = code
        self._replace = replace

    async def take(self, one: Candidate) -> Taken:
        """Takes one tool, or says why not.

        Raises:
            LibraryError: The folder cannot be written.
            AlitaError: The sandbox fails.
        """
        name = one.name
        try:
            if one.refused:
                raise NotTakenError(one.refused)
            if not valid_name(name):
                raise NotTakenError(
                    f"{one_line(name, 80)!r} cannot name a tool: use snake_case, no keyword, no builtin"
                )
            if one.document is None:
                self._keep_code(one, one.capabilities.packages)
                made = await tried(
                    one,
                    self._origin,
                    open_sandbox=self._open_sandbox,
                    get=self._library.get_async,
                    not_allowed=self._not_allowed,
                )
                tool, repairs = made.tool, made.repairs
                verdict = self._place(tool, tool.source.encode(), encoded(tool))
                no_test = "no example shows that it works: write one into its docstring before you approve it"
                notes = [] if made.tests or verdict == "already there" else [no_test]
                verdict = "repaired" if verdict == "imported" and repairs else verdict
                return Taken(name, verdict, repairs=repairs, notes=notes)
            tool = _whole(name, one.source, one.document)
            self._keep_code(one, tool.capabilities.packages)
            return Taken(name, self._place(tool, one.source, one.document), notes=self._notes(tool))
        except (NotTakenError, ModelFixableError, PackageIndexError) as refusal:
            return Taken(one_line(name, 80), "refused", one_line(refusal.message, 700), refusal.remedy)

    def _keep_code(self, one: Candidate, packages: Sequence[str]) -> None:
        """Keep the code that a tool is made around, if it came along.

        Raises:
            NotTakenError: It did not, and is not here; or it is not what the tool names.
        """
        for requirement in filter(is_wrapped, packages):
            try:
                if (wheel := one.wheels.get(wheel_name(requirement))) is None:
                    self._code.wheel(requirement)
                else:
                    self._code.keep(requirement, verified_wheel(wheel, requirement))
            except (UsageError, PackageError) as error:
                raise NotTakenError(error.message) from None

    def _notes(self, tool: Tool) -> list[str]:
        wrapped = filter(is_wrapped, tool.capabilities.packages)
        notes = [f"brings code along, {label_of(one)}: {self._code.wheel(one)}" for one in wrapped]
        if lacking := self._not_allowed(tool.capabilities.packages):
            notes.append(f"first allow its packages: alita packages allow {shlex.join(lacking)}")
        return notes

    def _place(self, tool: Tool, source: bytes, document: bytes) -> Verdict:
        """Writes both files, and approves nothing: a draft, unless this very tool was approved here before."""
        folder, name = self._library.folder, tool.name
        with files.writing(folder):
            standing = read_tool(folder, name)
            if isinstance(standing, Tool) and _is_same(standing, tool):
                return "already there"
            if standing is not None and not self._replace:
                what = "another tool" if isinstance(standing, Tool) else "a draft"
                raise NotTakenError(f"{what} of this name is there already", remedy="--replace puts it in its place")
            if standing is not None:
                files.keep_version(folder, name)
            try:
                files.write_pair(folder, name, source, document)
            except OSError as error:
                raise LibraryError(
                    f"{source_path(folder, name)} cannot be written: {error.strerror or error}"
                ) from None
        return "replaced" if standing is not None else "imported"


def _is_same(one: Tool, other: Tool) -> bool:
    """True if two tools differ in nothing but the record of their origin."""
    return one == other or not {*ApprovedHashes.of(one).differences(ApprovedHashes.of(other))} - {"record"}


def _whole(name: str, source: bytes, document: bytes) -> Tool:
    """The tool that two files make.

    Raises:
        NotTakenError: They make none, or one that must not be served.
    """
    found = parsed(name, source, document)
    if isinstance(found, Flaw):
        changed = f"{name}.py is not the source that its JSON file describes"
        raise NotTakenError(changed if found.kind == "changed" else found.message)
    if errors := errors_of(found):
        raise NotTakenError(f"its definition must not be served: {errors[0]}")
    report = check(source, capabilities=found.capabilities, function=name)
    if not report.ok:
        raise NotTakenError("; ".join(f"{one.rule}: {one.message}" for one in report.findings[:3]))
    node = next(one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == name)
    taken = {parameter.arg for parameter in parameters(node)}
    described = found.input_schema.get("properties", {})
    if not isinstance(described, dict) or not taken >= {*described}:
        raise NotTakenError("its JSON file describes other parameters than its function has")
    return found


def order(found: Sequence[Candidate]) -> list[Candidate]:
    """Tools with schemas first: others may import them."""
    return sorted(found, key=lambda one: (one.document is None, one.name))
