"""Proposals from clients: the client's examples as tests, and the rules for adding its tool to the library."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_tools.definition import definition_of, lint, reads_like_orders
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.tool_files import renamed
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.serving.client_call import ClientCall
from mcp_tools.text import one_line
from mcp_tools.tool import ALIASES, Capabilities, Json, Status, Tool

if TYPE_CHECKING:
    from mcp_tools.create.interfaces import Proposal, Test
    from mcp_tools.library.library import Library
    from mcp_tools.library.reader import Offer

CLIENT = "client "
"""Prefix of the client's name in the `examiner` field of a tool's record."""
_MIN_RESULTS = 2
_MAX_EXAMPLE_BYTES = 100_000
"""Limit on the total size of the examples, because they are stored in the tool's file."""
_NOT_A_NAME = re.compile(r"[^\w .@/+-]+", re.ASCII)


class ClientExaminer:
    """Examiner that uses the client's own examples as tests. There is no independent examiner."""

    def __init__(self, name: str, tests: Sequence[Test]) -> None:
        self.name = name
        self._tests = tests

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test] | str:
        """Return the client's examples."""
        return [*self._tests]

    def unread(self, definition: str) -> list[str]:
        """Return nothing, because all examples can be read."""
        return []

    def reference(self, definition: str) -> str:
        """Return nothing, because clients supply no reference implementation."""
        return ""

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """Keep the client's examples and drop other disputed tests, because there is no examiner to ask."""
        return [test if test.origin == "client" else None for test in disputed]


class ProposalStore:
    """The library as seen by a proof. It adds a tool if the user's settings allow it, or else keeps it as a draft."""

    def __init__(
        self,
        catalogue: Catalogue,
        approval: str,
        who: str,
        name: str,
        ask_to_keep: Callable[[Tool], Awaitable[bool | None]],
    ) -> None:
        self.kept: Tool | None = None
        self.is_draft = False
        self.why = ""
        self.kept_apart = ""
        """The reason why the tool does not replace an existing one."""
        self._catalogue = catalogue
        self._library = catalogue.library
        self._approval = approval
        self._who = who
        self._name = name
        self._ask_to_keep = ask_to_keep

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """Return tools that fit a text."""
        return self._library.offered(question, most=most, small=small)

    async def get(self, name: str) -> Tool:
        """Return the tool with this name."""
        return self._library.get(name)

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Return the tool unchanged, because a client cannot rename approved tools."""
        return tool

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Add a tool. It stays a draft if its tests are weak or the user has not approved it.

        Raises:
            RefusedToolError: The user refused the tool.
            LibraryError: The tool's texts contain more than a description, or the library cannot be written.
        """
        from mcp_tools.create.interfaces import RefusedToolError

        if self._catalogue.is_reserved(tool.name):
            raise LibraryError(f"{tool.name} is the name of a built-in tool: choose another name")
        if flags := lint(definition_of(tool)):  # because other models will read these texts
            listed = "; ".join(f"{one.where}: {one.message} ({one.rule})" for one in flags[:5])
            raise LibraryError(f"its texts must only describe what the tool does: {listed}")
        if is_draft:
            self.why = "its tests catch too few deliberate bugs"
        elif self._approval == "ask":
            reply = await self._ask_to_keep(tool)
            if reply is False:
                raise RefusedToolError("the user does not want this tool: do not propose it again")
            is_draft, self.why = reply is None, "the setting `approval` is `ask`, but nobody could be asked"
        if replaces is not None and (is_draft or not is_replaceable(self._library, replaces)):
            reason = "is not a draft" if is_draft else "was not tested by a client alone"
            self.kept_apart = f"{replaces.name} was not replaced, because it {reason}."
            tool, replaces = self._with_proposed_name(tool), None
        replaces = replaces or self._own_draft(tool.name)
        register = self._library.register
        self.kept = await asyncio.to_thread(
            register, tool, replace=replaces is not None, instead_of=replaces, is_draft=is_draft
        )
        self.is_draft = is_draft
        return self.kept

    def _with_proposed_name(self, tool: Tool) -> Tool:
        """Restore the client's name for a tool that was renamed to replace another one."""
        record = {name: value for name, value in tool.provenance.items() if name not in (ALIASES, "parent_version")}
        source = renamed(tool.source, tool.name, self._name)
        return replace(tool, name=self._name, source=source, provenance=record)

    def _own_draft(self, name: str) -> Tool | None:
        """Return the draft with this name if the same client proposed it, so that a new version replaces it."""
        try:
            existing = self._library.get(name)
        except (UnknownToolError, LibraryError):
            return None
        is_own = existing.name == name and existing.provenance.get("examiner") == self._who
        return existing if is_own and existing.status is not Status.VERIFIED else None


def is_replaceable(library: Library, tool: Tool) -> bool:
    """Return True if only a client tested the tool and no person approved it."""
    approval = library.approvals.read().by_name.get(tool.name)
    is_from_client = str(tool.provenance.get("examiner", "")).startswith(CLIENT)
    return is_from_client and approval is not None and not approval.person


def client_may_replace(library: Library, name: str) -> bool:
    """Return True if there is a tool with this name that a client may replace."""
    try:
        return is_replaceable(library, library.get(name))
    except (UnknownToolError, LibraryError):
        return False


def client_name(call: ClientCall) -> str:
    """Return the client's name for the record, limited to safe characters because the client chose it."""
    client = call.context.session.client_params
    name = one_line(_NOT_A_NAME.sub("", client.client_info.name if client else ""), 60).strip()
    return f"{CLIENT}{'without a name' if not name or reads_like_orders(name) else name}"


def proposed_name(code: str, name: str) -> str:
    """Return the name of a proposed tool: `name` if given, otherwise the first public function in the code."""
    found = re.search(r"(?m)^def ([a-z]\w*)", code)
    return name or (found[1] if found else "")


def extract_function(code: str, name: str) -> str:
    """If a module has several public functions, return only this function, the code that it uses, and the header."""
    from mcp_tools.checks.header import declared, with_declared
    from mcp_tools.exchange.modules import functions_of

    part = dict(functions_of(code, name)).get(name) if name else None
    if not part or part == code:
        return code
    may = asdict(declared(code))
    own = {key: [*value] if isinstance(value, tuple) else value for key, value in may.items() if key != "packages"}
    return with_declared(part, may["packages"], **own)


def docstring_examples(code: str, name: str) -> list[dict[str, Json]]:
    """Return the `>>>` examples in a function's docstring, except those that check only part of a result."""
    from mcp_tools.create.documented_function import read_function

    try:
        function = read_function(code, name, Capabilities())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    tests = function.examples if function is not None else ()
    return [
        {"arguments": one.arguments, **({"raises": True} if one.raises else {"result": one.expected})}
        for one in tests
        if not one.part and not one.files
    ]


def tests_of(examples: list[dict[str, Json]]) -> tuple[list[Test], list[str]]:
    """Convert examples to tests. Return the tests and the problems found."""
    from mcp_tools.create.interfaces import Test

    tests, problems, known = [], list[str](), dict[str, Json]()
    for number, one in enumerate(examples):
        raises, expected = bool(one.get("raises", False)), one.get("result")
        key = json.dumps(one["arguments"], sort_keys=True)
        if raises == ("result" in one):
            problems.append(f"examples[{number}]: give either `result` or `raises: true`")
        elif known.setdefault(key, [raises, expected]) != [raises, expected]:
            problems.append(f"examples[{number}]: another example has the same arguments but a different result")
        tests.append(Test(one["arguments"], expected, "client", raises=raises, because="the client's example"))
    if (size := len(json.dumps(examples))) > _MAX_EXAMPLE_BYTES:
        problems.append(f"the examples have {size:,} bytes; the limit is {_MAX_EXAMPLE_BYTES:,}")
    if len({key for key, (raises, _) in known.items() if not raises}) < _MIN_RESULTS:
        problems.append(f"give at least {_MIN_RESULTS} examples with a `result` and different arguments")
    return tests, problems


def unsupported_capabilities(proposal: Proposal) -> list[str]:
    """Return a problem for each declared capability that proposals must not have."""
    may = proposal.capabilities
    problems = []
    if may.hosts or may.keys:
        hosts = ", ".join((*may.hosts, *may.keys))
        problems.append(
            f"the code declares {hosts}, but proposed tools cannot reach hosts: take the response as an argument"
        )
    if may.read:
        problems.append(
            "the code declares `read`, but proposed tools cannot read files: take the content as an argument"
        )
    return problems
