"""Who wants an action: decided from where its address, its query or its arguments come from, before it is done.

What the user wrote may ask for anything. What others wrote (pages, files, results of tools, descriptions of tools) is
data: it may be read and quoted, and its links may be followed, but it gives no orders. So an address, a call or a value
that stands in such text only is `doubtful`, and one that carries a secret or a piece of private text away is `refused`.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, unquote_plus, urlsplit

from agent.consent.program import ProgramText
from agent.web.address import canonical, host_of, is_address, source_of
from mcp_tools.tool import Json

Ruling = Literal["fine", "doubtful", "refused"]

_ADDRESS = re.compile(r"https?://[^\s<>\"'“”‘’`\])}]+", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w@.-])(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/[^\s<>\"'“”‘’`\])}]*)?", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_PATH = re.compile(r"(?:~|/|\.\.?[/\\]|[A-Za-z]:[/\\]|file:|\\\\).*", re.DOTALL)
_FOLDER = re.compile(r"(?<![\w/.:])(?:~|/|\.\.?/)[^\s<>\"'“”‘’`,;|]*")
_WRITTEN_OUT = re.compile(r"\s*[(\[]?\s*\b(?:dot|punkt|point|punto)\b\s*[)\]]?\s*", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9+_-]{12,}")
_WITH_SLASHES = re.compile(r"[A-Za-z0-9+/]{12,}")
_TOKENS = re.compile(r"\w+")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBERED = re.compile(r"\d(?:[ ./-]?\d){4,}|\w+(?:[-./]\w+)*")
_END = ".,;:!?"
_SAME_PAGE = frozenset({"www", "m", "mobile", "amp", "index", "default", "html", "htm", "php", "aspx"})
"""Parts of an address that `canonical` leaves out, and that carry nothing."""
_PIECE = 24
"""Letters and digits in a row that no two texts have in common by chance; a title may be that long."""
_PASSAGE = 48
"""So many of them are no title any more, but a passage: a search may ask for a title, if the user wants it."""
_WORDING = 12
"""So many of them, in more than one word, are the wording of an order."""
_ORDER = 4
"""Words that are not the user's, in such a run: fewer are what something on a page is called."""
_HIDDEN_PIECE = 10
"""In a text that was encoded or turned round, which nobody does for an honest reason."""
_SURELY = 8
"""Letters of a host's name that stand together in no text by chance."""
_DIGITS, _MIXED = 14, 16
"""Digits in a row, or letters and digits, that are a card, an account or a key."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an action may be done."""

    ruling: Ruling = "fine"
    why: str = ""
    """For the model and the user, where it is not fine; no text of others stands in it."""


FINE = Verdict()


@dataclass(frozen=True)
class Origins:
    """What a run knows, by where it comes from."""

    wanted: str
    """What the user wrote: the question, and what was asked before in the conversation."""
    foreign: Sequence[str] = ()
    """What others wrote, as far as models were shown it."""
    described: Sequence[str] = ()
    """What servers say of their tools: examples of arguments among it may be used, addresses may not."""
    private: Sequence[str] = ()
    """What of it belongs to the user: attached files, and what tools of connected servers gave."""
    secrets: Sequence[str] = ()
    links: Collection[str] = field(default=frozenset())
    """Results of searches, pages that were read and their links, each as it is and in its `canonical` form."""
    trusts: Callable[[str], bool] = lambda _url: False
    """Whether an address is at a site that is known to be nobody's trap, such as an encyclopedia."""

    _pieces_known: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _wanted(self) -> str:
        return _squeezed(self.wanted)

    @cached_property
    def _foreign(self) -> str:
        """What others wrote, without the addresses that were found or linked: these may be opened."""
        text = "\n".join((*self.foreign, *self.described))
        return _ADDRESS.sub(lambda found: " " if canonical(found[0].rstrip(_END)) in self.links else found[0], text)

    @cached_property
    def _mentioned(self) -> str:
        """All that foreign text may mean by a name, however it is written."""
        forms = (self._foreign, _WRITTEN_OUT.sub("", self._foreign), *_hidden_in(self._foreign))
        return "\n".join(map(_squeezed, forms))

    @cached_property
    def _told(self) -> str:
        return "\n".join(map(_squeezed, self.foreign))

    @cached_property
    def _private(self) -> str:
        return "\n".join(map(_squeezed, self.private))

    @cached_property
    def _sites(self) -> frozenset[str]:
        """The sites that the user names."""
        return frozenset(filter(None, map(source_of, _addresses(self.wanted))))

    @cached_property
    def _known_sites(self) -> frozenset[str]:
        return frozenset(source_of(link if "://" in link else f"//{link}") for link in self.links)

    @cached_property
    def _shown(self) -> str:
        return "\n".join((self.wanted, *self.foreign, *self.described))

    def is_shown(self, value: str) -> bool:
        """Whether a value stands whole in what the user wrote or models were shown; one of two signs says nothing."""
        return len(value) > 2 and _stands_whole(value, self._shown)

    def is_link(self, url: str) -> bool:
        """Whether an address was found or linked, and says nothing more than that one did."""
        if url in self.links:
            return True
        at = canonical(url)
        said, there = (set(_TOKENS.findall(unquote_plus(one))) for one in (_beyond_host(url), at))
        return at in self.links and said <= there | _SAME_PAGE

    def is_wanted(self, text: str) -> bool:
        """Whether the user wrote it."""
        squeezed = _squeezed(text)
        return not squeezed or squeezed in self._wanted

    def has_word_of(self, text: str) -> bool:
        """Whether at least one word or number of a text is the user's."""
        return bool(set(_TOKENS.findall(text.casefold())) & set(_TOKENS.findall(self.wanted.casefold())))

    def is_in_named_folder(self, path: str) -> bool:
        """Whether a file is there, in a folder that the user names."""
        if not _PATH.fullmatch(path) or path != os.path.normpath(path) or ".." in path.split("/"):
            return False
        named = (found.rstrip(f"{_END}/") for found in _FOLDER.findall(self.wanted))
        is_below = any(len(one) > 1 and path.startswith(f"{one}/") for one in named)
        return is_below and os.path.lexists(Path(path).expanduser())

    def names_site(self, url: str) -> bool:
        """Whether the user names the site of an address."""
        return source_of(url) in self._sites or (bool(host_of(url)) and host_of(url) in self.wanted.casefold())

    def names_tool(self, name: str) -> bool:
        """Whether all words of a tool's name are the user's."""
        words = re.findall(r"[A-Z]?[a-z]+|\d+", name.rpartition("__")[2])
        return bool(words) and all(word.casefold() in self._wanted for word in words)

    def secret_in(self, text: str) -> bool:
        """Whether a text carries a secret, in clear or encoded."""
        known = [squeezed for secret in self.secrets if len(squeezed := _squeezed(secret)) >= _HIDDEN_PIECE // 2]
        forms = [_squeezed(form) for form in (text, unquote_plus(text), *_hidden_in(text))]
        return any(secret in form for secret in known for form in forms)

    def _pieces_of_private(self, size: int) -> frozenset[str]:
        """Every so many letters and digits in a row; of a text each time the same."""
        if size not in self._pieces_known:
            self._pieces_known[size] = frozenset(_pieces(self._private, size))
        return self._pieces_known[size]

    def carries(self, text: str, piece: int = _PIECE) -> bool:
        """Whether a text holds a piece of what is private and the user did not write."""
        plain = _squeezed(unquote_plus(text))
        if any(part in self._pieces_of_private(piece) and part not in self._wanted for part in _pieces(plain, piece)):
            return True
        hidden = [form for found in _hidden_in(text) for form in _pieces(_squeezed(found), _HIDDEN_PIECE)]
        if any(part in self._pieces_of_private(_HIDDEN_PIECE) and part not in self._wanted for part in hidden):
            return True
        keys = (_squeezed(token) for token in _TOKEN.findall(unquote_plus(text)))
        return any(key in self._private and key not in self._wanted for key in keys if _is_key(key))

    @cached_property
    def _names_in_private(self) -> frozenset[frozenset[str]]:
        """Two words in a row with capitals, or of a writing without them: mostly names."""
        return frozenset(
            frozenset((one.casefold(), other.casefold()))
            for text in self.private
            for line in text.splitlines()
            for one, other in pairwise(_WORD.findall(line))
            if min(len(one), len(other)) > 2 and not one[0].islower() and not other[0].islower()
        )

    def names_private(self, query: str) -> bool:
        """Whether a query holds a title, a name or a number out of what is private, which the user did not write."""
        words, wanted = frozenset(_words(query)), frozenset(_words(self.wanted))
        if any(pair <= words and not pair <= wanted for pair in self._names_in_private):
            return True
        numbered = (_squeezed(token) for token in _NUMBERED.findall(query) if _is_number_of_something(token))
        if any(token in self._private and token not in self._wanted for token in numbered):
            return True
        return self.carries(query)

    def names_host(self, url: str) -> bool:
        """Whether the user names the very host of an address."""
        named = (host_of(address if "://" in address else f"//{address}") for address in _addresses(self.wanted))
        return bool(host := host_of(url)) and host in named

    def is_worded_by_others(self, task: str, new: int = 0) -> bool:
        """Whether a longer run of words stands in foreign text, and not in the user's."""
        own = set(map(_squeezed, self.wanted.split()))
        words = [_squeezed(word) for word in task.split()]
        for at in range(len(words) - 1):
            run, others = words[at], int(words[at] not in own)
            for word in words[at + 1 :]:
                run, others = run + word, others + (word not in own)
                if run not in self._told:
                    break
                if len(run) >= _WORDING and run not in self._wanted and others >= new:
                    return True
        return False

    def stands_there(self, text: str) -> bool:
        """Whether something distinctive stands in what others wrote."""
        squeezed = _squeezed(text)
        return len(squeezed) > (2 if squeezed.isdigit() else 3) and squeezed in self._told

    def _tells_to_ask(self, address: str) -> bool:
        """Whether foreign text has what an address asks of its site, which may be a deed."""
        path, asks, query = address.partition("/")[2].partition("?")
        squeezed = _squeezed(path + query)
        return bool(asks) and len(squeezed) >= _SURELY and squeezed in self._mentioned

    @cached_property
    def _addresses_told(self) -> tuple[str, ...]:
        """Addresses of single pages that stand in foreign text as text."""
        told = map(canonical, _addresses(self._foreign))
        return tuple(address for address in told if "/" in address or "?" in address)


def of_address(url: str, origins: Origins) -> Verdict:
    """Whether an address may be opened.

    Fine is what the user wrote, at a site that the user names, the result of a search, a link of a page that was read,
    and what nobody but the model came up with; unless it carries something away.
    """
    if origins.secret_in(url):
        return Verdict("refused", "the address carries a secret")
    if url in origins.wanted or origins.is_link(url):
        return FINE
    if url[:5].lower() == "file:":
        return Verdict("refused", "the file was neither named by the user nor found by a search")
    if origins.carries(_beyond_host(url)):
        return Verdict("refused", "the address carries a piece of the user's data")
    site, at = source_of(url), canonical(url)
    if origins.names_site(url):
        told = origins._tells_to_ask(at)
    elif site in origins._known_sites or origins.trusts(url):
        told = any(at.startswith(other) for other in origins._addresses_told)
    else:
        name = _squeezed(site)
        told = site in origins._foreign.casefold() or (len(name) >= _SURELY and name in origins._mentioned)
    if told:
        return Verdict("doubtful", "the address stands only in text that others wrote, and not as a link")
    return FINE


def of_query(query: str, origins: Origins) -> Verdict:
    """Whether a search may be made.

    A name out of a file may be looked for where the user wants that; a passage of it, or a key, may not.
    """
    if origins.secret_in(query):
        return Verdict("refused", "the query carries a secret")
    if origins.carries(query, _PASSAGE):
        return Verdict("refused", "the query carries a piece of the user's data")
    if origins.names_private(query):
        return Verdict("doubtful", "the query names something out of the user's data that the question does not name")
    return FINE


def of_task(task: str, url: str, origins: Origins, *, has_logins: bool = True) -> Verdict:
    """Whether a site may be operated: what is told to do there ends up in its forms.

    Args:
        task: What is to be done.
        url: Where.
        origins: What the run knows.
        has_logins: Whether the browser could sign in. If not, and if the run knows nothing of the user's own, a task at
            a host that the user names may use names that stand on its pages: what links and fields are called.
    """
    verdict = of_address(url, origins)
    if verdict != FINE:
        return verdict
    if origins.secret_in(task):
        return Verdict("refused", "the task carries a secret")
    if not origins.names_site(url) and origins.carries(task):
        return Verdict("doubtful", "the task takes the user's data to a site that the user does not name")
    is_harmless = not has_logins and not origins.private and origins.names_host(url)
    if origins.is_worded_by_others(task, _ORDER if is_harmless else 0):
        return Verdict("doubtful", "the task is worded as in text that others wrote")
    return FINE


def of_typed(text: str, url: str, origins: Origins) -> Verdict:
    """Whether a text may be typed on a page."""
    if origins.secret_in(text):
        return Verdict("refused", "a secret is typed into login fields of its own site only")
    if not origins.names_site(url) and origins.carries(text):
        return Verdict("refused", "the user's data is not typed at a site that the user does not name")
    return FINE


def of_call(
    name: str, arguments: dict[str, Json], origins: Origins, *, read_only: bool, files: Collection[str] = ()
) -> Verdict:
    """Whether a tool of a connected server may be called.

    Args:
        name: `server__tool`.
        arguments: Of the call.
        origins: What the run knows.
        read_only: Whether its server says that it changes nothing.
        files: Names and paths of the files that the user attached.
    """
    values = list(leaves(arguments))
    names = [*member_names(arguments)]
    if any(origins.secret_in(value) for value in (*values, *names)):
        return Verdict("refused", "an argument carries a secret")
    named = {value for value in values if value in files or origins.is_in_named_folder(value)}
    others = [value for value in values if value not in named and not origins.is_wanted(value)]
    if any(_PATH.fullmatch(value) for value in others):
        return Verdict("refused", "an argument is the path of a file that the user neither attached nor named")
    if any(origins.carries(value) for value in (*others, *names)):
        return Verdict("doubtful", "an argument carries a piece of the user's data")
    if any(of_address(value, origins) != FINE for value in others if is_address(value)):
        return Verdict("doubtful", "an argument is an address that stands only in text that others wrote")
    if read_only:
        return FINE
    if any(not origins.is_wanted(mail) for value in others for mail in _MAIL.findall(value)):
        return Verdict("doubtful", "an argument is a mail address that the user does not name")
    if any(map(origins.stands_there, others)):
        return Verdict("doubtful", "an argument stands only in text that others wrote")
    if origins.foreign and not set(values) - set(others) and not origins.names_tool(name):
        return Verdict("doubtful", "neither its name nor any of its arguments comes from the user")
    return FINE


def of_program(
    verdict: Verdict, values: Sequence[str], text: ProgramText, origins: Origins, results: Sequence[str] = ()
) -> Verdict:
    """Whether a program may have something done: what its own text does not ask for is doubtful.

    Args:
        verdict: What the model itself may do of it.
        values: What is asked for.
        text: The programs of the session.
        origins: What the run knows.
        results: What the same server gave to the session before, which goes back to where it came from.
    """
    if verdict.ruling != "fine":
        return verdict
    if text.runs_data:
        return Verdict("doubtful", f"the program uses {text.runs_data}, which may run code that came with data")
    known = (
        text.holds(value)
        or (origins.is_link(value) if is_address(value) else False)
        or origins.is_shown(value)
        or origins.is_in_named_folder(value)
        or any(_stands_whole(value, result) for result in results)
        for value in values
    )
    if not all(known):
        return Verdict("doubtful", "it stands neither in the program nor in what was shown: the program made it up")
    return FINE


def _stands_whole(value: str, text: str) -> bool:
    return value in text and bool(re.search(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", text))


def _addresses(text: str) -> list[str]:
    return [address.rstrip(_END) for address in (*_ADDRESS.findall(text), *_HOST.findall(text))]


def _squeezed(text: str) -> str:
    """Letters and digits alone: marks between them hide nothing."""
    return "".join(filter(str.isalnum, text.casefold()))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _pieces(squeezed: str, size: int) -> Iterator[str]:
    return (squeezed[at : at + size] for at in range(len(squeezed) - size + 1))


def _is_key(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    return digits >= _DIGITS or (len(token) >= _MIXED and 0 < digits < len(token))


def _is_number_of_something(token: str) -> bool:
    """Whether a word is the number of a contract, a customer or the like, and no year or amount."""
    digits, letters = sum(map(str.isdigit, token)), sum(map(str.isalpha, token))
    return digits >= 5 or (letters > 0 and digits >= 2 and letters + digits >= 8)


def _hidden_in(text: str) -> Iterator[str]:
    """What a text says turned round, or encoded once or twice: percent, base64, hexadecimal."""
    yield text[::-1]
    once = unquote(text)
    if "%" in once:
        yield unquote(once)
    for token in dict.fromkeys((*_TOKEN.findall(once), *_WITH_SLASHES.findall(once))):
        for decode in (_from_base64, bytes.fromhex):
            try:
                found = decode(token).decode("utf-8")
            except (ValueError, binascii.Error):
                continue
            yield found
            yield found[::-1]


def _from_base64(token: str) -> bytes:
    plain = token.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _beyond_host(url: str) -> str:
    """What of an address its owner chooses the meaning of: all but scheme and registered domain."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    below = (parts.hostname or "").removesuffix(source_of(url))
    return " ".join((below, parts.username or "", parts.password or "", parts.path, parts.query, parts.fragment))


def leaves(value: Json) -> Iterator[str]:
    """The texts and numbers in arguments."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def member_names(value: Json) -> Iterator[str]:
    """The names of members in arguments: where an object may have any, they say as much as values."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from member_names(inner)
