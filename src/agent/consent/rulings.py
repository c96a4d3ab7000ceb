"""Rules that decide, before an action, whether its address, query or arguments may be used.

The user's text may ask for anything. Other people's text (pages, files, results, tool descriptions) is data: alita may
read it, quote it and follow its links, but must not obey it. An address, call or value that occurs only in such text is
`doubtful`. One that would leak a secret or private text is `refused`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent.consent.encodings import (
    MAX_SMALL_VALUES,
    ORDER_WORDS,
    PASSAGE_CHARS,
    SMALL_VALUE_CHARS,
    address_parts,
    argument_parts,
    count_small_values,
    member_names,
    named_values,
    values_in,
)
from agent.consent.program_text import ProgramText
from agent.consent.text_origins import Origins, beyond_host, has_whole
from agent.consent.user_paths import is_path
from agent.web.address import canonical, is_address, source_of
from mcp_tools.tool import Json

Ruling = Literal["fine", "doubtful", "asked", "refused"]
"""If `doubtful`, a model that sees only the user's words decides, then the user. If `asked`, only the user decides."""

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,100}@[\w-]{1,100}\.[\w.-]{1,200}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The ruling on an action, with its reason."""

    ruling: Ruling = "fine"
    why: str = ""
    """The reason for the model and the user. It contains no untrusted text."""
    may_be_permanent: bool = False
    """True if the user may allow such calls permanently."""
    paths: tuple[str, ...] = ()
    """The paths that caused this ruling because the user did not name them."""
    if_allowed: Verdict | None = None
    """The ruling that applies once the user allows these paths."""


FINE = Verdict()


@dataclass(frozen=True)
class ActionFacts:
    """Facts about an action that the rules examine."""

    origins: Origins
    text: str = ""
    """The action's address, query, task or text to type."""
    url: str = ""
    """Address of the page where the task starts or the text is typed."""
    name: str = ""
    """Name of the called tool."""
    values: Sequence[str] = ()
    """Arguments of a call or of a program's request."""
    others: Sequence[str] = ()
    """Values that are neither in the user's text nor a name or path of an attached file."""
    paths: Sequence[str] = ()
    """Paths that the user did not name."""
    names: Sequence[str] = ()
    """Member names in the arguments."""
    results: Sequence[str] = ()
    """Earlier results of the same server. They may be sent back to it."""
    small: int = 0
    """Number of values that are too small to judge alone."""
    read_only: bool = False
    is_harmless: bool = False
    """True if a browser task can neither sign in nor carry private data."""
    program: ProgramText | None = None

    @property
    def is_known_site(self) -> bool:
        """True if a search found the site, a page linked to it, or it is well known."""
        return source_of(self.text) in self.origins.known_sites or self.origins.trusts(self.text)

    @property
    def new_values(self) -> list[str]:
        """Values that the server did not return earlier."""
        return [one for one in self.others if not any(has_whole(one, result) for result in self.results)]

    @property
    def pieces(self) -> list[str]:
        """Values that may be pieces of a longer one."""
        return [one for one in self.others if len(one) <= SMALL_VALUE_CHARS or one in self.new_values]

    @property
    def joined(self) -> list[str]:
        """The pieces joined together, and the member names joined together."""
        return ["".join(several) for several in (self.pieces, self.names) if len(several) > 1]

    def is_written(self, value: str) -> bool:
        """Return True if the program's text, or text shown to the model before, contains the value."""
        origins, program = self.origins, self.program
        return (
            program is None
            or program.holds(value)
            or (is_address(value) and origins.is_link(value))
            or origins.is_shown(value)
            or origins.is_in_named_folder(value)
            or program.holds(origins.paths.below(value) or value)
            or any(has_whole(value, result) for result in self.results)
        )


@dataclass(frozen=True)
class ConsentRule:
    """A rule. The first rule that applies to an action decides."""

    name: str
    ruling: Ruling
    why: str
    applies: Callable[[ActionFacts], bool]
    may_be_permanent: bool = False
    """True if the user may allow such calls permanently."""


RULES: dict[str, tuple[ConsentRule, ...]] = {
    "address": (
        ConsentRule("secret", "refused", "the address carries a secret", lambda a: a.origins.secret_in(a.text)),
        ConsentRule("wanted", "fine", "", lambda a: a.text in a.origins.wanted or a.origins.is_link(a.text)),
        ConsentRule(
            "file",
            "refused",
            "the file was neither named by the user nor found by a search",
            lambda a: a.text[:5].lower() == "file:",
        ),
        ConsentRule(
            "passage",
            "refused",
            "the address carries a piece of the user's data",
            lambda a: a.origins.carries(beyond_host(a.text)),
        ),
        ConsentRule(
            "value",
            "doubtful",
            "the address takes a value out of the user's data to a site that the user does not name",
            lambda a: (
                not a.origins.names_site(a.text)
                and (a.origins.holds_value(a.text) or a.origins.names_private(beyond_host(a.text)))
            ),
        ),
        ConsentRule(
            "pieces",
            "doubtful",
            "the address carries a piece of the user's data, after other pieces",
            lambda a: not a.origins.names_site(a.text) and a.origins.completes_key(address_parts(a.text)),
        ),
        ConsentRule(
            "query of a named site",
            "doubtful",
            "the request comes only from text that others wrote, and not from a link",
            lambda a: a.origins.names_site(a.text) and a.origins.has_request_of(canonical(a.text)),
        ),
        ConsentRule(
            "page of a known site",
            "doubtful",
            "the address comes only from text that others wrote, and not from a link",
            lambda a: (
                not a.origins.names_site(a.text)
                and a.is_known_site
                and any(canonical(a.text).startswith(other) for other in a.origins.foreign_addresses)
            ),
        ),
        ConsentRule(
            "site",
            "doubtful",
            "the site comes only from text that others wrote, and not from a link",
            lambda a: not a.origins.names_site(a.text) and not a.is_known_site and a.origins.mentions_site(a.text),
        ),
    ),
    "query": (
        ConsentRule("secret", "refused", "the query carries a secret", lambda a: a.origins.secret_in(a.text)),
        ConsentRule(
            "passage",
            "refused",
            "the query carries a piece of the user's data",
            lambda a: a.origins.carries(a.text, PASSAGE_CHARS),
        ),
        ConsentRule(
            "name",
            "doubtful",
            "the query names something out of the user's data that the question does not name",
            lambda a: a.origins.names_private(a.text),
        ),
        ConsentRule(
            "value",
            "doubtful",
            "the query holds a value out of the user's data",
            lambda a: a.origins.holds_value(a.text),
        ),
        ConsentRule(
            "pieces",
            "doubtful",
            "the query carries a piece of the user's data, after other pieces",
            lambda a: a.origins.completes_key(argument_parts([a.text])),
        ),
    ),
    "task": (
        ConsentRule("secret", "refused", "the task carries a secret", lambda a: a.origins.secret_in(a.text)),
        ConsentRule(
            "passage",
            "doubtful",
            "the task takes the user's data to a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.carries(a.text),
        ),
        ConsentRule(
            "value",
            "doubtful",
            "the task takes a value out of the user's data to a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.holds_value(a.text),
        ),
        ConsentRule(
            "wording",
            "doubtful",
            "the task is worded as in text that others wrote",
            lambda a: a.origins.is_worded_by_others(a.text, ORDER_WORDS if a.is_harmless else 0),
        ),
    ),
    "typed": (
        ConsentRule(
            "secret",
            "refused",
            "a secret may only be typed into the login fields of its site",
            lambda a: a.origins.secret_in(a.text),
        ),
        ConsentRule(
            "passage",
            "refused",
            "the user's data is not typed at a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.carries(a.text),
        ),
        ConsentRule(
            "value",
            "refused",
            "a value out of the user's data is not typed at a site that the user does not name",
            lambda a: not a.origins.names_site(a.url) and a.origins.holds_value(a.text),
        ),
    ),
    "call": (
        ConsentRule(
            "secret",
            "refused",
            "an argument carries a secret",
            lambda a: any(map(a.origins.secret_in, (*a.values, *a.names))),
        ),
        ConsentRule(
            "path",
            "asked",
            "the user did not name this file",
            lambda a: bool(a.paths),
            may_be_permanent=True,
        ),
        ConsentRule(
            "passage",
            "doubtful",
            "an argument carries a piece of the user's data",
            lambda a: any(map(a.origins.carries, (*a.others, *a.names, *a.joined))),
        ),
        ConsentRule(
            "value",
            "doubtful",
            "an argument carries a value out of the user's data",
            lambda a: any(map(a.origins.holds_value, (*a.new_values, *a.names))),
        ),
        ConsentRule(
            "pieces",
            "doubtful",
            "the arguments carry pieces of the user's data",
            lambda a: a.origins.completes_key(argument_parts(a.pieces)) or any(map(a.origins.holds_key, a.joined)),
        ),
        ConsentRule(
            "small parts",
            "doubtful",
            "the arguments are many small values, and may spell the user's data",
            lambda a: a.small > MAX_SMALL_VALUES and bool(a.origins.private or a.origins.answers),
        ),
        ConsentRule(
            "address",
            "doubtful",
            "an argument is an address that comes only from text that others wrote",
            lambda a: any(judge_address(value, a.origins) != FINE for value in a.others if is_address(value)),
        ),
        ConsentRule("reading", "fine", "", lambda a: a.read_only),
        ConsentRule(
            "mail",
            "doubtful",
            "an argument is a mail address that the user does not name",
            lambda a: any(not a.origins.in_user_text(mail) for value in a.others for mail in _MAIL.findall(value)),
        ),
        ConsentRule(
            "argument of others",
            "doubtful",
            "an argument comes only from text that others wrote",
            lambda a: any(map(a.origins.is_in_foreign_text, a.others)),
            may_be_permanent=True,
        ),
        ConsentRule(
            "unwanted",
            "doubtful",
            "the user's words do not ask for what the tool does, and text of others may",
            lambda a: (
                not a.origins.names_tool(a.name)
                and (bool(a.origins.foreign) or a.origins.gives_orders or a.origins.is_user_sentence(a.values))
            ),
            may_be_permanent=True,
        ),
    ),
    "program": (
        ConsentRule(
            "code in data",
            "doubtful",
            "the program loads something that may contain code",
            lambda a: a.program is not None and bool(a.program.runs_data),
        ),
        ConsentRule(
            "made up",
            "doubtful",
            "it is neither in the program nor in what was shown: the program made it up",
            lambda a: not all(map(a.is_written, a.values)),
        ),
    ),
}
"""The rules for each kind of action, in order."""


def _apply_rules(kind: str, facts: ActionFacts) -> Verdict:
    rule = next((rule for rule in RULES[kind] if rule.applies(facts)), None)
    return FINE if rule is None or rule.ruling == "fine" else Verdict(rule.ruling, rule.why, rule.may_be_permanent)


def judge_address(url: str, origins: Origins) -> Verdict:
    """Return the ruling on opening an address.

    These addresses are allowed: addresses that the user wrote, sites that the user names, search results, links on
    pages that were read, and addresses that the model knows by itself. An address that carries private data is not
    allowed.

    Example:
        >>> judge_address("https://a.example/", Origins("Summarise https://a.example/")) == FINE
        True
    """
    return _apply_rules("address", ActionFacts(origins, url))


def judge_query(query: str, origins: Origins) -> Verdict:
    """Return the ruling on a search.

    A search may contain a name from a private file if the user wants it, but no passage or key from the file.
    """
    return _apply_rules("query", ActionFacts(origins, query))


def judge_task(task: str, url: str, origins: Origins, *, has_logins: bool = True) -> Verdict:
    """Return the ruling on a browser task. The task's text may end up in a site's forms.

    Args:
        task: The task in words.
        url: The page where it starts.
        origins: The texts known to the run.
        has_logins: True if the browser can sign in. If it cannot, and the run has no private data, a task at a host
            that the user names may use the names of links and fields on the page.
    """
    verdict = judge_address(url, origins)
    if verdict != FINE:
        return verdict
    is_harmless = not has_logins and not origins.private and origins.names_host(url)
    return _apply_rules("task", ActionFacts(origins, task, url, is_harmless=is_harmless))


def judge_typed(text: str, url: str, origins: Origins) -> Verdict:
    """Return the ruling on typing a text on a page."""
    return _apply_rules("typed", ActionFacts(origins, text, url))


def judge_call(
    name: str,
    arguments: dict[str, Json],
    origins: Origins,
    *,
    read_only: bool,
    files: Collection[str] = (),
    results: Sequence[str] = (),
) -> Verdict:
    """Return the ruling on a call to an external server's tool.

    Args:
        name: `server__tool`.
        arguments: The arguments of the call.
        origins: The texts known to the run.
        read_only: True if the server says that the tool changes nothing.
        files: Names and paths of the attached files.
        results: Earlier results of the same server.
    """
    values = list(values_in(arguments))
    below = origins.paths.below
    paths = {value for name, value in named_values(arguments) if is_path(value, name) and value not in files}
    own = {one for one in values if one in files or origins.is_in_named_folder(one)}
    own |= {one for one in values if (origins.paths.names(one) if one in paths else origins.user_wrote(one))}
    facts = ActionFacts(
        origins,
        name=name,
        values=values,
        others=[below(one) or one for one in values if one not in own],
        paths=[one for one in values if one in paths and one not in own and not below(one)],
        names=[*member_names(arguments)],
        results=results,
        small=count_small_values(arguments, origins.words_of_user),
        read_only=read_only,
    )
    verdict = _apply_rules("call", facts)
    if verdict.ruling != "asked":
        return verdict
    unnamed = tuple(facts.paths)
    rest = _apply_rules("call", replace(facts, paths=(), others=[one for one in facts.others if one not in unnamed]))
    return replace(verdict, paths=unnamed, if_allowed=rest)


def judge_program(
    verdict: Verdict, values: Sequence[str], program: ProgramText, origins: Origins, results: Sequence[str] = ()
) -> Verdict:
    """Return the ruling on a program's request, which is doubtful if the program's text lacks its values.

    Args:
        verdict: The ruling on the same request if the model itself had made it.
        values: The values in the request.
        program: The programs of the session.
        origins: The texts known to the run.
        results: Earlier results of the same server in the session.
    """
    if verdict.if_allowed is not None:
        return replace(verdict, if_allowed=judge_program(verdict.if_allowed, values, program, origins, results))
    if verdict != FINE:
        return verdict
    return _apply_rules("program", ActionFacts(origins, values=values, program=program, results=results))
