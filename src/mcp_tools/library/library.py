"""The library: tools in a folder, safe for several processes at once."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library import commit, files
from mcp_tools.library.approvals import Approval, Approvals
from mcp_tools.library.calls import Calls, Stats
from mcp_tools.library.files import Flaw
from mcp_tools.library.index import Index
from mcp_tools.library.names import free_name, valid_name
from mcp_tools.library.renaming import renamed
from mcp_tools.library.trust import SERVED, Verdict, Withheld, errors_of, flawed, judged, objection
from mcp_tools.tool import Tool

_LOCK_SECONDS = 30.0
_LOOK_AGAIN_SECONDS = 10.0
"""How long an edit inside a file may go unseen; new, replaced and deleted files are seen at once."""
_SETTLED_NS = 50_000_000
"""A folder changed so recently may change again within one tick of its clock."""
_MOST_CACHED = 4096
_MOST_KEPT = 2000
"""A pass over more tools than these keeps none of them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that a search found."""

    tool: Tool
    score: float
    """Higher is better; comparable within one search only."""


Tools = list[Tool]
Hits = list[Hit]
Flaws = list[Flaw]
AllWithheld = list[Withheld]


class Library:
    """The tools of one folder.

    Two files make a tool (`mcp_tools.library.files`). Everything else is kept in the folder's `.alita/`: the lock, the
    index, which may be deleted at any time, the counts of calls, and old versions of tools.

    Args:
        folder: Where the tools are. It is created with the first tool.
        approvals: The file that says what may be served; the folder's own `.alita/approvals.json` when not given. One
            outside the folder keeps a folder that somebody else made from bringing its own approvals.
    """

    def __init__(self, folder: Path, approvals: Path | None = None) -> None:
        self.folder = Path(folder)
        self.approvals = Approvals(self.folder, approvals)
        self._private = self.folder / ".alita"
        self._pending = self._private / "pending"
        self._versions = self._private / "versions"
        self._calls = Calls(self._private / "calls.sqlite")
        self._index: Index | None = None
        self._index_pid = 0
        self._is_absent = False
        """Whether there was no folder when the index was opened."""
        self._seen = -1
        self._look_again = 0.0
        self._cache: dict[str, tuple[str, Tool]] = {}
        self._verdicts: dict[str, tuple[str, Verdict]] = {}
        self._threads = threading.RLock()

    # Writing

    def register(self, tool: Tool, *, replace: bool = False) -> Tool:
        """Writes a tool, whole or not at all.

        The same source registered twice is one tool. Another source under a taken name gets the next free name, its
        function renamed with it; with `replace` it takes the place of the old tool, which is kept among the versions.

        Whoever registers a tool has proved it: that is its approval, unless its definition must not be served at all.

        Returns:
            The tool as it stands in the library.

        Raises:
            LibraryError: The name cannot name a tool, or the folder cannot be written; nothing has changed.
        """
        if not valid_name(tool.name):
            raise LibraryError(
                f"{tool.name!r} cannot name a tool",
                remedy="use snake_case: ^[a-z][a-z0-9_]{0,63}$, no keyword or builtin",
            )
        with self._writing():
            standing = files.read_tool(self.folder, tool.name)
            if replace:
                if standing is not None:
                    commit.keep_version(self.folder, self._versions, tool.name)
                tool = _succeeding(tool, standing)
            else:
                tool, standing = self._placed(tool)
                if isinstance(standing, Tool):
                    if _is_same(standing, tool):
                        self._vouch(standing)
                    return standing
            tool = _dated(tool)
            commit.write_pair(self.folder, self._pending, tool.name, tool.source.encode(), files.encoded(tool))
            commit.keep_version(self.folder, self._versions, tool.name)
            self._vouch(tool)
        return tool

    def _vouch(self, tool: Tool) -> None:
        """Approves what is being registered. Where that cannot be written it is withheld until somebody approves it."""
        if not errors_of(tool):
            with contextlib.suppress(LibraryError):
                self.approvals.put(tool.name, Approval.of(tool))

    def _placed(self, tool: Tool) -> tuple[Tool, Tool | Flaw | None]:
        """The tool under its first free name, and what already stands there: the same tool, or nothing whole."""
        taken: set[str] = set()
        while True:
            name = free_name(tool.name, taken)
            candidate = tool if name == tool.name else _renamed(tool, name)
            standing = files.read_tool(self.folder, name)
            if standing is None or (isinstance(standing, Tool) and standing.source_hash == candidate.source_hash):
                return candidate, standing
            if isinstance(standing, Flaw) and self._is_left_over(standing, candidate):
                return candidate, standing
            taken.add(name)

    def _is_left_over(self, standing: Flaw, candidate: Tool) -> bool:
        """Whether only the JSON file of the very same source is missing."""
        if standing.kind != "incomplete":
            return False
        path = files.source_path(self.folder, candidate.name)
        return path.is_file() and path.read_bytes() == candidate.source.encode()

    def delete(self, name: str) -> None:
        """Removes a tool, or what is left of one; its files are kept among the versions.

        Raises:
            UnknownToolError: There is nothing of that name.
            LibraryError: The folder cannot be written.
        """
        if not files.stamp(self.folder, name):
            raise self._unknown(name)
        with self._writing():
            commit.keep_version(self.folder, self._versions, name)
            files.object_path(self.folder, name).unlink(missing_ok=True)
            files.source_path(self.folder, name).unlink(missing_ok=True)
        with contextlib.suppress(LibraryError):  # hashes of a tool that is gone approve nothing else
            self.approvals.drop(name)

    # Approving

    def approve(self, name: str, *, seen: Tool | None = None) -> Tool:
        """Vouches for a tool as it stands, so that it is served.

        Args:
            name: The tool's.
            seen: The tool that was looked at; when given, only that very tool is approved.

        Raises:
            UnknownToolError: There is none.
            LibraryError: Its files are damaged, its definition has errors, its status keeps it from being served, it is
                another than the one seen, or the approvals cannot be written.
        """
        tool = self.get(name)
        if tool.status not in SERVED:
            raise LibraryError(
                f"{name} is {tool.status}: only verified and trusted tools are served",
                remedy=f"ask for it anew, or remove it: alita tools delete {name}",
            )
        if errors := errors_of(tool):
            listed = "\n".join(f"  {error}" for error in errors)
            raise LibraryError(f"the definition of {name} must not be served:\n{listed}", remedy="correct its files")
        if seen is not None and not _is_same(tool, seen):
            raise LibraryError(f"{name} was changed meanwhile", remedy=f"look again: alita tools approve {name}")
        with contextlib.suppress(LibraryError), self._writing():  # a folder that is only read has no versions
            commit.keep_version(self.folder, self._versions, name)
        self.approvals.put(name, Approval.of(tool))
        return tool

    def served(self) -> Tools:
        """The tools that clients get: verified or trusted, approved as they stand, with a clean definition.

        Each holds in `source` the very text whose hash was approved: run that, never the file.
        """
        return [*self.each_served()]

    def each_served(self) -> Iterator[Tool]:
        """The tools of `served`, one after the other: a large library need not be in memory at once."""
        found = self.approvals.read()
        names = self._asked(lambda index: index.names())
        for name in names:
            stamp, tool = self._stamped(name, keep=len(names) <= _MOST_KEPT)
            if isinstance(tool, Tool) and objection(name, self._verdict(tool, stamp), found) is None:
                yield tool

    def withheld(self) -> AllWithheld:
        """Everything in the folder that clients do not get, by name, with the reason and the remedy."""
        found = self.approvals.read()
        all_withheld = {flaw.name: flawed(flaw) for flaw in self.flaws()}
        names = self._asked(lambda index: index.names())
        for name in names:
            stamp, standing = self._stamped(name, keep=len(names) <= _MOST_KEPT)
            if isinstance(standing, Flaw):  # edited in place since it was indexed
                all_withheld[name] = flawed(standing)
            elif standing and (withheld := objection(name, self._verdict(standing, stamp), found)):
                all_withheld[name] = withheld
        return [all_withheld[name] for name in sorted(all_withheld)]

    def _verdict(self, tool: Tool, stamp: str) -> Verdict:
        """The verdict on a tool whose files had that stamp before and after they were read; empty if they had not."""
        known = self._verdicts.get(tool.name)
        if known is not None and stamp and known[0] == stamp:
            return known[1]
        verdict = judged(tool)
        if stamp:
            self._verdicts[tool.name] = (stamp, verdict)
        return verdict

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Holds the lock of the folder between processes, with nothing half-written left."""
        from filelock import FileLock, Timeout

        try:
            self._require_own()
            self._private.mkdir(parents=True, exist_ok=True)
            with FileLock(self._private / "lock", timeout=_LOCK_SECONDS):
                commit.settle(self.folder, self._pending)
                yield
        except Timeout as error:
            raise LibraryError(
                f"another process has held the lock of {self.folder} for {_LOCK_SECONDS:.0f} seconds",
                remedy="end that process, or try again",
            ) from error
        except OSError as error:
            raise LibraryError(
                f"the tool library {self.folder} cannot be written: {error.strerror or error}",
                remedy="make space or make the folder writable, or choose another with --tools-dir",
            ) from error
        except ValueError as error:
            raise LibraryError(str(error)) from error

    def _require_own(self) -> None:
        """A library that came from elsewhere must not lead our writing out of its folder.

        Raises:
            OSError: Something of its private folder is a link.
        """
        for path in (
            self._private,
            *(self._private / name for name in ("lock", "pending", "versions", "index.sqlite")),
        ):
            if path.is_symlink():
                raise OSError(errno.ELOOP, f"{path} is a link")

    # Reading

    def path(self, name: str) -> Path:
        """The source file of a tool, whether or not it is there."""
        return files.source_path(self.folder, name)

    def get(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            UnknownToolError: There is none; the nearest names are told.
            LibraryError: Its files are damaged, or were changed since they were checked.
        """
        found = self._tool(name) if valid_name(name) else None
        if found is None:
            raise self._unknown(name)
        if isinstance(found, Flaw):
            raise LibraryError(found.message, remedy=found.remedy)
        return found

    def standing(self, name: str) -> Tool | Flaw:
        """What stands under a name: a tool, or what is wrong with its files.

        Raises:
            UnknownToolError: Nothing does.
        """
        found = self._tool(name)
        if found is None:
            raise self._unknown(name)
        return found

    def kept(self, name: str, source_hash: str) -> Tool | None:
        """An old version of a tool, if it was kept whole."""
        files_kept = commit.kept_version(self._versions, name, source_hash)
        version = files.parsed(name, *files_kept) if files_kept else None
        return version if isinstance(version, Tool) else None

    def list(self) -> Tools:
        """All tools that have no flaw, by name."""
        names = self._asked(lambda index: index.names())
        return [tool for name in names if isinstance(tool := self._tool(name), Tool)]

    def flaws(self) -> Flaws:
        """What stands in the folder and is no tool, with its remedy."""
        return self._asked(lambda index: index.flaws())

    def search(self, query: str, limit: int = 5) -> Hits:
        """The tools whose words fit a question or a purpose best. Quarantined and retired tools are left out."""
        for _ in range(2):
            found = self._asked(lambda index: index.search(query, limit))
            tools = [(self._tool(match.name), match.score) for match in found]
            if all(isinstance(tool, Tool) for tool, _ in tools):
                break
            self._seen = -1  # a file was edited in place since it was indexed
        return [Hit(tool, score) for tool, score in tools if isinstance(tool, Tool)]

    def _tool(self, name: str) -> Tool | Flaw | None:
        return self._stamped(name)[1]

    def _stamped(self, name: str, *, keep: bool = True) -> tuple[str, Tool | Flaw | None]:
        """What stands under a name, and the stamp of its files; empty when they changed while they were read.

        A pass over a large library keeps no tool: they would be most of a server's memory.
        """
        stamp = files.stamp(self.folder, name)
        cached = self._cache.get(name)
        if cached and cached[0] == stamp:
            return stamp, cached[1]
        found = self._read(name)
        if not isinstance(found, Tool) or stamp != files.stamp(self.folder, name):
            return "", found
        if keep:
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[name] = (stamp, found)
        return stamp, found

    def _read(self, name: str) -> Tool | Flaw | None:
        """Reads a tool. What looks half-written is read again under the lock, when no write is under way."""
        found = files.read_tool(self.folder, name)
        if isinstance(found, Flaw) and found.kind in {"changed", "incomplete"}:
            with contextlib.suppress(LibraryError), self._writing():
                found = files.read_tool(self.folder, name)
        return found

    def _unknown(self, name: str) -> UnknownToolError:
        near = difflib.get_close_matches(name, self._asked(lambda index: index.names()), n=3)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        return UnknownToolError(f"no tool {name!r} in {self.folder}", remedy=f"{hint}`alita tools list` shows all")

    # Counting

    def record_call(self, name: str, ok: bool, kind: str | None = None) -> None:
        """Counts one call: a success, or a failure of a kind. Where nothing can be written nothing is counted."""
        self._calls.record(name, ok, kind)

    def stats(self, name: str) -> Stats:
        """How the calls of a tool went."""
        return self._calls.stats(name)

    # The index

    def close(self) -> None:
        """Closes the index and the counts. The library may be used again after."""
        with self._threads:
            if self._index is not None and self._index_pid == os.getpid():
                self._index.close()
            self._index, self._seen = None, -1
        self._calls.close()

    def _asked(self, ask: Callable[[Index], T]) -> T:
        """Asks an index that says what the files say. Damage is answered by building it anew, then in memory."""
        with self._threads:
            try:
                return ask(self._current())
            except sqlite3.Error:
                self._seen = -1
            try:
                self._opened().rebuild()
                return ask(self._current())
            except sqlite3.Error:
                self._index, self._seen = Index(None), -1
                return ask(self._current())

    def _opened(self) -> Index:
        arrived = self._is_absent and self.folder.is_dir()
        if self._index is None or self._index_pid != os.getpid() or arrived:
            self._is_absent = not self.folder.is_dir()
            self._index, self._index_pid, self._seen = Index(self._index_path()), os.getpid(), -1
        return self._index

    def _index_path(self) -> Path | None:
        """The index's file; None where nothing can be written, or where there is no library yet."""
        if not self.folder.is_dir():
            return None
        try:
            self._require_own()
            self._private.mkdir(exist_ok=True)
        except OSError:
            return None
        return self._private / "index.sqlite" if os.access(self._private, os.W_OK) else None

    def _current(self) -> Index:
        index = self._opened()
        try:
            changed = self.folder.stat().st_mtime_ns
        except OSError:
            changed = 0
        if changed == self._seen and time.monotonic() < self._look_again:
            return index
        try:
            if self._pending.is_dir() and any(self._pending.iterdir()):
                with contextlib.suppress(LibraryError), self._writing():
                    pass  # a writer was killed: taking the lock settles what it left
            index.refresh(files.stamps(self.folder), self._read)
        except OSError as error:
            raise LibraryError(
                f"the tool library {self.folder} cannot be read: {error.strerror or error}",
                remedy="make the folder readable, or choose another with --tools-dir",
            ) from error
        self._look_again = time.monotonic() + _LOOK_AGAIN_SECONDS
        self._seen = changed if time.time_ns() - changed > _SETTLED_NS else -1
        return index


def _succeeding(tool: Tool, standing: Tool | Flaw | None) -> Tool:
    """The tool with the version it replaces in its provenance."""
    if not isinstance(standing, Tool) or standing.source_hash == tool.source_hash:
        return tool
    return dataclasses.replace(tool, provenance={**tool.provenance, "parent_version": standing.source_hash})


def _is_same(one: Tool, other: Tool) -> bool:
    """Whether approving one approves the other."""
    return not errors_of(one) and not errors_of(other) and not Approval.of(one).differences(Approval.of(other))


def _renamed(tool: Tool, name: str) -> Tool:
    provenance = {**tool.provenance, "wanted_name": tool.name}
    return dataclasses.replace(tool, name=name, source=renamed(tool.source, tool.name, name), provenance=provenance)


def _dated(tool: Tool) -> Tool:
    created = tool.provenance.get("created") or datetime.now(UTC).isoformat(timespec="seconds")
    return dataclasses.replace(tool, provenance={**tool.provenance, "created": created})
