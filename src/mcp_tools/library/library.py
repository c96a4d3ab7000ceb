"""The library: tools in a folder, safe for several processes at once."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library import commit, tool_files
from mcp_tools.library.approvals import Approval, Approvals
from mcp_tools.library.calls import Calls, Stats
from mcp_tools.library.commit import writing
from mcp_tools.library.current import CurrentIndex
from mcp_tools.library.folder import read, require_own_place
from mcp_tools.library.tool_files import Flaw, free_name, renamed, valid_name
from mcp_tools.library.trust import SERVED, Served, Standing, Withheld, errors_of
from mcp_tools.tool import Tool


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

    Two files make a tool (see `mcp_tools.library.tool_files`). Everything else is kept in the folder's `.alita/`: the
    lock, the index, which may be deleted at any time, the counts of calls, and old versions of tools.

    Args:
        folder: Where the tools are. It is created with the first tool.
        approvals: The file that says what may be served; the folder's own `.alita/approvals.json` when not given. One
            outside the folder keeps a folder that somebody else made from bringing its own approvals.

    Raises:
        LibraryError: The folder is a link that leads out of the folder in which it stands.
    """

    def __init__(self, folder: Path, approvals: Path | None = None) -> None:
        self.folder = Path(folder)
        require_own_place(self.folder)
        self.approvals = Approvals(self.folder, approvals)
        self._calls = Calls(self.folder)
        self._standing = Standing(self.folder)
        self._index = CurrentIndex(self.folder, self._standing.read)
        self._served = Served(self.approvals, self._index, self._standing)

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
        with writing(self.folder):
            standing = tool_files.read_tool(self.folder, tool.name)
            if replace:
                if standing is not None:
                    commit.keep_version(self.folder, tool.name)
                tool = _succeeding(tool, standing)
            else:
                tool, standing = self._placed(tool)
                if isinstance(standing, Tool):
                    if _is_same(standing, tool):
                        self._vouch(standing)
                    return standing
            tool = _dated(tool)
            commit.write_pair(self.folder, tool.name, tool.source.encode(), tool_files.encoded(tool))
            commit.keep_version(self.folder, tool.name)
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
            standing = tool_files.read_tool(self.folder, name)
            if standing is None or (isinstance(standing, Tool) and standing.source_hash == candidate.source_hash):
                return candidate, standing
            if isinstance(standing, Flaw) and self._is_left_over(standing, candidate):
                return candidate, standing
            taken.add(name)

    def _is_left_over(self, standing: Flaw, candidate: Tool) -> bool:
        """Whether only the JSON file of the very same source is missing."""
        if standing.kind != "incomplete":
            return False
        try:
            return read(tool_files.source_path(self.folder, candidate.name)) == candidate.source.encode()
        except OSError:
            return False

    def delete(self, name: str) -> None:
        """Removes a tool, or what is left of one; its files are kept among the versions.

        Raises:
            UnknownToolError: There is nothing of that name.
            LibraryError: The folder cannot be written.
        """
        if not tool_files.stamp(self.folder, self._named(name)):
            raise self._unknown(name)
        with writing(self.folder):
            commit.keep_version(self.folder, name)
            commit.remove_pair(self.folder, name)
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
        tool = self._whole(name)[1]
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
        with contextlib.suppress(LibraryError), writing(self.folder):  # a folder that is only read has no versions
            commit.keep_version(self.folder, name)
        self.approvals.put(name, Approval.of(tool))
        return tool

    def served(self) -> Tools:
        """The tools that clients get: verified or trusted, approved as they stand, with a clean definition.

        Each holds in `source` the very text whose hash was approved: run that, never the file.
        """
        return [*self.each_served()]

    def each_served(self) -> Iterator[Tool]:
        """The tools of `served`, one after the other: a large library need not be in memory at once."""
        return self._served.each()

    def withheld(self) -> AllWithheld:
        """Everything in the folder that clients do not get, by name, with the reason and the remedy."""
        return self._served.withheld()

    # Reading

    def path(self, name: str) -> Path:
        """The source file of a tool, whether or not it is there.

        Raises:
            UnknownToolError: No tool can have that name.
        """
        return tool_files.source_path(self.folder, self._named(name))

    def source(self, name: str) -> bytes:
        """What is in the source file of a tool, or of what is left of one.

        Raises:
            UnknownToolError: No tool can have that name, or there is no such file.
            LibraryError: It cannot be read.
        """
        try:
            return read(self.path(name))
        except FileNotFoundError:
            raise self._unknown(name) from None
        except OSError as error:
            raise LibraryError(f"{name}.py cannot be read: {error.strerror}") from None

    def get(self, name: str) -> Tool:
        """The tool of that name; a draft, whatever its file claims, until it is approved here.

        Raises:
            UnknownToolError: There is none; the nearest names are told.
            LibraryError: Its files are damaged, or were changed since they were checked.
        """
        stamp, tool = self._whole(name)
        return self._served.believed(tool, stamp)

    def _whole(self, name: str) -> tuple[str, Tool]:
        """The stamp of a tool's files, and the tool as they have it."""
        stamp, found = self._standing.stamped(self._named(name))
        if found is None:
            raise self._unknown(name)
        if isinstance(found, Flaw):
            raise LibraryError(found.message, remedy=found.remedy)
        return stamp, found

    def standing(self, name: str) -> Tool | Flaw:
        """What stands under a name, as the files have it: a tool, or what is wrong with them.

        Raises:
            UnknownToolError: Nothing does.
        """
        found = self._standing.of(self._named(name))
        if found is None:
            raise self._unknown(name)
        return found

    def kept(self, name: str, source_hash: str) -> Tool | None:
        """An old version of a tool, if it was kept whole."""
        files_kept = commit.kept_version(self.folder, self._named(name), source_hash)
        version = tool_files.parsed(name, *files_kept) if files_kept else None
        return version if isinstance(version, Tool) else None

    def list(self) -> Tools:
        """All tools that have no flaw, by name; those that are not approved here as drafts."""
        return [tool for name in self._index.names() if (tool := self._listed(name)) is not None]

    def _listed(self, name: str) -> Tool | None:
        stamp, found = self._standing.stamped(name)
        return self._served.believed(found, stamp) if isinstance(found, Tool) else None

    def flaws(self) -> Flaws:
        """What stands in the folder and is no tool, with its remedy."""
        return self._index.asked(lambda index: index.flaws())

    def search(self, query: str, limit: int = 5) -> Hits:
        """The tools whose words fit a question or a purpose best, those that are not approved here as drafts.

        Quarantined and retired tools are left out.
        """
        for _ in range(2):
            found = self._index.asked(lambda index: index.search(query, limit))
            tools = [(self._listed(match.name), match.score) for match in found]
            if all(tool is not None for tool, _ in tools):
                break
            self._index.look_again()
        return [Hit(tool, score) for tool, score in tools if tool is not None]

    def _named(self, name: str) -> str:
        """The name, which every verb that makes a path of it takes from here.

        Raises:
            UnknownToolError: No tool can have it.
        """
        if not valid_name(name):
            raise self._unknown(name)
        return name

    def _unknown(self, name: str) -> UnknownToolError:
        near = difflib.get_close_matches(name, self._index.names(), n=3)
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
        self._index.close()
        self._calls.close()


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
