"""The library: tools in a folder, safe for several processes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library import folder as files
from mcp_tools.library import tool_files, versions
from mcp_tools.library.approvals import (
    ApprovalEntries,
    Approvals,
    ApprovalsFile,
    ApprovedHashes,
    Found,
    Withheld,
    errors_of,
)
from mcp_tools.library.calls import BUG, LATELY, Calls, CallsFile, Stats
from mcp_tools.library.index import CurrentIndex
from mcp_tools.library.tool_files import Flaw, free_name, renamed, valid_name
from mcp_tools.text import did_you_mean
from mcp_tools.tool import ALIASES, CallCount, Json, Status, Tool

Trust = Literal["draft", "verified", "trusted", "quarantined"]
"""Not approved in its present state; approved; approved and useful in several questions; approved, but failing
since."""
WANTED_NAME = "wanted_name"
"""In a tool's record: the name that it would have if that had been free."""
_MOST_BUGS = 3
"""So many bugs in the last calls put a tool into quarantine."""
_MOST_ALIASES = 20
_MOST_CACHED = 1000
_NEAR = 5
"""Tools that come after those that fit a question."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that a search found."""

    tool: Tool
    score: float
    """Higher is better; comparable within one search only."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a library that may answer a question."""

    fitting: tuple[Tool, ...]
    """Results of a search, best first; approved or not."""
    others: tuple[Tool, ...]
    """Approved tools besides: all of a small library, the nearest of a large one."""
    is_all: bool
    """True if both are all that is approved."""


class _Whole(NamedTuple):
    stamp: str
    tool: Tool
    now: ApprovedHashes
    """The hashes that must have been approved."""


T = TypeVar("T")
Names = list[str]
Tools = list[Tool]
Hits = list[Hit]
Flaws = list[Flaw]
AllWithheld = list[Withheld]


class Library:
    """The tools of one folder.

    Two files make a tool (see `mcp_tools.library.tool_files`). The folder's `.alita/` holds the lock and old versions.
    Approvals, the index and the counts of calls are in the user's data, by the path of the folder, so that nobody who
    made the folder chooses them.

    Args:
        folder: Folder of the tools. It is created with the first tool.
        data: The user's folder of data, which several libraries share.
        approvals: Storage of approvals; by default a file in `data`.
        calls: Storage of counts; by default a file in `data`.

    Raises:
        LibraryError: The folder is a link that leads out of its parent folder.
    """

    def __init__(
        self, folder: Path, data: Path, *, approvals: ApprovalEntries | None = None, calls: Calls | None = None
    ) -> None:
        self.folder = Path(folder)
        files.require_own_place(self.folder)
        self.approvals = Approvals(approvals or ApprovalsFile(self.folder, data / "approvals.json"))
        derived = files.derived_folder(self.folder, data)
        self._calls: Calls = calls or CallsFile(derived / "calls.sqlite")
        self._index = CurrentIndex(self.folder, derived / "index.sqlite", self._read)
        self._cache: dict[str, _Whole] = {}

    # Writing

    def register(
        self, tool: Tool, *, replace: bool = False, instead_of: Tool | None = None, is_draft: bool = False
    ) -> Tool:
        """Writes a tool, whole or not at all.

        The same source registered twice is one tool. Another source under a taken name gets the next free name, and its
        function is renamed, unless a draft by alita has the name. With `replace` it replaces the old tool, which is
        kept among the versions.
        If the tool `instead_of` which it comes is given, that very one must be in its place.

        The caller has proved the tool, so it is approved, unless its definition must not be served, or a person has to
        look at it first (`is_draft`).

        Returns:
            The tool as it stands in the library.

        Raises:
            LibraryError: The name cannot name a tool, the folder cannot be written, or another tool than the given one
                is in its place; nothing has changed.
        """
        if not valid_name(tool.name):
            raise LibraryError(
                f"{tool.name!r} cannot name a tool",
                remedy="use snake_case: ^[a-z][a-z0-9_]{0,63}$, no keyword or builtin",
            )
        with files.writing(self.folder):
            if replace:
                standing = tool_files.read_tool(self.folder, tool.name)
                if instead_of and (not isinstance(standing, Tool) or standing.source != instead_of.source):
                    raise LibraryError(f"{tool.name} was changed in the meantime", remedy="propose the new one again")
                if standing is not None:
                    files.keep_version(self.folder, tool.name)
                if isinstance(standing, Tool) and standing.source_hash != tool.source_hash:
                    tool = _with_provenance(tool, parent_version=standing.source_hash)
            else:
                tool, standing = self._placed(tool, replaces_drafts=not is_draft)
                if isinstance(standing, Tool) and (self._is_approved(standing) or not _is_same(standing, tool)):
                    return standing
            if not tool.provenance.get("created"):
                tool = _with_provenance(tool, created=datetime.now(UTC).isoformat(timespec="seconds"))
            self._write(tool, is_draft=is_draft)
            if is_draft and tool.provenance.get("run"):
                with contextlib.suppress(LibraryError):  # then it keeps its name from a better version
                    self.approvals.put_draft(tool.name, tool.source_hash)
        return tool

    def _write(self, tool: Tool, *, is_draft: bool = False) -> None:
        """Writes a tool under the lock, and approves it unless it is a draft."""
        document = tool_files.encoded(tool)
        before = self.approvals.read().by_name.get(tool.name)
        if not is_draft:
            self._vouch(tool, before)  # both: after a kill, either may be in the folder
        files.write_pair(self.folder, tool.name, tool.source.encode(), document)
        files.keep_version(self.folder, tool.name)
        if not is_draft:
            self._vouch(tool)

    def merge(self, tool: Tool, name: str) -> Tool:
        """Make an approved tool known by the name of an equivalent one.

        Returns:
            The tool after the change. Nothing changes if the name is taken, or the tool has changed.
        """
        known = tool.aliases
        if not valid_name(name) or name in known or len(known) >= _MOST_ALIASES:
            return tool
        with contextlib.suppress(LibraryError), files.writing(self.folder):
            standing = tool_files.read_tool(self.folder, tool.name)
            is_free = not tool_files.stamp(self.folder, name)
            if (
                is_free
                and isinstance(standing, Tool)
                and standing.source == tool.source
                and self._is_approved(standing)
            ):
                tool = _with_provenance(standing, **{ALIASES: sorted([*standing.aliases, name])})
                self._write(tool)
        return tool

    def _is_approved(self, tool: Tool) -> bool:
        return not errors_of(tool) and self.approvals.read().approves(tool, ApprovedHashes.of(tool))

    def _vouch(self, tool: Tool, before: ApprovedHashes | None = None) -> None:
        """Approves what is being registered.

        If this cannot be written, the tool is withheld until somebody approves it.
        """
        if not errors_of(tool) and not self.approvals.is_quarantined(tool.name, tool.source_hash):
            with contextlib.suppress(LibraryError):
                self._put_approval(tool, before)

    def _put_approval(self, tool: Tool, before: ApprovedHashes | None = None, *, is_of_a_person: bool = False) -> None:
        """Approves a tool; what was counted for another version, or before a quarantine, no longer counts for it."""
        known = self.approvals.read().by_name.get(tool.name)
        approval = replace(ApprovedHashes.of(tool), person="yes" if is_of_a_person else "")
        self.approvals.put(tool.name, approval, before=before)
        if known is None or known.source != tool.source_hash or known.quarantined:
            self._calls.renew(tool.name)

    def _placed(self, tool: Tool, *, replaces_drafts: bool) -> tuple[Tool, Tool | Flaw | None]:
        """Return the tool under its first free name, and the equal tool that already has the name, if any.

        A finished tool may take the name of a draft that alita wrote; the draft is kept among the versions.
        """
        taken: set[str] = set()
        while True:
            name = free_name(tool.name, taken)
            candidate = tool
            if name != tool.name:
                candidate = replace(tool, name=name, source=renamed(tool.source, tool.name, name))
                candidate = _with_provenance(candidate, **{WANTED_NAME: tool.name})
            standing = tool_files.read_tool(self.folder, name)
            if standing is None or (isinstance(standing, Tool) and standing.source_hash == candidate.source_hash):
                return candidate, standing
            if (
                replaces_drafts
                and isinstance(standing, Tool)
                and self.approvals.is_own_draft(name, standing.source_hash)
            ):
                files.keep_version(self.folder, name)
                return candidate, None
            if isinstance(standing, Flaw) and standing.kind == "incomplete":
                with contextlib.suppress(OSError):  # only the JSON file of the very same source may be missing
                    if files.read(tool_files.source_path(self.folder, name)) == candidate.source.encode():
                        return candidate, standing
            taken.add(name)

    def delete(self, name: str, *, retires: bool = False) -> None:
        """Removes a tool, or what is left of one; its files are kept among the versions.

        The approval of a tool that retires is kept, too: `restore` brings it back as it was.

        Raises:
            UnknownToolError: There is nothing of that name.
            LibraryError: Another tool imports it, or the folder cannot be written.
        """
        if not tool_files.stamp(self.folder, self._named(name)):
            raise self._unknown(name)
        self.require_unimported(name)
        with files.writing(self.folder):
            files.keep_version(self.folder, name)
            files.remove_pair(self.folder, name)
        if not retires:
            with contextlib.suppress(LibraryError):  # hashes of a tool that is gone approve nothing else
                self.approvals.drop(name)

    def require_unimported(self, name: str, *, besides: Container[str] = ()) -> None:
        """Return if no tool imports this one, apart from the given names.

        Raises:
            LibraryError: One does.
        """
        if importing := [other for other in self._importing(name) if other not in besides]:
            listed = ", ".join(importing)
            raise LibraryError(f"{name} is imported by {listed}", remedy=f"first: alita tools delete {importing[0]}")

    def _importing(self, name: str) -> Names:
        """The tools that declare one as theirs."""
        found = []
        for other in self._names():
            with contextlib.suppress(OSError):
                if f'"{name}"'.encode() not in files.read(tool_files.object_path(self.folder, other)):
                    continue  # the file of such a tool has the name in it
            standing = self._standing(other) if other != name else None
            if isinstance(standing, _Whole) and name in standing.tool.capabilities.tools:
                found.append(other)
        return found

    # Approving

    def approve(self, name: str, *, seen: Tool | None = None) -> Tool:
        """Approve a tool in its present state, so that it is served.

        With `seen`, the tool that was looked at, only that very tool is approved.

        Raises:
            UnknownToolError: There is no such tool.
            LibraryError: Its files are damaged, its definition has errors, its status keeps it from being served, it is
                another than the one seen, or the approvals cannot be written.
        """
        whole = self._whole(name)
        if whole.tool.status is not Status.VERIFIED:
            raise LibraryError(
                f"{name} is {whole.tool.status}: only verified tools are served",
                remedy=f"ask for it again, or remove it: alita tools delete {name}",
            )
        if errors := errors_of(whole.tool):
            listed = "\n".join(f"  {error}" for error in errors)
            raise LibraryError(f"the definition of {name} must not be served:\n{listed}", remedy="correct its files")
        if seen is not None and ApprovedHashes.of(whole.tool).differences(ApprovedHashes.of(seen)):
            raise LibraryError(f"{name} was changed in the meantime", remedy=f"look again: alita tools approve {name}")
        with (
            contextlib.suppress(LibraryError),
            files.writing(self.folder),
        ):  # a folder that is only read has no versions
            files.keep_version(self.folder, name)
        self._put_approval(whole.tool, is_of_a_person=True)
        return whole.tool

    def served(self) -> Iterator[tuple[Tool, ApprovedHashes]]:
        """Yield the tools that clients get: verified, approved in their present state, with a clean definition.

        Each holds in `source` the text with the approved hash: run that, never the file. They are read one by one, so
        that a large library need not fit into memory.
        """
        found = self.approvals.read()
        for name in self._names():
            standing = self._standing(name)
            if isinstance(standing, _Whole) and found.approves(standing.tool, standing.now):
                yield standing.tool, standing.now

    def withheld(self) -> AllWithheld:
        """Everything in the folder that clients do not get, by name, with the reason and the remedy."""
        found = self.approvals.read()
        all_withheld = {flaw.name: Withheld(flaw.name, flaw.message, flaw.remedy) for flaw in self.flaws()}
        for name in self._names():
            standing = self._standing(name)
            if isinstance(standing, Flaw):  # edited in place since it was indexed
                all_withheld[name] = Withheld(name, standing.message, standing.remedy)
            elif standing and not found.approves(standing.tool, standing.now):
                all_withheld[name] = found.objection(standing.tool, standing.now)
        return [all_withheld[name] for name in sorted(all_withheld)]

    # Reading

    def path(self, name: str) -> Path:
        """The source file of a tool, whether or not it is there.

        Raises:
            UnknownToolError: No tool can have that name.
        """
        return tool_files.source_path(self.folder, self._named(name))

    def source(self, name: str) -> bytes:
        """Return the source file of a tool, even of a damaged one.

        Raises:
            UnknownToolError: No tool can have that name, or there is no such file.
            LibraryError: It cannot be read.
        """
        try:
            return files.read(self.path(name))
        except FileNotFoundError:
            raise self._unknown(name) from None
        except OSError as error:
            raise LibraryError(f"{name}.py cannot be read: {error.strerror}") from None

    def get(self, name: str) -> Tool:
        """The tool of that name, or an approved one that has it as another name.

        It is a draft until it is approved here.

        Raises:
            UnknownToolError: There is no such tool; the message has the nearest names.
            LibraryError: Its files are damaged, or were changed since they were checked.
        """
        try:
            return self._believed(self._whole(name))
        except UnknownToolError:
            for other in self._index.asked(lambda index: index.having(name)) if valid_name(name) else ():
                standing = self._standing(other)
                if isinstance(standing, _Whole) and name in standing.tool.aliases:
                    tool = self._believed(standing)
                    if tool.status is Status.VERIFIED:
                        return tool
            raise

    async def found(self, name: str) -> Tool:
        """The same for who awaits it."""
        return await self.aside(self.get, name)

    async def aside(self, ask: Callable[..., T], *given: Any) -> T:
        """Calls what asks for approvals or counts, in a thread if they are on another machine."""
        return await asyncio.to_thread(ask, *given) if self.approvals.waits else ask(*given)

    def _believed(self, whole: _Whole, found: Found | None = None) -> Tool:
        if (found or self.approvals.read()).approves(whole.tool, whole.now):
            return whole.tool
        return replace(whole.tool, status=Status.DRAFT)

    def _whole(self, name: str) -> _Whole:
        found = self._standing(self._named(name))
        if found is None:
            raise self._unknown(name)
        if isinstance(found, Flaw):
            raise LibraryError(found.message, remedy=found.remedy)
        return found

    def standing(self, name: str) -> Tool | Flaw:
        """Return the tool under a name, or the flaw of its files.

        Raises:
            UnknownToolError: The name has no files.
        """
        found = self._standing(self._named(name))
        if found is None:
            raise self._unknown(name)
        return found.tool if isinstance(found, _Whole) else found

    def _standing(self, name: str) -> _Whole | Flaw | None:
        stamp = tool_files.stamp(self.folder, name)
        known = self._cache.get(name)
        if known and known.stamp == stamp:
            return known
        found = self._read(name)
        if not isinstance(found, Tool):
            return found
        try:
            known = _Whole(stamp, found, ApprovedHashes.of(found))
        except RecursionError:
            return Flaw(name, "corrupt", f"{name}.json is nested too deeply", f"alita tools delete {name}")
        if stamp == tool_files.stamp(self.folder, name):  # else they changed while they were read
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[name] = known
        return known

    def _read(self, name: str) -> Tool | Flaw | None:
        """Reads a tool. Files that look half-written are read again under the lock, when nothing is being written."""
        found = tool_files.read_tool(self.folder, name)
        if isinstance(found, Flaw) and found.kind in {"changed", "incomplete"}:
            with contextlib.suppress(LibraryError), files.writing(self.folder):
                found = tool_files.read_tool(self.folder, name)
        return found

    # Versions

    def kept(self, name: str, source_hash: str) -> Tool | None:
        """An old version of a tool, if it was kept whole."""
        return versions.kept(self.folder, self._named(name), source_hash)

    def versions(self, name: str) -> Tools:
        """The versions of a tool that were kept whole, also of a deleted one, oldest first."""
        return versions.all_of(self.folder, self._named(name))

    def approved_versions(self, name: str) -> Tools:
        """The versions that were approved on this machine, oldest first. No others are read, however many are there."""
        sources = dict.fromkeys(one.source for one in self.approvals.all_of(name))
        found = [version for source in sources if (version := self.kept(name, source)) and self.was_approved(version)]
        return sorted(found, key=lambda version: str(version.provenance.get("created", "")))

    def version(self, name: str, source_hash: str) -> Tool:
        """Return the version of a tool with a source hash, or the only one with this prefix.

        Raises:
            UnknownToolError: No tool can have that name.
            LibraryError: No version has that hash, or several have it.
        """
        return versions.one_of(self.folder, self._named(name), source_hash)

    def source_of(self, name: str, source_hash: str) -> str:
        """The source of a version; see `version`."""
        return self.version(name, source_hash).source

    def was_approved(self, version: Tool) -> bool:
        """Return True if `restore` would bring back a version as an approved tool."""
        return not errors_of(version) and self.approvals.was_approved(version.name, ApprovedHashes.of(version))

    def restore(self, name: str, source_hash: str) -> Tool:
        """Puts an old version in the place of a tool, which is kept among the versions.

        It is approved only if this very version was approved on this machine; else it is a draft.

        Raises:
            UnknownToolError, LibraryError: See `version`; or the folder cannot be written.
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

    def list(self) -> Tools:
        """All tools that have no flaw, by name; those that are not approved here as drafts."""
        approved, standing = self.approvals.read(), map(self._standing, self._names())
        return [self._believed(found, approved) for found in standing if isinstance(found, _Whole)]

    def _names(self) -> Iterator[str]:
        yield from self._index.asked(lambda index: index.names())

    def flaws(self) -> Flaws:
        """Return files of the folder that are no tools, each with its remedy."""
        return self._index.asked(lambda index: index.flaws())

    def search(self, query: str, limit: int = 5) -> Hits:
        """Return the tools that fit a question or a purpose best; unapproved ones are drafts."""
        matches = self._index.asked(lambda index: index.search(query, limit))
        approved, found = self.approvals.read(), [(self._standing(match.name), match.score) for match in matches]
        return [Hit(self._believed(whole, approved), score) for whole, score in found if isinstance(whole, _Whole)]

    def offered(self, question: str, *, most: int, small: int) -> Offer:
        """The tools that fit a question, at most `most`, and others: all if there are no more than `small`."""
        matches = self._index.asked(lambda index: index.search(question, most + _NEAR, with_unlikely=True))
        fitting = [match.name for match in matches if match.fits][:most]
        count = self._index.asked(lambda index: index.count())
        near = [*self._names()] if count <= small else [match.name for match in matches]
        standing = {name: self._standing(name) for name in dict.fromkeys([*fitting, *near])}
        approved = self.approvals.read()
        tools = {name: self._believed(one, approved) for name, one in standing.items() if isinstance(one, _Whole)}
        others = [tool for name, tool in tools.items() if name not in fitting and tool.status is Status.VERIFIED]
        is_all = count <= small
        found = tuple(tools[name] for name in fitting if name in tools)
        return Offer(found, tuple(others if is_all else others[:_NEAR]), is_all)

    def _named(self, name: str) -> str:
        """Return the name if it is valid; every verb that builds a path uses this.

        Raises:
            UnknownToolError: No tool can have it.
        """
        if not valid_name(name):
            raise self._unknown(name)
        return name

    def _unknown(self, name: str) -> UnknownToolError:
        hint = did_you_mean(name, self._names(), most=3)
        return UnknownToolError(
            f"no tool {name[:200]!r} in {self.folder}", remedy=f"{hint}`alita tools list` shows all"
        )

    # Watching

    def state(self) -> tuple[object, ...]:
        """Return a stamp that changes when any served tool changes. A large folder takes a while.

        Raises:
            LibraryError: The folder or the approvals cannot be read.
        """
        try:
            return self._index.stamps(), self.approvals.stamp()
        except OSError as error:
            raise LibraryError(f"no tool can be called: {error.strerror or error}") from None

    def is_still(self, state: tuple[object, ...] | None) -> bool:
        """Return True if that is surely the state now; cheap, and sometimes false although it is.

        Raises:
            LibraryError: See `state`.
        """
        return state is not None and not self._index.is_due() and self.state() == state

    # Counting

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
        """Counts one call: a success, or a failure of a kind. If it cannot be written, nothing is counted.

        It counts for the version that was called, by the hash of its source; without one, for the present version. An
        approved tool of which several of the last calls, with different arguments, failed through its own fault goes
        into quarantine.
        """
        now = self._version(name)
        call = _digest(json.dumps(arguments, sort_keys=True, default=str)) if kind == BUG and arguments else ""
        version = version or now
        self._calls.record(name, ok, kind, version=version, question=question and _digest(question), call=call)
        if kind == BUG and version == now and (bugs := self.stats(name).bugs_lately) >= _MOST_BUGS:
            with contextlib.suppress(LibraryError):
                self.approvals.quarantine(name, f"{bugs} of its last {LATELY} calls ended in a bug")

    def record_calls(self, called: Iterable[CallCount], *, question: str = "") -> None:
        """Counts the calls of imported tools for their present versions."""
        for one in called:
            version = self._version(one.name)
            if done := one.calls - one.failed:
                asked = question and _digest(question)
                self._calls.record(one.name, True, count=done, version=version, question=asked)
            if one.failed:
                self._calls.record(one.name, False, "exception", one.failed, version=version)

    def stats(self, name: str) -> Stats:
        """Return the counts of a tool's calls."""
        return self._calls.stats(name, self._version(name))

    def _version(self, name: str) -> str:
        """The hash of the source that is approved, or of a draft; empty if there is no tool."""
        if approved := self.approvals.read().by_name.get(name):
            return approved.source
        draft = self._standing(name) if valid_name(name) else None
        return draft.tool.source_hash if isinstance(draft, _Whole) else ""

    def trust(self, name: str) -> Trust:
        """Return the trust in a tool, from its approval and its calls.

        Raises:
            UnknownToolError: There is no such tool.
        """
        self.standing(name)
        whole, found = self._standing(name), self.approvals.read()
        if not isinstance(whole, _Whole):
            return "draft"
        if found.approves(whole.tool, whole.now):
            return "trusted" if self.stats(name).is_trusted else "verified"
        approved = found.by_name.get(name)
        is_same = approved is not None and approved.quarantined and not approved.differences(whole.now)
        return "quarantined" if is_same else "draft"

    def unused_since(self, name: str) -> float:
        """The moment at which a tool was last called, approved or written, in seconds since 1970.

        Raises:
            UnknownToolError: There is no such tool.
        """
        self.standing(name)
        moments = [self.stats(name).last or 0.0]
        with contextlib.suppress(OSError):
            moments.append(self.path(name).lstat().st_mtime)
        if approved := self.approvals.read().by_name.get(name):
            with contextlib.suppress(ValueError):
                moments.append(datetime.fromisoformat(approved.approved).timestamp())
        return max(moments)

    def close(self) -> None:
        """Closes the index and the counts. The library may be used again after."""
        self._index.close()
        self._calls.close()


def _digest(question: str) -> str:
    """Return the hash that counts a question; its words are not kept."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode(errors="replace")).hexdigest()[:16]


def _is_same(one: Tool, other: Tool) -> bool:
    """Return True if two tools differ in nothing but the record of their origin."""
    if errors_of(one) or errors_of(other):
        return False
    return not {*ApprovedHashes.of(one).differences(ApprovedHashes.of(other))} - {"record"}


def _with_provenance(tool: Tool, **more: Json) -> Tool:
    return replace(tool, provenance={**tool.provenance, **more})
