"""A client's code on its way into the library: its examples are the tests, and the user's setting decides."""

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
"""Before the name of a client, where a record names the examiner of a tool."""
_FEWEST_RESULTS = 2
_MOST_BYTES = 100_000
"""The most that all examples together may have: the tool's file keeps them."""
_NOT_A_NAME = re.compile(r"[^\w .@/+-]+", re.ASCII)


class ClientExaminer:
    """The client's examples in place of an examiner's tests: it knows the code, and nobody else judges it."""

    def __init__(self, name: str, tests: Sequence[Test]) -> None:
        self.name = name
        self._tests = tests

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test] | str:
        """The examples."""
        return [*self._tests]

    def unread(self, definition: str) -> list[str]:
        """None: examples have one form."""
        return []

    def reference(self, definition: str) -> str:
        """None: a client gives no slow version."""
        return ""

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """Keep the client's examples unchanged; drop other tests, since nobody can decide about them."""
        return [test if test.origin == "client" else None for test in disputed]


class ProposalStore:
    """The library, to which a proof adds what the user's setting lets it add; the rest becomes a draft."""

    def __init__(
        self,
        catalogue: Catalogue,
        approval: str,
        who: str,
        name: str,
        reply_of: Callable[[Tool], Awaitable[bool | None]],
    ) -> None:
        self.kept: Tool | None = None
        self.is_draft = False
        self.why = ""
        """The reason why it is a draft."""
        self.apart = ""
        """The reason why it does not replace another tool."""
        self._catalogue = catalogue
        self._library = catalogue.library
        self._approval = approval
        self._who = who
        self._name = name
        self._reply_of = reply_of

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """Tools near a text."""
        return self._library.offered(question, most=most, small=small)

    async def get(self, name: str) -> Tool:
        """The tool of a name."""
        return self._library.get(name)

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Return the tool unchanged, since a client cannot name approved tools."""
        return tool

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Keeps a tool, as a draft unless it is strong and the user wants it.

        Raises:
            RefusedToolError: A person said no.
            LibraryError: Its texts do not only describe it, or it cannot be written.
        """
        from mcp_tools.create.interfaces import RefusedToolError

        if self._catalogue.is_reserved(tool.name):
            raise LibraryError(f"{tool.name} is the name of a tool of this server: choose another one")
        if flags := lint(definition_of(tool)):  # other models will read it
            listed = "; ".join(f"{one.where}: {one.message} ({one.rule})" for one in flags[:5])
            raise LibraryError(f"its texts must only say what the tool does: {listed}")
        if is_draft:
            self.why = "its tests catch too few deliberate bugs"
        elif self._approval == "ask":
            reply = await self._reply_of(tool)
            if reply is False:
                raise RefusedToolError("the user does not want this tool: do not propose it again")
            is_draft, self.why = reply is None, "the setting `approval` is ask, and nobody could be asked"
        if replaces is not None and (is_draft or not is_replaceable(self._library, replaces)):
            reason = "is no draft" if is_draft else "was not tested by a client alone"
            self.apart = f"{replaces.name} stays as it is, since it {reason}."
            tool, replaces = self._under_own_name(tool), None
        replaces = replaces or self._own_draft(tool.name)
        register = self._library.register
        self.kept = await asyncio.to_thread(
            register, tool, replace=replaces is not None, instead_of=replaces, is_draft=is_draft
        )
        self.is_draft = is_draft
        return self.kept

    def _under_own_name(self, tool: Tool) -> Tool:
        """A tool that was to replace another one, under the name that its client gave it."""
        record = {name: value for name, value in tool.provenance.items() if name not in (ALIASES, "parent_version")}
        source = renamed(tool.source, tool.name, self._name)
        return replace(tool, name=self._name, source=source, provenance=record)

    def _own_draft(self, name: str) -> Tool | None:
        """The draft of that name that the same client proposed before, which its next version replaces."""
        try:
            standing = self._library.get(name)
        except (UnknownToolError, LibraryError):
            return None
        is_own = standing.name == name and standing.provenance.get("examiner") == self._who
        return standing if is_own and standing.status is not Status.VERIFIED else None


def is_replaceable(library: Library, tool: Tool) -> bool:
    """True if nobody but a client tested a tool, and no person approved it."""
    approval = library.approvals.read().by_name.get(tool.name)
    is_of_a_client = str(tool.provenance.get("examiner", "")).startswith(CLIENT)
    return is_of_a_client and approval is not None and not approval.person


def may_be_mended(library: Library, name: str) -> bool:
    """True if a client may replace the tool of this name."""
    try:
        return is_replaceable(library, library.get(name))
    except (UnknownToolError, LibraryError):
        return False


def client_name(call: ClientCall) -> str:
    """The client as a record names it. Its name is foreign text, so only a few plain characters are kept."""
    client = call.context.session.client_params
    name = one_line(_NOT_A_NAME.sub("", client.client_info.name if client else ""), 60).strip()
    return f"{CLIENT}{'without a name' if not name or reads_like_orders(name) else name}"


def function_of(code: str, name: str) -> str:
    """The name that a proposal gives to its tool."""
    found = re.search(r"(?m)^def ([a-z]\w*)", code)
    return name or (found[1] if found else "")


def part_of_module(code: str, name: str) -> str:
    """The function of this name with what it uses and declares, if a module has several public functions."""
    from mcp_tools.exchange.modules import functions_of
    from mcp_tools.header import declared, with_declared

    part = dict(functions_of(code, name)).get(name) if name else None
    if not part or part == code:
        return code
    may = asdict(declared(code))
    own = {key: [*value] if isinstance(value, tuple) else value for key, value in may.items() if key != "packages"}
    return with_declared(part, may["packages"], **own)


def examples_in(code: str, name: str) -> list[dict[str, Json]]:
    """The `>>>` calls in the docstring of a function as examples, but for those that take a part of a result."""
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
    """The tests that examples make, and what is wrong with the examples."""
    from mcp_tools.create.interfaces import Test

    tests, problems, known = [], list[str](), dict[str, Json]()
    for number, one in enumerate(examples):
        raises, expected = bool(one.get("raises", False)), one.get("result")
        key = json.dumps(one["arguments"], sort_keys=True)
        if raises == ("result" in one):
            problems.append(f"examples[{number}]: give either `result`, or `raises` as true")
        elif known.setdefault(key, [raises, expected]) != [raises, expected]:
            problems.append(f"examples[{number}]: another example has the same arguments and another result")
        tests.append(Test(one["arguments"], expected, "client", raises=raises, because="the client's example"))
    if (size := len(json.dumps(examples))) > _MOST_BYTES:
        problems.append(f"the examples have {size:,} bytes, and {_MOST_BYTES:,} are kept at most: give shorter ones")
    if len({key for key, (raises, _) in known.items() if not raises}) < _FEWEST_RESULTS:
        problems.append(f"give at least {_FEWEST_RESULTS} examples with a `result` and different arguments")
    return tests, problems


def beyond_a_client(proposal: Proposal) -> list[str]:
    """Return the capabilities that cannot be proved for a client."""
    may = proposal.capabilities
    problems = []
    if may.hosts or may.keys:
        hosts = ", ".join((*may.hosts, *may.keys))
        problems.append(f"the code declares {hosts}, and no host is reached here: take its response as an argument")
    if may.read:
        problems.append("the code declares `read`, and no file is read here: take the content as an argument")
    return problems
