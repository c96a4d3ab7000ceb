"""Who wants an action: decided from where its address, its query or its arguments come from, before it is done.

The user's text may ask for anything. Other people's text (pages, files, results and descriptions of tools) is data: it
may be read and quoted, and its links may be followed, but it gives no orders. So an address, a call or a value
that stands in such text only is `doubtful`, and one that carries a secret or a piece of private text away is `refused`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent.consent.carried import arguments_in_parts, leaves, member_names, named_leaves, parts, small_parts
from agent.consent.named_paths import is_path
from agent.consent.origins import Origins, beyond_host, stands_whole
from agent.consent.program import ProgramText
from agent.web.address import canonical, is_address, source_of
from mcp_tools.tool import Json

Ruling = Literal["fine", "doubtful", "asked", "refused"]
"""`doubtful`: the model that sees only the user's words decides, then the user. `asked`: the user alone decides."""

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,100}@[\w-]{1,100}\.[\w.-]{1,200}")
_PASSAGE = 48
"""Letters and digits in a row that are no title any more: a search may ask for a title, if the user wants it."""
_MOST_SMALL = 16
"""Small values that the arguments of a call may have: switches, numbers of pages and the like."""
_LITTLE = 3
"""Characters of a value that says little alone."""
_ORDER = 4
"""From this many words of foreign text on, a task is an order; fewer are a name of something on a page."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Ruling on an action."""

    ruling: Ruling = "fine"
    why: str = ""
    """The reason for the model and the user, if it is not fine; it contains no foreign text."""
    may_stand: bool = False
    """True if the user may allow such calls permanently."""
    paths: tuple[str, ...] = ()
    """The paths that the user did not name, if they are the reason."""
    rest: Verdict | None = None
    """The ruling if these paths were named."""


FINE = Verdict()


@dataclass(frozen=True)
class Asked:
    """An action that is to be judged."""

    origins: Origins
    text: str = ""
    """An address, a query, a task, or what is typed."""
    url: str = ""
    """The site of a task, or of what is typed."""
    name: str = ""
    values: Sequence[str] = ()
    """The values of a call's arguments, or of a program's request."""
    others: Sequence[str] = ()
    """Values that the user neither wrote nor attached."""
    paths: Sequence[str] = ()
    """Paths among the values that the user did not name."""
    names: Sequence[str] = ()
    """The names of members in arguments."""
    results: Sequence[str] = ()
    """Earlier results of the call's server, which may be sent back to it."""
    small: int = 0
    """Values that are too small to be judged alone."""
    read_only: bool = False
    is_harmless: bool = False
    """True if a browser's task can neither sign in nor take anything along."""
    program: ProgramText | None = None

    @property
    def is_known_site(self) -> bool:
        """True if the run found the site of an address, or everybody knows it."""
        return source_of(self.text) in self.origins.known_sites or self.origins.trusts(self.text)

    @property
    def new_values(self) -> list[str]:
        """The values that the server of a call did not give itself."""
        return [one for one in self.others if not any(stands_whole(one, result) for result in self.results)]

    @property
    def pieces(self) -> list[str]:
        """The values that may be pieces of another one: the new ones, and those that say little alone."""
        return [one for one in self.others if len(one) <= _LITTLE or one in self.new_values]

    @property
    def joined(self) -> list[str]:
        """The texts that several pieces, or several names, spell together."""
        return ["".join(several) for several in (self.pieces, self.names) if len(several) > 1]

    def is_written(self, value: str) -> bool:
        """Return True if a program's text, or what was shown before it, contains a value."""
        origins, program = self.origins, self.program
        return (
            program is None
            or program.holds(value)
            or (is_address(value) and origins.is_link(value))
            or origins.is_shown(value)
            or origins.is_in_named_folder(value)
            or program.holds(origins.paths.below(value) or value)
            or any(stands_whole(value, result) for result in self.results)
        )


@dataclass(frozen=True)
class Rule:
    """One reason for a ruling. The first rule that applies decides."""

    name: str
    ruling: Ruling
    why: str
    applies: Callable[[Asked], bool]
    may_stand: bool = False
    """True if the user may allow such calls permanently."""


RULES: dict[str, tuple[Rule, ...]] = {
    "address": (
        Rule("secret", "refused", "the address carries a secret", lambda a: a.origins.secret_in(a.text)),
        Rule("wanted", "fine", "", lambda a: a.text in a.origins.wanted or a.origins.is_link(a.text)),
        Rule(
            "file",
            "refused",
            "the file was neither named by the user nor found by a search",
            lambda a: a.text[:5].lower() == "file:",
        ),
        Rule(
            "passage",
            "refused",
            "the address carries a piece of the user's data",
            lambda a: a.origins.carries(beyond_host(a.text)),
        ),
        Rule(
            "value",
            "doubtful",
            "the address takes a value out of the user's data to a site that the user does not name",
            lambda a: (
                not a.origins.names_site(a.text)
                and (a.origins.holds_value(a.text) or a.origins.names_private(beyond_host(a.text)))
            ),
        ),
        Rule(
            "pieces",
            "doubtful",
            "the address carries a piece of the user's data, after other pieces",
            lambda a: not a.origins.names_site(a.text) and a.origins.is_pieced(parts(a.text)),
        ),
        Rule(
            "query of a named site",
            "doubtful",
            "the request comes only from text that others wrote, and not from a link",
            lambda a: a.origins.names_site(a.text) and a.origins.tells_to_ask(canonical(a.text)),
        ),
        Rule(
            "page of a known site",
            "doubtful",
            "the address comes only from text that others wrote, and not from a link",
            lambda a: (
                not a.origins.names_site(a.text)
                and a.is_known_site
                and any(canonical(a.text).startswith(other) for other in a.origins.addresses_told)
            ),
        ),
        Rule(
            "site",
            "doubtful",
            "the site comes only from text that others wrote, and not from a link",
            lambda a: not a.origins.names_site(a.text) and not a.is_known_site and a.origins.mentions_site(a.text),
        ),
    ),
    "query": (
        Rule("secret", "refused", "the query carries a secret", lambda a: a.origins.secret_in(a.text)),
        Rule(
            "passage",
            "refused",
            "the query carries a piece of the user's data",
            lambda a: a.origins.carries(a.text, _PASSAGE),
        ),
        Rule(
            "name",
            "doubtful",
            "the query names something out of the user's data that the question does not name",
            lambda a: a.origins.names_private(a.text),
        ),
        Rule(
            "value",
            "doubtful",
            "the query holds a value out of the user's data",
            lambda a: a.origins.holds_value(a.text),
        ),
        Rule(
            "pieces",
            "doubtful",
            "the query carries a piece of the user's data, after other pieces",
            lambda a: a.origins.is_pieced(arguments_in_parts([a.text])),
        ),
    ),
    "task": (
        Rule("secret", "refused", "the task carries a secret", lambda a: a.origins.secret_in(a.text)),
        Rule(
            "passage",
            "doubtful",
            "the task takes the user's data to a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.carries(a.text),
        ),
        Rule(
            "value",
            "doubtful",
            "the task takes a value out of the user's data to a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.holds_value(a.text),
        ),
        Rule(
            "wording",
            "doubtful",
            "the task is worded as in text that others wrote",
            lambda a: a.origins.is_worded_by_others(a.text, _ORDER if a.is_harmless else 0),
        ),
    ),
    "typed": (
        Rule(
            "secret",
            "refused",
            "a secret may only be typed into the login fields of its site",
            lambda a: a.origins.secret_in(a.text),
        ),
        Rule(
            "passage",
            "refused",
            "the user's data is not typed at a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.carries(a.text),
        ),
        Rule(
            "value",
            "refused",
            "a value out of the user's data is not typed at a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.holds_value(a.text),
        ),
    ),
    "call": (
        Rule(
            "secret",
            "refused",
            "an argument carries a secret",
            lambda a: any(map(a.origins.secret_in, (*a.values, *a.names))),
        ),
        Rule(
            "path",
            "asked",
            "the user did not name this file",
            lambda a: bool(a.paths),
            may_stand=True,
        ),
        Rule(
            "passage",
            "doubtful",
            "an argument carries a piece of the user's data",
            lambda a: any(map(a.origins.carries, (*a.others, *a.names, *a.joined))),
        ),
        Rule(
            "value",
            "doubtful",
            "an argument carries a value out of the user's data",
            lambda a: any(map(a.origins.holds_value, (*a.new_values, *a.names))),
        ),
        Rule(
            "pieces",
            "doubtful",
            "the arguments carry pieces of the user's data",
            lambda a: a.origins.is_pieced(arguments_in_parts(a.pieces)) or any(map(a.origins.holds_key, a.joined)),
        ),
        Rule(
            "small parts",
            "doubtful",
            "the arguments are many small values, and may spell the user's data",
            lambda a: a.small > _MOST_SMALL and bool(a.origins.private or a.origins.answers),
        ),
        Rule(
            "address",
            "doubtful",
            "an argument is an address that comes only from text that others wrote",
            lambda a: any(of_address(value, a.origins) != FINE for value in a.others if is_address(value)),
        ),
        Rule("reading", "fine", "", lambda a: a.read_only),
        Rule(
            "mail",
            "doubtful",
            "an argument is a mail address that the user does not name",
            lambda a: any(not a.origins.is_wanted(mail) for value in a.others for mail in _MAIL.findall(value)),
        ),
        Rule(
            "argument of others",
            "doubtful",
            "an argument comes only from text that others wrote",
            lambda a: any(map(a.origins.stands_there, a.others)),
            may_stand=True,
        ),
        Rule(
            "unwanted",
            "doubtful",
            "the user's words do not ask for what the tool does, and text of others may",
            lambda a: (
                not a.origins.names_tool(a.name)
                and (bool(a.origins.foreign) or a.origins.gives_orders or a.origins.is_wording(a.values))
            ),
            may_stand=True,
        ),
    ),
    "program": (
        Rule(
            "code in data",
            "doubtful",
            "the program loads something that may contain code",
            lambda a: a.program is not None and bool(a.program.runs_data),
        ),
        Rule(
            "made up",
            "doubtful",
            "it is neither in the program nor in what was shown: the program made it up",
            lambda a: not all(map(a.is_written, a.values)),
        ),
    ),
}
"""The rules by what they judge, in order."""


def _ruled(kind: str, asked: Asked) -> Verdict:
    rule = next((rule for rule in RULES[kind] if rule.applies(asked)), None)
    return FINE if rule is None or rule.ruling == "fine" else Verdict(rule.ruling, rule.why, rule.may_stand)


def of_address(url: str, origins: Origins) -> Verdict:
    """Return the ruling on opening an address.

    Allowed are: addresses that the user wrote, sites that the user names, results of searches, links of pages that were
    read, and addresses that the model came up with. An address that carries something away is not allowed.
    """
    return _ruled("address", Asked(origins, url))


def of_query(query: str, origins: Origins) -> Verdict:
    """Return the ruling on a search.

    A name from a file may be searched for if the user wants that; a passage or a key from it may not.
    """
    return _ruled("query", Asked(origins, query))


def of_task(task: str, url: str, origins: Origins, *, has_logins: bool = True) -> Verdict:
    """Return the ruling on a browser task, since its text ends up in the forms of a site.

    Args:
        task: The task.
        url: The address where it begins.
        origins: The texts that the run knows.
        has_logins: True if the browser can sign in. If not, and if the run knows nothing private, a task at a host that
            the user names may use the names of links and fields on its pages.
    """
    verdict = of_address(url, origins)
    if verdict != FINE:
        return verdict
    is_harmless = not has_logins and not origins.private and origins.names_host(url)
    return _ruled("task", Asked(origins, task, url, is_harmless=is_harmless))


def of_typed(text: str, url: str, origins: Origins) -> Verdict:
    """Return the ruling on typing a text on a page."""
    return _ruled("typed", Asked(origins, text, url))


def of_call(
    name: str,
    arguments: dict[str, Json],
    origins: Origins,
    *,
    read_only: bool,
    files: Collection[str] = (),
    results: Sequence[str] = (),
) -> Verdict:
    """Return the ruling on a call of a connected server's tool.

    Args:
        name: `server__tool`.
        arguments: The arguments of the call.
        origins: The texts that the run knows.
        read_only: True if its server says that the tool changes nothing.
        files: Names and paths of the files that the user attached.
        results: Earlier results of its server.
    """
    values = list(leaves(arguments))
    below = origins.paths.below
    paths = {value for name, value in named_leaves(arguments) if is_path(value, name) and value not in files}
    own = {one for one in values if one in files or origins.is_in_named_folder(one)}
    own |= {one for one in values if (origins.paths.names(one) if one in paths else origins.is_own(one))}
    asked = Asked(
        origins,
        name=name,
        values=values,
        others=[below(one) or one for one in values if one not in own],
        paths=[one for one in values if one in paths and one not in own and not below(one)],
        names=[*member_names(arguments)],
        results=results,
        small=small_parts(arguments, origins.words_of_user),
        read_only=read_only,
    )
    verdict = _ruled("call", asked)
    if verdict.ruling != "asked":
        return verdict
    unnamed = tuple(asked.paths)
    rest = _ruled("call", replace(asked, paths=(), others=[one for one in asked.others if one not in unnamed]))
    return replace(verdict, paths=unnamed, rest=rest)


def of_program(
    verdict: Verdict, values: Sequence[str], program: ProgramText, origins: Origins, results: Sequence[str] = ()
) -> Verdict:
    """Return the ruling on a program's request: one that its own text does not contain is doubtful.

    Args:
        verdict: The ruling on the same request by the model itself.
        values: The requested values.
        program: The programs of the session.
        origins: The texts that the run knows.
        results: Earlier results of the same server in the session.
    """
    if verdict.rest is not None:
        return replace(verdict, rest=of_program(verdict.rest, values, program, origins, results))
    if verdict != FINE:
        return verdict
    return _ruled("program", Asked(origins, values=values, program=program, results=results))
