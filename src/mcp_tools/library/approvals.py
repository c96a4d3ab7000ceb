"""Approvals: hashes of the tools that were approved. A tool is served only while its hashes match.

The hashes are in one JSON file, which several libraries and processes share, or in a store of the caller for several
machines. While the file is damaged, no tool is approved; the next approval moves it aside and starts a new one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel

from mcp_tools.data_files import JsonFile
from mcp_tools.definition import Flag, canonical, definition_hash, definition_of, lint
from mcp_tools.errors import LibraryError
from mcp_tools.library.folder import write_errors
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities, Status, Tool


class _Content(BaseModel):
    version: Literal[1]
    libraries: dict[str, Any]
    """The approvals of each library, by the path of its folder."""
    drafts: dict[str, Any] = {}
    """The drafts that alita itself wrote, by the same path."""


@dataclass(frozen=True, slots=True)
class ApprovedHashes:
    """Hashes of an approved tool."""

    source: str
    definition: str
    capabilities: str
    """SHA-256 of the capabilities, which the definition does not list in full."""
    approved: str = ""
    """Time of the approval in ISO format."""
    record: str = ""
    """SHA-256 of the other provenance, which includes the question template; empty in old approvals."""
    quarantined: str = ""
    """The reason for a quarantine; empty for a tool that is not quarantined. A new approval ends it."""
    person: str = ""
    """`yes` if a person approved the tool; empty if only its proof did."""

    @classmethod
    def of(cls, tool: Tool) -> ApprovedHashes:
        """Return the hashes of a tool's current contents."""
        others = {name: value for name, value in tool.provenance.items() if name != "capabilities"}
        record = hashlib.sha256(canonical(others)).hexdigest()
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(tool.source_hash, definition_hash(tool), _hash_of(tool.capabilities), moment, record)

    def differences(self, now: ApprovedHashes) -> list[str]:
        """Return the names of the hashes that differ. `record` is included only if no other hash differs."""
        changed = [
            part for part in ("source", "definition", "capabilities") if getattr(self, part) != getattr(now, part)
        ]
        return changed or (["record"] if self.record != now.record else [])


_ALWAYS_HASHED = frozenset({"read", "hosts", "packages"})


@functools.lru_cache(maxsize=256)
def _hash_of(capabilities: Capabilities) -> str:
    """Hash the declared capabilities only, so that approvals stay valid when alita gets a new kind of capability."""
    declared = {
        field.name: value
        for field in fields(capabilities)
        if (value := getattr(capabilities, field.name)) != field.default or field.name in _ALWAYS_HASHED
    }
    return hashlib.sha256(canonical(declared)).hexdigest()


def errors_of(tool: Tool) -> tuple[Flag, ...]:
    """Return the errors in a tool's definition. A tool with errors is never served."""
    return tuple(lint(definition_of(tool), warnings=False))


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that is not served to clients, and the reason."""

    name: str
    reason: str
    remedy: str
    is_approvable: bool = True
    """True if `alita tools approve --all` may approve it, as soon as its files are correct."""


@dataclass(frozen=True, slots=True)
class CurrentApprovals:
    """The approvals of one library at one moment."""

    by_name: Mapping[str, ApprovedHashes] = field(default_factory=dict)
    before: Mapping[str, ApprovedHashes] = field(default_factory=dict)
    """The previous approvals of tools that are being replaced, because their old files may still be in place."""
    damage: str = ""
    """Reason why the file cannot be used, so that no tool is approved. Empty if the file is intact."""

    def approves(self, tool: Tool, now: ApprovedHashes) -> bool:
        """Return True if a tool with these hashes may be served."""
        approved = (self.by_name.get(tool.name), self.before.get(tool.name))
        return tool.status is Status.VERIFIED and any(
            one and not one.quarantined and not one.differences(now) for one in approved
        )

    def objection(self, tool: Tool, now: ApprovedHashes) -> Withheld:
        """Return the reason why a tool is not served, and the remedy."""
        name = tool.name
        if tool.status is not Status.VERIFIED:
            remedy = f"ask for the tool again, or remove it: alita tools delete {name}"
            return Withheld(name, f"its status is {tool.status}", remedy, is_approvable=False)
        if errors := errors_of(tool):
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            reason = f"its definition breaks the rule {errors[0].rule}: {errors[0].where}: {errors[0].message}{more}"
            return Withheld(name, reason, f"correct {name}.json and {name}.py, then run: alita tools approve {name}")
        if self.damage:
            return Withheld(name, f"no tool counts as approved, because {self.damage}", "alita tools approve --all")
        if (approved := self.by_name.get(name)) is None:
            return Withheld(name, "it was never approved here", f"alita tools approve {name} (or --all)")
        if approved.quarantined and not approved.differences(now):
            reason = f"it is quarantined: {approved.quarantined}"
            return Withheld(name, reason, f"alita tools review {name}", is_approvable=False)
        changed = " and ".join(approved.differences(now))
        reason = f"its {changed} changed since it was approved on {approved.approved[:10]}"
        return Withheld(name, reason, f"alita tools approve {name}")


class Entries(NamedTuple):
    """The stored approvals of one library, by the names of the tools."""

    approvals: dict[str, Any]
    """The approval of each tool, together with the approvals of its older versions."""
    drafts: dict[str, Any]
    """The source hash of each draft that alita itself wrote."""


class ApprovalEntries(Protocol):
    """A store for the approvals of one library."""

    path: Path
    """The file, or a name for the store in messages."""
    waits: bool
    """True if reading is slow, because the store is on another machine."""

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes whenever the entries change. It is empty until the first entry is stored.

        Raises:
            OSError: The store cannot be reached.
        """
        ...

    def read(self) -> Entries:
        """Return the entries.

        Raises:
            OSError: The entries cannot be read.
            ValueError: The entries are damaged.
        """
        ...

    def changing(self) -> AbstractContextManager[Entries]:
        """Lock the entries and yield them for changes. They are written if the block raises no exception.

        Raises:
            OSError: The entries cannot be written.
        """
        ...


class ApprovalsFile:
    """Stores the approvals of one library in a file that several libraries share."""

    waits = False

    def __init__(self, folder: Path, path: Path) -> None:
        self.path = path
        self._file = JsonFile(self.path, _Content, empty={"version": 1, "libraries": {}})
        self._key = str(folder.resolve())

    def stamp(self) -> tuple[int, ...]:
        """See `ApprovalEntries`."""
        try:
            state = self.path.stat()
        except OSError:
            return ()
        return state.st_mtime_ns, state.st_size, state.st_ino

    def read(self) -> Entries:
        """See `ApprovalEntries`."""
        return self._entries(self._file.read())

    @contextlib.contextmanager
    def changing(self) -> Iterator[Entries]:
        """See `ApprovalEntries`. A damaged file is moved aside."""
        with self._file.changing() as content:
            yield self._entries(content)

    def _entries(self, content: _Content) -> Entries:
        """Return this library's part of the file. If this part is damaged, it starts empty; the others are kept."""
        for part in (content.libraries, content.drafts):
            if not isinstance(part.get(self._key), dict):
                part[self._key] = {}
        return Entries(content.libraries[self._key], content.drafts[self._key])


class Approvals:
    """The approvals of one library."""

    def __init__(self, entries: ApprovalEntries) -> None:
        self.path = entries.path
        self._store = entries
        self._cached: tuple[object, CurrentApprovals] | None = None

    def stamp(self) -> tuple[int, ...]:
        """See `ApprovalEntries`."""
        return self._store.stamp()

    @property
    def waits(self) -> bool:
        """See `ApprovalEntries`."""
        return self._store.waits

    def read(self) -> CurrentApprovals:
        """Return the present approvals."""
        try:
            stamp = self.stamp()
            if self._cached is not None and self._cached[0] == stamp:
                return self._cached[1]
            entries = self._store.read().approvals
            before = {name: _before(entry) for name, entry in entries.items()}
            found = CurrentApprovals(_approvals(entries), _approvals(before))
        except OSError as error:
            return CurrentApprovals(damage=f"{self.path} cannot be read: {error.strerror or error}")
        except ValueError as error:
            found = CurrentApprovals(damage=f"{self.path} is invalid: {one_line(str(error), 200)}")
        self._cached = (stamp, found)
        return found

    def put(self, name: str, approval: ApprovedHashes, *, before: ApprovedHashes | None = None) -> None:
        """Store an approval, and move the previous one to the older versions.

        Args:
            name: The tool's name.
            approval: The hashes to approve.
            before: Hashes that are approved as well, while the tool's files are being replaced.

        Raises:
            LibraryError: The file cannot be written.
        """
        with self.changing() as entries:
            known, hashes = entries.approvals.get(name), asdict(approval)
            earlier = _earlier(known)
            for one in [known, *earlier]:  # a person's approval of this version remains valid
                if isinstance(one, dict) and one.get("source") == approval.source and one.get("person"):
                    hashes["person"] = "yes"
            if isinstance(known, dict):
                last = {key: value for key, value in known.items() if key not in (_BEFORE, _EARLIER)}
                earlier = [last, *(one for one in earlier if one != last)]
            earlier = [one for one in earlier if one.get("source") != approval.source][:_MAX_EARLIER]
            hashes = {name: value for name, value in hashes.items() if value or name != "person"}
            older = {_BEFORE: asdict(before)} if before else {}
            entries.approvals[name] = hashes | older | ({_EARLIER: earlier} if earlier else {})

    def put_draft(self, name: str, source: str) -> None:
        """Record that alita itself wrote the draft with this source hash.

        Raises:
            LibraryError: The file cannot be written.
        """
        with self.changing() as entries:
            entries.drafts[name] = source

    def is_own_draft(self, name: str, source: str) -> bool:
        """Return True if alita wrote this source as a draft, and no tool of this name was ever approved."""
        try:
            entries = self._store.read()
        except (OSError, ValueError):
            return False
        return entries.drafts.get(name) == source and name not in entries.approvals

    def was_approved(self, name: str, now: ApprovedHashes) -> bool:
        """Return True if exactly this version of a tool is or was approved on this machine, and not quarantined."""
        return any(not one.quarantined and not one.differences(now) for one in self.all_of(name))

    def is_quarantined(self, name: str, source: str) -> bool:
        """Return True if the version with this source hash is in quarantine."""
        return any(one.source == source and one.quarantined for one in self.all_of(name))

    def quarantine(self, name: str, reason: str) -> None:
        """Withhold a tool until a person approves it again.

        Raises:
            LibraryError: The file cannot be written.
        """
        with self.changing() as entries:
            if isinstance(entry := entries.approvals.get(name), dict):
                entry["quarantined"] = entry.get("quarantined") or reason

    def all_of(self, name: str) -> list[ApprovedHashes]:
        """Return the approvals of all versions of a tool, present and old."""
        try:
            entry = self._store.read().approvals.get(name)
        except (OSError, ValueError):
            return []
        return [*_approvals({str(number): one for number, one in enumerate([entry, *_earlier(entry)])}).values()]

    def drop(self, name: str) -> None:
        """Delete the approval of a tool that was deleted."""
        if name in self.read().by_name:
            with self.changing() as entries:
                entries.approvals.pop(name, None)

    def entries(self) -> Entries:
        """Return the stored entries, for copying them to another machine.

        Raises:
            LibraryError: The entries cannot be read.
        """
        try:
            return self._store.read()
        except (OSError, ValueError) as error:
            raise LibraryError(f"the approvals in {self.path} cannot be read: {one_line(str(error), 200)}") from None

    @contextlib.contextmanager
    def changing(self) -> Iterator[Entries]:
        """Lock the entries and yield them for changes; see `ApprovalEntries`.

        Raises:
            LibraryError: The entries cannot be written.
        """
        remedy = "free some disk space, or make the file and its folder readable and writable"
        with write_errors(self.path, f"the approvals in {self.path}", remedy), self._store.changing() as entries:
            yield entries


_BEFORE = "before"
_EARLIER = "earlier"
"""Key of the approvals of older versions, newest first. A restored version is then approved again."""
_MAX_EARLIER = 50


def _before(entry: Any) -> Any:
    return entry.get(_BEFORE) if isinstance(entry, dict) else None


def _earlier(entry: Any) -> list[dict[str, Any]]:
    found = entry.get(_EARLIER) if isinstance(entry, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _approvals(entries: Mapping[str, Any]) -> dict[str, ApprovedHashes]:
    """Return the readable approvals in stored entries."""
    found = {}
    for name, entry in entries.items():
        values = (
            {key: value for key, value in entry.items() if key not in (_BEFORE, _EARLIER)}
            if isinstance(entry, dict)
            else None
        )
        if values is not None and all(isinstance(value, str) for value in values.values()):
            with contextlib.suppress(TypeError):
                found[name] = ApprovedHashes(**values)
    return found
