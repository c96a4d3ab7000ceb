"""A library: a folder of tools that several processes may use at the same time."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Container, Iterable
from dataclasses import replace
from datetime import UTC, datetime

from mcp_tools.errors import LibraryError
from mcp_tools.library import folder as files
from mcp_tools.library import tool_files
from mcp_tools.library.approvals import ApprovedHashes, errors_of
from mcp_tools.library.calls import BUG, RECENT_CALLS
from mcp_tools.library.reader import LibraryReader, Names, StoredTool
from mcp_tools.library.tool_files import Flaw, free_name, renamed, valid_name
from mcp_tools.tool import ALIASES, CallCount, Json, Status, Tool

WANTED_NAME = "wanted_name"
"""Key in the provenance of a tool that was renamed because its name was taken; the value is that name."""
_MAX_RECENT_BUGS = 3
"""Number of bugs among a tool's recent calls at which it is quarantined."""
_MAX_ALIASES = 20


class Library(LibraryReader):
    """The tools of one folder.

    Each tool has two files (see `mcp_tools.library.tool_files`). The subfolder `.alita/` holds the lock and old
    versions. Approvals, the search index and call counts are kept in the user's data folder, keyed by the path of the
    library, so that a folder from someone else cannot bring its own approvals.

    Args:
        folder: Folder of the tools. It is created with the first tool.
        data: The user's data folder, which several libraries share.
        approvals: Store of the approvals; by default a file in `data`.
        calls: Store of the call counts; by default a file in `data`.

    Raises:
        LibraryError: The folder is a link that leads out of its parent folder.

    Example:
        >>> [hit.tool.name for hit in library.search("interest on a loan", limit=1)]
        ['loan_amortization_schedule']
    """

    def register(
        self, tool: Tool, *, replace: bool = False, instead_of: Tool | None = None, is_draft: bool = False
    ) -> Tool:
        """Add a proved tool and approve it.

        If a tool with different source code has the name, the new tool and its function get the next free name. A draft
        that alita wrote is replaced instead. Registering the same source twice changes nothing. A definition with
        errors is not approved.

        Args:
            tool: The tool.
            replace: Replace the tool of the same name; its files are kept as an old version.
            instead_of: The tool to replace. It must not have changed since the caller read it.
            is_draft: Do not approve the tool, because a person has to review it first.

        Returns:
            The tool as stored, with its final name.

        Raises:
            LibraryError: The name is invalid, the folder cannot be written, or the tool to replace has changed. The
                library is unchanged.
        """
        if not valid_name(tool.name):
            raise LibraryError(
                f"{tool.name!r} is not a valid tool name",
                remedy="use snake_case (^[a-z][a-z0-9_]{0,63}$), and no keyword or builtin",
            )
        with files.writing(self.folder):
            if replace:
                existing = tool_files.read_tool(self.folder, tool.name)
                if instead_of and (not isinstance(existing, Tool) or existing.source != instead_of.source):
                    raise LibraryError(f"{tool.name} changed in the meantime", remedy="propose the new version again")
                if existing is not None:
                    files.keep_version(self.folder, tool.name)
                if isinstance(existing, Tool) and existing.source_hash != tool.source_hash:
                    tool = _with_provenance(tool, parent_version=existing.source_hash)
            else:
                tool, existing = self._placed(tool, replaces_drafts=not is_draft)
                if isinstance(existing, Tool) and (self._is_approved(existing) or not _is_same(existing, tool)):
                    return existing
            if not tool.provenance.get("created"):
                tool = _with_provenance(tool, created=datetime.now(UTC).isoformat(timespec="seconds"))
            self._write(tool, is_draft=is_draft)
            if is_draft and tool.provenance.get("run"):
                with contextlib.suppress(LibraryError):  # then it keeps its name from a better version
                    self.approvals.put_draft(tool.name, tool.source_hash)
        return tool

    def merge(self, tool: Tool, name: str) -> Tool:
        """Add an alias to an approved tool: the name of an equivalent tool that is not kept.

        Returns:
            The tool with the alias; unchanged if the name is taken or the tool has changed.
        """
        known = tool.aliases
        if not valid_name(name) or name in known or len(known) >= _MAX_ALIASES:
            return tool
        with contextlib.suppress(LibraryError), files.writing(self.folder):
            existing = tool_files.read_tool(self.folder, tool.name)
            is_free = not tool_files.stamp(self.folder, name)
            if (
                is_free
                and isinstance(existing, Tool)
                and existing.source == tool.source
                and self._is_approved(existing)
            ):
                tool = _with_provenance(existing, **{ALIASES: sorted([*existing.aliases, name])})
                self._write(tool)
        return tool

    def delete(self, name: str, *, retires: bool = False) -> None:
        """Delete a tool, or the remains of a damaged one. Its files are kept as an old version.

        Args:
            name: The tool.
            retires: Keep the approval, so that `restore` brings the tool back approved.

        Raises:
            UnknownToolError: There are no files of this name.
            LibraryError: Another tool imports it, or the folder cannot be written.
        """
        if not tool_files.stamp(self.folder, self._named(name)):
            raise self._unknown(name)
        self.require_unimported(name)
        with files.writing(self.folder):
            files.keep_version(self.folder, name)
            files.remove_pair(self.folder, name)
        if not retires:
            with contextlib.suppress(LibraryError):  # a remaining approval is harmless
                self.approvals.drop(name)

    def require_unimported(self, name: str, *, besides: Container[str] = ()) -> None:
        """Check that no tool imports this one, except those in `besides`.

        Raises:
            LibraryError: A tool imports it.
        """
        if importing := [other for other in self._importing(name) if other not in besides]:
            listed = ", ".join(importing)
            raise LibraryError(
                f"{name} is imported by {listed}", remedy=f"first run: alita tools delete {importing[0]}"
            )

    def approve(self, name: str, *, seen: Tool | None = None) -> Tool:
        """Approve the current contents of a tool, so that it is served.

        Args:
            name: The tool.
            seen: The tool that the person reviewed. If it has changed since then, it is not approved.

        Raises:
            UnknownToolError: There is no such tool.
            LibraryError: Its files are damaged, its definition has errors, its status does not allow it, it has changed
                since the review, or the approvals cannot be written.
        """
        whole = self._stored(name)
        if whole.tool.status is not Status.VERIFIED:
            raise LibraryError(
                f"the status of {name} is {whole.tool.status}, but only verified tools are served",
                remedy=f"ask for the tool again, or remove it: alita tools delete {name}",
            )
        if errors := errors_of(whole.tool):
            listed = "\n".join(f"  {error}" for error in errors)
            raise LibraryError(
                f"the definition of {name} cannot be served:\n{listed}", remedy="correct the tool's files"
            )
        if seen is not None and ApprovedHashes.of(whole.tool).differences(ApprovedHashes.of(seen)):
            raise LibraryError(
                f"{name} changed during your review", remedy=f"review it again: alita tools approve {name}"
            )
        with contextlib.suppress(LibraryError), files.writing(self.folder):  # a read-only folder keeps no versions
            files.keep_version(self.folder, name)
        self._put_approval(whole.tool, is_of_a_person=True)
        return whole.tool

    def restore(self, name: str, source_hash: str) -> Tool:
        """Replace a tool with one of its old versions. The current files are kept as an old version.

        The result is a draft unless exactly this version was approved on this machine.

        Raises:
            UnknownToolError: No tool can have this name.
            LibraryError: There is no such version, or the folder cannot be written.
        """
        tool = self.version(name, source_hash)
        is_approved = self.was_approved(tool)
        with files.writing(self.folder):
            files.keep_version(self.folder, name)
            if is_approved:
                self._write(tool)
            else:
                files.write_pair(self.folder, name, tool.source.encode(), tool_files.encoded(tool))
        return self.get(name)

    def record_call(
        self,
        name: str,
        ok: bool,
        kind: str | None = None,
        *,
        version: str = "",
        arguments: Json = None,
        question: str = "",
    ) -> None:
        """Count one call. A tool with several bugs among its recent calls is quarantined.

        Bugs with equal arguments count once. If the count cannot be written, it is dropped.

        Args:
            name: The tool.
            ok: True if the call succeeded.
            kind: The kind of failure.
            version: Source hash of the version that was called; by default the present version.
            arguments: The arguments of the call.
            question: The question that was being answered.
        """
        now = self._version(name)
        call = _digest(json.dumps(arguments, sort_keys=True, default=str)) if kind == BUG and arguments else ""
        version = version or now
        self._calls.record(name, ok, kind, version=version, question=question and _digest(question), call=call)
        if kind == BUG and version == now and (bugs := self.stats(name).bugs_lately) >= _MAX_RECENT_BUGS:
            with contextlib.suppress(LibraryError):
                self.approvals.quarantine(name, f"{bugs} of its last {RECENT_CALLS} calls ended in a bug")

    def record_calls(self, called: Iterable[CallCount], *, question: str = "") -> None:
        """Count the calls of tools that were imported by other code."""
        for one in called:
            version = self._version(one.name)
            if done := one.calls - one.failed:
                asked = question and _digest(question)
                self._calls.record(one.name, True, count=done, version=version, question=asked)
            if one.failed:
                self._calls.record(one.name, False, "exception", one.failed, version=version)

    def _write(self, tool: Tool, *, is_draft: bool = False) -> None:
        """Write a tool, and approve it unless it is a draft. The caller must hold the lock."""
        document = tool_files.encoded(tool)
        before = self.approvals.read().by_name.get(tool.name)
        if not is_draft:
            self._approve(tool, before)  # both versions, because a kill may leave either in the folder
        files.write_pair(self.folder, tool.name, tool.source.encode(), document)
        files.keep_version(self.folder, tool.name)
        if not is_draft:
            self._approve(tool)

    def _approve(self, tool: Tool, before: ApprovedHashes | None = None) -> None:
        """Approve a tool that is being written. If this fails, the tool is withheld until a person approves it."""
        if not errors_of(tool) and not self.approvals.is_quarantined(tool.name, tool.source_hash):
            with contextlib.suppress(LibraryError):
                self._put_approval(tool, before)

    def _put_approval(self, tool: Tool, before: ApprovedHashes | None = None, *, is_of_a_person: bool = False) -> None:
        """Store the approval of a tool. A new version, or the end of a quarantine, resets its trust."""
        known = self.approvals.read().by_name.get(tool.name)
        approval = replace(ApprovedHashes.of(tool), person="yes" if is_of_a_person else "")
        self.approvals.put(tool.name, approval, before=before)
        if known is None or known.source != tool.source_hash or known.quarantined:
            self._calls.renew(tool.name)

    def _placed(self, tool: Tool, *, replaces_drafts: bool) -> tuple[Tool, Tool | Flaw | None]:
        """Give a new tool a free name. If the library already has this source, also return the existing tool.

        With `replaces_drafts`, the tool may take the name of a draft by alita, which becomes an old version.
        """
        taken: set[str] = set()
        while True:
            name = free_name(tool.name, taken)
            candidate = tool
            if name != tool.name:
                candidate = replace(tool, name=name, source=renamed(tool.source, tool.name, name))
                candidate = _with_provenance(candidate, **{WANTED_NAME: tool.name})
            existing = tool_files.read_tool(self.folder, name)
            if existing is None or (isinstance(existing, Tool) and existing.source_hash == candidate.source_hash):
                return candidate, existing
            if (
                replaces_drafts
                and isinstance(existing, Tool)
                and self.approvals.is_own_draft(name, existing.source_hash)
            ):
                files.keep_version(self.folder, name)
                return candidate, None
            if isinstance(existing, Flaw) and existing.kind == "incomplete":
                with contextlib.suppress(OSError):  # the same source without its JSON file can be completed
                    if files.read(tool_files.source_path(self.folder, name)) == candidate.source.encode():
                        return candidate, existing
            taken.add(name)

    def _importing(self, name: str) -> Names:
        found = []
        for other in self._names():
            with contextlib.suppress(OSError):
                if f'"{name}"'.encode() not in files.read(tool_files.object_path(self.folder, other)):
                    continue  # a quick test that spares parsing most files
            stored = self._lookup(other) if other != name else None
            if isinstance(stored, StoredTool) and name in stored.tool.capabilities.tools:
                found.append(other)
        return found


def _digest(question: str) -> str:
    """Return a hash for counting different questions without storing their words."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode(errors="replace")).hexdigest()[:16]


def _is_same(one: Tool, other: Tool) -> bool:
    """Return True if two tools differ at most in their provenance."""
    if errors_of(one) or errors_of(other):
        return False
    return not {*ApprovedHashes.of(one).differences(ApprovedHashes.of(other))} - {"record"}


def _with_provenance(tool: Tool, **more: Json) -> Tool:
    return replace(tool, provenance={**tool.provenance, **more})
