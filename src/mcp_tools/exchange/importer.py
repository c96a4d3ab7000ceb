"""Import tools as drafts. Each tool is checked, and a tool without a JSON file is also run."""

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
from mcp_tools.exchange.trial import RefusedImportError, try_source
from mcp_tools.library import folder as files
from mcp_tools.library.approvals import ApprovedHashes, errors_of
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import Flaw, encoded, parsed, read_tool, source_path, valid_name
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Tool

Verdict = Literal["imported", "repaired", "replaced", "already there", "refused"]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing one tool."""

    name: str
    verdict: Verdict
    reason: str = ""
    remedy: str = ""
    repairs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the result in the form that `--json` prints."""
        return asdict(self)


class ToolImporter:
    """Imports tools into a library.

    Args:
        library: The library.
        origin: Name of the imported file, stored in the provenance of tools without a JSON file.
        open_sandbox: Opens the sandbox, which only tools without a JSON file need.
        not_allowed: Returns the given packages that the user has not allowed.
        code: The user's wrapped code.
        replace: True to replace tools with the same name.
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

    async def import_tool(self, one: Candidate) -> ImportResult:
        """Import one tool as a draft, or refuse it.

        Raises:
            LibraryError: The folder cannot be written.
            AlitaError: The sandbox fails.
        """
        name = one.name
        try:
            if one.refused:
                raise RefusedImportError(one.refused)
            if not valid_name(name):
                raise RefusedImportError(
                    f"{one_line(name, 80)!r} is not a valid tool name: use snake_case, and no keyword or builtin"
                )
            if one.document is None:
                self._keep_code(one, one.capabilities.packages)
                made = await try_source(
                    one,
                    self._origin,
                    open_sandbox=self._open_sandbox,
                    get=self._library.get_async,
                    not_allowed=self._not_allowed,
                )
                tool, repairs = made.tool, made.repairs
                verdict = self._place(tool, tool.source.encode(), encoded(tool))
                no_test = "it has no example: add one to its docstring before you approve it"
                notes = [] if made.tests or verdict == "already there" else [no_test]
                verdict = "repaired" if verdict == "imported" and repairs else verdict
                return ImportResult(name, verdict, repairs=repairs, notes=notes)
            tool = _checked_tool(name, one.source, one.document)
            self._keep_code(one, tool.capabilities.packages)
            return ImportResult(name, self._place(tool, one.source, one.document), notes=self._notes(tool))
        except (RefusedImportError, ModelFixableError, PackageIndexError) as refusal:
            return ImportResult(one_line(name, 80), "refused", one_line(refusal.message, 700), refusal.remedy)

    def _keep_code(self, one: Candidate, packages: Sequence[str]) -> None:
        """Store the user code that a tool wraps and that came with the tool.

        Raises:
            RefusedImportError: The code is neither on this machine nor in the import, or differs from the requirement.
        """
        for requirement in filter(is_wrapped, packages):
            try:
                if (wheel := one.wheels.get(wheel_name(requirement))) is None:
                    self._code.wheel(requirement)
                else:
                    self._code.keep(requirement, verified_wheel(wheel, requirement))
            except (UsageError, PackageError) as error:
                raise RefusedImportError(error.message) from None

    def _notes(self, tool: Tool) -> list[str]:
        wrapped = filter(is_wrapped, tool.capabilities.packages)
        notes = [f"includes the code {label_of(one)}: {self._code.wheel(one)}" for one in wrapped]
        if lacking := self._not_allowed(tool.capabilities.packages):
            notes.append(f"before you use it, allow its packages: alita packages allow {shlex.join(lacking)}")
        return notes

    def _place(self, tool: Tool, source: bytes, document: bytes) -> Verdict:
        """Write both files without approving the tool. If the same tool was approved here before, approve it again."""
        folder, name = self._library.folder, tool.name
        with files.writing(folder):
            existing = read_tool(folder, name)
            if isinstance(existing, Tool) and _is_same(existing, tool):
                return "already there"
            if existing is not None and not self._replace:
                what = "another tool" if isinstance(existing, Tool) else "a draft"
                raise RefusedImportError(f"{what} with this name already exists", remedy="to replace it, add --replace")
            if existing is not None:
                files.keep_version(folder, name)
            try:
                files.write_pair(folder, name, source, document)
            except OSError as error:
                raise LibraryError(
                    f"{source_path(folder, name)} cannot be written: {error.strerror or error}"
                ) from None
        return "replaced" if existing is not None else "imported"


def _is_same(one: Tool, other: Tool) -> bool:
    """Return True if two tools differ at most in their provenance."""
    return one == other or not {*ApprovedHashes.of(one).differences(ApprovedHashes.of(other))} - {"record"}


def _checked_tool(name: str, source: bytes, document: bytes) -> Tool:
    """Build a tool from its two files.

    Raises:
        RefusedImportError: The files are damaged, or the tool must not be served.
    """
    found = parsed(name, source, document)
    if isinstance(found, Flaw):
        changed = f"{name}.py does not match the hash in its JSON file"
        raise RefusedImportError(changed if found.kind == "changed" else found.message)
    if errors := errors_of(found):
        raise RefusedImportError(f"its definition cannot be served: {errors[0]}")
    report = check(source, capabilities=found.capabilities, function=name)
    if not report.ok:
        raise RefusedImportError("; ".join(f"{one.rule}: {one.message}" for one in report.findings[:3]))
    node = next(one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == name)
    taken = {parameter.arg for parameter in parameters(node)}
    described = found.input_schema.get("properties", {})
    if not isinstance(described, dict) or not taken >= {*described}:
        raise RefusedImportError("its JSON file and its function have different parameters")
    return found


def order(found: Sequence[Candidate]) -> list[Candidate]:
    """Sort the tools so that those with JSON files come first, because the others may import them."""
    return sorted(found, key=lambda one: (one.document is None, one.name))
