"""Approvals: which source and definition of a tool somebody approved, and whether it may be served.

The hashes are in one JSON file, which several libraries and processes may share, or where the caller keeps them for
several machines. A damaged file approves nothing: the damage is told, and the next approval puts the file aside.
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

from mcp_tools.definition import Flag, canonical, definition_hash, definition_of, lint
from mcp_tools.errors import LibraryError
from mcp_tools.json_file import JsonFile
from mcp_tools.library.folder import told
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities, Status, Tool


class _Content(BaseModel):
    version: Literal[1]
    libraries: dict[str, Any]
    """By the path of each one's folder: what it holds of each tool."""
    drafts: dict[str, Any] = {}
    """By the same path: the drafts that alita itself wrote."""


@dataclass(frozen=True, slots=True)
class ApprovedHashes:
    """What of a tool was vouched for."""

    source: str
    definition: str
    capabilities: str
    """SHA-256 of what it may touch, which the definition does not tell in full."""
    approved: str = ""
    record: str = ""
    """SHA-256 of what it says of its origin, which answers questions of its form; empty in earlier approvals."""
    quarantined: str = ""
    """Why it is not served although it was approved: its calls went wrong. A new approval ends that."""
    person: str = ""
    """`yes` if a person approved it, and not its proof alone."""

    @classmethod
    def of(cls, tool: Tool) -> ApprovedHashes:
        """The approval of a tool as it is now."""
        others = {name: value for name, value in tool.provenance.items() if name != "capabilities"}
        record = hashlib.sha256(canonical(others)).hexdigest()
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(tool.source_hash, definition_hash(tool), _hash_of(tool.capabilities), moment, record)

    def differences(self, now: ApprovedHashes) -> list[str]:
        """What is not as it was approved: `source`, `definition`, `capabilities`, or else `record`."""
        changed = [
            part for part in ("source", "definition", "capabilities") if getattr(self, part) != getattr(now, part)
        ]
        return changed or (["record"] if self.record != now.record else [])


_ALWAYS_HASHED = frozenset({"read", "hosts", "packages"})


@functools.lru_cache(maxsize=256)
def _hash_of(capabilities: Capabilities) -> str:
    """What is not declared is not in it, so that a capability that is new to alita changes no approval."""
    declared = {
        field.name: value
        for field in fields(capabilities)
        if (value := getattr(capabilities, field.name)) != field.default or field.name in _ALWAYS_HASHED
    }
    return hashlib.sha256(canonical(declared)).hexdigest()


def errors_of(tool: Tool) -> tuple[Flag, ...]:
    """What of a tool's definition must not be served."""
    return tuple(lint(definition_of(tool), warnings=False))


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that clients do not get."""

    name: str
    reason: str
    remedy: str
    is_approvable: bool = True
    """Whether somebody may approve it with others, once it is as it should be; a draft is not for that."""


@dataclass(frozen=True, slots=True)
class Found:
    """The approvals of one library as the file holds them."""

    by_name: Mapping[str, ApprovedHashes] = field(default_factory=dict)
    before: Mapping[str, ApprovedHashes] = field(default_factory=dict)
    """The approvals of tools that are being replaced: the old files may still be in place."""
    damage: str = ""
    """Why the file cannot be believed; then nothing is approved."""

    def approves(self, tool: Tool, now: ApprovedHashes) -> bool:
        """Whether a tool is served: nothing with an error is ever approved."""
        approved = (self.by_name.get(tool.name), self.before.get(tool.name))
        return tool.status is Status.VERIFIED and any(
            one and not one.quarantined and not one.differences(now) for one in approved
        )

    def objection(self, tool: Tool, now: ApprovedHashes) -> Withheld:
        """Why a tool is not served."""
        name = tool.name
        if tool.status is not Status.VERIFIED:
            remedy = f"ask for it again, or remove it: alita tools delete {name}"
            return Withheld(name, f"it is {tool.status}", remedy, is_approvable=False)
        if errors := errors_of(tool):
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            reason = f"its definition breaks the rule {errors[0].rule}: {errors[0].where}: {errors[0].message}{more}"
            return Withheld(name, reason, f"correct {name}.json and {name}.py, then: alita tools approve {name}")
        if self.damage:
            return Withheld(name, f"nothing counts as approved: {self.damage}", "alita tools approve --all")
        if (approved := self.by_name.get(name)) is None:
            return Withheld(name, "it was never approved here", f"alita tools approve {name} (or --all)")
        if approved.quarantined and not approved.differences(now):
            reason = f"it is quarantined: {approved.quarantined}"
            return Withheld(name, reason, f"alita tools review {name}", is_approvable=False)
        changed = " and ".join(approved.differences(now))
        reason = f"its {changed} changed since it was approved on {approved.approved[:10]}"
        return Withheld(name, reason, f"alita tools approve {name}")


class Entries(NamedTuple):
    """What is kept of the tools of one library, by their names."""

    approvals: dict[str, Any]
    """The approval of each tool, with the approvals of its older versions."""
    drafts: dict[str, Any]
    """The hash of each draft's source, if alita itself wrote the draft."""


class ApprovalEntries(Protocol):
    """Where the approvals of one library are kept, and which of its drafts alita wrote."""

    path: Path
    """The file, or what messages call it instead."""
    waits: bool
    """True if they are on another machine, so that each look at them takes a while."""

    def stamp(self) -> tuple[int, ...]:
        """Return what changes with the entries; empty if there never were any.

        Raises:
            OSError: They are on another machine, which cannot be reached.
        """
        ...

    def read(self) -> Entries:
        """Return the entries.

        Raises:
            OSError: They cannot be read.
            ValueError: They are damaged.
        """
        ...

    def changing(self) -> AbstractContextManager[Entries]:
        """The entries, to be changed by nobody else meanwhile. They are written when the block ends well.

        Raises:
            OSError: They cannot be written.
        """
        ...


class ApprovalsFile:
    """The entries of one library in a file that several libraries share."""

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
        """See `ApprovalEntries`. A damaged file is put aside."""
        with self._file.changing() as content:
            yield self._entries(content)

    def _entries(self, content: _Content) -> Entries:
        """This library's own part of the file: what is odd in it is no reason to give up the parts of others."""
        for part in (content.libraries, content.drafts):
            if not isinstance(part.get(self._key), dict):
                part[self._key] = {}
        return Entries(content.libraries[self._key], content.drafts[self._key])


class Approvals:
    """The approvals of one library."""

    def __init__(self, entries: ApprovalEntries) -> None:
        self.path = entries.path
        self._kept = entries
        self._seen: tuple[object, Found] | None = None

    def stamp(self) -> tuple[int, ...]:
        """What changes with the approvals; empty where there are none.

        Raises:
            OSError: See `ApprovalEntries`.
        """
        return self._kept.stamp()

    @property
    def waits(self) -> bool:
        """True if a look at them takes a while."""
        return self._kept.waits

    def read(self) -> Found:
        """What is approved now."""
        try:
            stamp = self.stamp()
            if self._seen is not None and self._seen[0] == stamp:
                return self._seen[1]
            entries = self._kept.read().approvals
            before = {name: _before(entry) for name, entry in entries.items()}
            found = Found(_approvals(entries), _approvals(before))
        except OSError as error:
            return Found(damage=f"{self.path} cannot be read: {error.strerror or error}")
        except ValueError as error:
            found = Found(damage=f"{self.path} is damaged: {one_line(str(error), 200)}")
        self._seen = (stamp, found)
        return found

    def put(self, name: str, approval: ApprovedHashes, *, before: ApprovedHashes | None = None) -> None:
        """Keeps an approval in the place of an older one, which holds too while it is `before`.

        Raises:
            LibraryError: The file cannot be written.
        """
        with self.changing() as entries:
            known, hashes = entries.approvals.get(name), asdict(approval)
            earlier = _earlier(known)
            for one in [known, *earlier]:  # the same version, registered or restored
                if isinstance(one, dict) and one.get("source") == approval.source and one.get("person"):
                    hashes["person"] = "yes"
            if isinstance(known, dict):
                last = {key: value for key, value in known.items() if key not in (_BEFORE, _EARLIER)}
                earlier = [last, *(one for one in earlier if one != last)]
            earlier = [one for one in earlier if one.get("source") != approval.source][:_MOST_EARLIER]
            hashes = {name: value for name, value in hashes.items() if value or name != "person"}
            older = {_BEFORE: asdict(before)} if before else {}
            entries.approvals[name] = hashes | older | ({_EARLIER: earlier} if earlier else {})

    def put_draft(self, name: str, source: str) -> None:
        """Remembers that alita itself wrote the draft whose source has this hash.

        Raises:
            LibraryError: The file cannot be written.
        """
        with self.changing() as entries:
            entries.drafts[name] = source

    def is_own_draft(self, name: str, source: str) -> bool:
        """Whether alita itself wrote this source, and nobody ever approved a tool of this name."""
        try:
            entries = self._kept.read()
        except (OSError, ValueError):
            return False
        return entries.drafts.get(name) == source and name not in entries.approvals

    def was_approved(self, name: str, now: ApprovedHashes) -> bool:
        """Whether this very version of a tool is, or was, approved on this machine, and not quarantined."""
        return any(not one.quarantined and not one.differences(now) for one in self._all_of(name))

    def is_quarantined(self, name: str, source: str) -> bool:
        """Whether the version whose source has this hash is in quarantine."""
        return any(one.source == source and one.quarantined for one in self._all_of(name))

    def quarantine(self, name: str, reason: str) -> None:
        """Withhold a tool until somebody approves it again.

        Raises:
            LibraryError: The file cannot be written.
        """
        with self.changing() as entries:
            if isinstance(entry := entries.approvals.get(name), dict):
                entry["quarantined"] = entry.get("quarantined") or reason

    def _all_of(self, name: str) -> list[ApprovedHashes]:
        """The approvals of all versions of a tool, as the file has them now."""
        try:
            entry = self._kept.read().approvals.get(name)
        except (OSError, ValueError):
            return []
        return [*_approvals({str(number): one for number, one in enumerate([entry, *_earlier(entry)])}).values()]

    def drop(self, name: str) -> None:
        """Forgets the approval of a tool that is gone."""
        if name in self.read().by_name:
            with self.changing() as entries:
                entries.approvals.pop(name, None)

    def entries(self) -> Entries:
        """Return the entries as they are kept, to be copied elsewhere.

        Raises:
            LibraryError: They cannot be read.
        """
        try:
            return self._kept.read()
        except (OSError, ValueError) as error:
            raise LibraryError(f"the approvals in {self.path} cannot be read: {one_line(str(error), 200)}") from None

    @contextlib.contextmanager
    def changing(self) -> Iterator[Entries]:
        """The entries, to be changed.

        Raises:
            LibraryError: They cannot be written.
        """
        remedy = "make space, or make the file and its folder readable and writable"
        with told(self.path, f"the approvals in {self.path}", remedy), self._kept.changing() as entries:
            yield entries


_BEFORE = "before"
_EARLIER = "earlier"
"""The approvals of older versions of a tool, newest first: what is restored needs no new one."""
_MOST_EARLIER = 50


def _before(entry: Any) -> Any:
    return entry.get(_BEFORE) if isinstance(entry, dict) else None


def _earlier(entry: Any) -> list[dict[str, Any]]:
    found = entry.get(_EARLIER) if isinstance(entry, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _approvals(entries: Mapping[str, Any]) -> dict[str, ApprovedHashes]:
    """The approvals that entries hold; odd ones are left out."""
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
