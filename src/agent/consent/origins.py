"""Texts that a run knows, by origin: the user's words, other people's text, the user's private data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, pairwise
from urllib.parse import unquote_plus, urlsplit

from agent.consent.carried import key_index, readings, squeezed
from agent.consent.labelled import values_by_strength
from agent.consent.named_paths import NamedPaths
from agent.web.address import canonical, host_of, source_of
from mcp_tools.definition import reads_like_orders

_ADDRESS = re.compile(r"https?://[^\s<>\"'“”‘’`\])}]+", re.IGNORECASE)
_HOST = re.compile(r"(?<![\w@.-])(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/[^\s<>\"'“”‘’`\])}]*)?", re.IGNORECASE)
_WRITTEN_OUT = re.compile(r"\s*[(\[]?\s*\b(?:dot|punkt|point|punto)\b\s*[)\]]?\s*", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9+_-]{12,}")
_TOKENS = re.compile(r"\w+")
_WORD = re.compile(r"[^\W\d_]+")
_USER_WORD = re.compile(r"\d+|[\u0e00-\u0eff\u2e80-\U0003ffff]|[^\W\d_\u0e00-\u0eff\u2e80-\U0003ffff]+")
_NUMBERED = re.compile(r"\d(?:[ ./-]?\d){4,}|\w+(?:[-./]\w+)*")
_CODES = re.compile(r"\d(?:[ .-]?\d){4,}(?!\w)|\w+(?:[-.]\w+)*")
_DATE = re.compile(r"(?:19|20)\d\d([-./ ]?)\d\d?(?:\1\d\d?)?|\d\d?[-./]\d\d?[-./](?:19|20)\d\d")
_END = ".,;:!?"
_PIECE = 24
"""Letters and digits in a row that no two texts have in common by chance; a title may be that long."""
_WORDING = 12
"""From this many characters on, in more than one word, text is the wording of an order."""
_HIDDEN_PIECE = 10
"""In a text that was encoded or turned round, which nobody does for an honest reason."""
_SURELY = 8
"""Letters of a host's name that do not occur together by chance."""
_DIGITS, _MIXED = 14, 16
"""Digits in a row, or letters and digits, that are a card, an account or a key."""
_MOST_KEYS = 10_000
"""With more than twice as many named values, none is looked for, and everything that may carry one is doubtful."""
_ORDINARY = frozenset(
    {
        "get",
        "list",
        "read",
        "fetch",
        "find",
        "search",
        "query",
        "lookup",
        "show",
        "run",
        "call",
        "do",
        "tool",
        "of",
        "by",
    }
    | {"for", "the", "to", "in", "from", "all", "with", "id", "and", "on"}
)
"""Words of tools' names that say nothing of what the tool is for."""


_OF_USER = re.compile(
    r"\b(?:user'?s?|question|conversation|chat|prompt|(?:this|the) (?:message|request))\b", re.IGNORECASE
)
"""Words for what a run is about: a tool that wants that wants more than values."""


@dataclass(frozen=True)
class Origins:
    """Texts that a run knows, by origin."""

    wanted: str
    """The user's text: the question, and earlier questions of the conversation."""
    foreign: Sequence[str] = ()
    """Other people's text that models have seen."""
    described: Sequence[str] = ()
    """Servers' descriptions of their tools: their example arguments may be used, but their addresses may not."""
    private: Sequence[str] = ()
    """The private part: attached files, and results of connected servers."""
    answers: Sequence[str] = ()
    """A model's summary of earlier turns: its values may come from data that was private then."""
    sent: Sequence[Mapping[str, str]] = ()
    """Arguments of earlier actions, in parts: a value may leave piece by piece."""
    secrets: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """Results of searches, pages that were read and their links, by the forms of `links_by_form`."""
    trusts: Callable[[str], bool] = lambda _url: False
    """True if an address belongs to a site known to be harmless, such as an encyclopedia."""

    _pieces_known: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _wanted(self) -> str:
        return squeezed(self.wanted)

    @cached_property
    def _foreign(self) -> str:
        """Other people's text without addresses that were found or linked, since these may be opened."""
        text = "\n".join((*self.foreign, *self.described))
        return _ADDRESS.sub(lambda found: " " if canonical(found[0].rstrip(_END)) in self.links else found[0], text)

    @cached_property
    def _mentioned(self) -> str:
        """All that foreign text may mean by a name, however it is written."""
        forms = (self._foreign, _WRITTEN_OUT.sub("", self._foreign), *readings(self._foreign, slow=False))
        return "\n".join(map(squeezed, forms))

    @cached_property
    def _told(self) -> str:
        return "\n".join(map(squeezed, self.foreign))

    @cached_property
    def _private(self) -> str:
        return "\n".join(map(squeezed, self.private))

    @cached_property
    def _sites(self) -> frozenset[str]:
        """The sites that the user names."""
        return frozenset(filter(None, map(source_of, _addresses(self.wanted))))

    @cached_property
    def known_sites(self) -> frozenset[str]:
        """The sites of what was found, read or linked."""
        return frozenset(map(source_of, set(self.links.values())))

    @cached_property
    def _shown(self) -> str:
        return "\n".join((self.wanted, *self.foreign, *self.described))

    def is_shown(self, value: str) -> bool:
        """Return True if a value of three or more characters occurs whole in the user's words or in shown texts."""
        return len(value) > 2 and stands_whole(value, self._shown)

    def is_link(self, url: str) -> bool:
        """Return True if exactly this address was found or linked; the fragment may be missing."""
        link = self.links.get(url, "")
        return bool(link) and url in (link, link.partition("#")[0])

    def meant(self, url: str) -> str:
        """Return the known link that this address stands for, so that its spelling carries nothing; else itself."""
        return url if self.is_link(url) or url in self.wanted else self.links.get(canonical(url), url)

    def is_wanted(self, text: str) -> bool:
        """Return True if the user wrote the text."""
        plain = squeezed(text)
        return not plain or plain in self._wanted

    @cached_property
    def words_of_user(self) -> list[str]:
        """The user's words and numbers; of a writing without spaces, each sign is one."""
        return _USER_WORD.findall(self.wanted.casefold())

    @cached_property
    def _edges(self) -> tuple[frozenset[int], frozenset[int]]:
        """The places in the user's `squeezed` words at which words begin and end."""
        ends = [*accumulate((len(squeezed(word)) for word in self.words_of_user), initial=0)]
        return frozenset(ends[:-1]), frozenset(ends[1:])

    def is_own(self, text: str) -> bool:
        """Return True if the user wrote it, in whole words; one letter says nothing."""
        plain, (starts, ends) = squeezed(text), self._edges
        places = (at for at in starts if self._wanted.startswith(plain, at) and at + len(plain) in ends)
        return not plain or (next(places, None) is not None and (len(plain) > 1 or plain > "\u2e80"))

    @cached_property
    def paths(self) -> NamedPaths:
        """The files and folders that the user names."""
        return NamedPaths(self.wanted)

    def is_in_named_folder(self, path: str) -> bool:
        """Return True if a file is there, in a folder that the user names."""
        return bool(self.paths.below(path)) and os.path.lexists(os.path.expanduser(path))  # noqa: PTH111

    def names_site(self, url: str) -> bool:
        """Return True if the user names the site of an address."""
        return source_of(url) in self._sites or (bool(host_of(url)) and host_of(url) in self.wanted.casefold())

    def names_tool(self, name: str) -> bool:
        """Return True if the user's words say what a tool's name says, in any of their endings."""
        words = [word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name.rpartition("__")[2])]
        own = set(_TOKENS.findall(self.wanted.casefold()))
        telling = [word for word in words if word not in _ORDINARY] or words
        return bool(telling) and all(any(_is_alike(word, one) for one in own) for word in telling)

    def is_wording(self, values: Sequence[str]) -> bool:
        """Return True if arguments hold a whole sentence of the user, not just a name or a value from it."""
        longest = max(map(len, map(squeezed, filter(self.is_wanted, values))), default=0)
        return longest >= _PIECE or 2 * longest > max(len(self._wanted), _PIECE)

    @cached_property
    def gives_orders(self) -> bool:
        """True if what servers say of their tools tells models what to do, or speaks of the user."""
        return any(_OF_USER.search(text) or reads_like_orders(text) for text in self.described)

    def secret_in(self, text: str) -> bool:
        """Return True if a text carries a secret, in clear or encoded."""
        return key_index(tuple(one for one in self.secrets if len(squeezed(one)) > 4)).is_in(text)

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """Values of the user that are for nobody else: those with a name such as TOKEN, and what looks like a key."""
        texts = (*self.private, *self.answers)
        strong, weak = zip(*map(values_by_strength, texts), strict=True) if texts else ((), ())
        like_keys = (token for text in texts for token in codes_in(text))
        found = dict.fromkeys((*chain(*strong), *chain(*weak), *islice(like_keys, _MOST_KEYS)))
        return tuple(value for value in found if squeezed(value) not in self._wanted)

    def holds_key(self, text: str) -> bool:
        """Return True if a text holds a key in some form.

        If there are more keys than can be looked for, each text may.
        """
        return len(self._keys) > 2 * _MOST_KEYS or key_index(self._keys).is_in(text)

    def holds_value(self, text: str) -> bool:
        """Return True if a text holds a private key or word with digits that the user did not write."""
        if self.holds_key(text):
            return True
        written = {code for one in (text, *readings(text)) for code in codes_in(one)}
        known = f"{self._private}\n{self._answered}"
        return any(code in known and code not in self._wanted for code in map(squeezed, written))

    def is_pieced(self, now: Mapping[str, str]) -> bool:
        """Return True if the parts of this and earlier actions together make up a key of the user's."""
        index, own = key_index(self._keys), ""
        for name, value in now.items():
            if index.is_pieced(own, value):
                return True
            own += value
            same = "".join(one.get(name, "") for one in self.sent)
            alike = "".join(of for one in self.sent for at, of in one.items() if at.split()[0] == name.split()[0])
            if index.is_pieced(same, value) or index.is_pieced(alike, value):
                return True
        return False

    @cached_property
    def _answered(self) -> str:
        return "\n".join(map(squeezed, self.answers))

    def _pieces_of_private(self, size: int) -> frozenset[str]:
        """Yield runs of letters and digits of a fixed length; the same for the same text."""
        if size not in self._pieces_known:
            self._pieces_known[size] = frozenset(_pieces(self._private, size))
        return self._pieces_known[size]

    def carries(self, text: str, piece: int = _PIECE) -> bool:
        """Return True if a text holds a piece of private data that the user did not write."""
        plain = squeezed(unquote_plus(text))
        if any(part in self._pieces_of_private(piece) and part not in self._wanted for part in _pieces(plain, piece)):
            return True
        encoded = {squeezed(found) for found in readings(text)} - {plain}
        hidden = [form for found in encoded for form in _pieces(found, _HIDDEN_PIECE)]
        if any(part in self._pieces_of_private(_HIDDEN_PIECE) and part not in self._wanted for part in hidden):
            return True
        keys = (squeezed(token) for token in _TOKEN.findall(unquote_plus(text)))
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
        """Return True if a query holds a private title, name or number that the user did not write."""
        words, wanted = frozenset(_words(query)), frozenset(_words(self.wanted))
        if any(pair <= words and not pair <= wanted for pair in self._names_in_private):
            return True
        numbered = (squeezed(token) for token in _NUMBERED.findall(query) if _is_code(token))
        if any(token in self._private and token not in self._wanted for token in numbered):
            return True
        return self.carries(query)

    def names_host(self, url: str) -> bool:
        """Return True if the user names the very host of an address."""
        named = (host_of(address if "://" in address else f"//{address}") for address in _addresses(self.wanted))
        return bool(host := host_of(url)) and host in named

    def is_worded_by_others(self, task: str, new: int = 0) -> bool:
        """Return True if foreign text has a longer run of these words and the user's text does not."""
        own = set(map(squeezed, self.wanted.split()))
        words = [squeezed(word) for word in task.split()]
        for at in range(len(words) - 1):
            run, others = words[at], int(words[at] not in own)
            for word in words[at + 1 :]:
                run, others = run + word, others + (word not in own)
                if run not in self._told:
                    break
                if len(run) >= _WORDING and run not in self._wanted and others >= new:
                    return True
        return False

    def mentions_site(self, url: str) -> bool:
        """Return True if foreign text names the site of an address in any spelling."""
        site = source_of(url)
        name = squeezed(site)
        return (bool(site) and site in self._foreign.casefold()) or (len(name) >= _SURELY and name in self._mentioned)

    def stands_there(self, text: str) -> bool:
        """Return True if foreign text contains something distinctive."""
        plain = squeezed(text)
        return len(plain) > (2 if plain.isdigit() else 3) and plain in self._told

    def tells_to_ask(self, address: str) -> bool:
        """Return True if foreign text has the request part of an address, which may act on the site."""
        path, asks, query = address.partition("/")[2].partition("?")
        plain = squeezed(path + query)
        return bool(asks) and len(plain) >= _SURELY and plain in self._mentioned

    @cached_property
    def addresses_told(self) -> tuple[str, ...]:
        """Addresses of single pages that stand in foreign text as text."""
        told = map(canonical, _addresses(self._foreign))
        return tuple(address for address in told if "/" in address or "?" in address)


def stands_whole(value: str, text: str) -> bool:
    """Return True if a text contains a value as whole words."""
    return value in text and bool(re.search(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", text))


@lru_cache(maxsize=2048)
def codes_in(text: str) -> tuple[str, ...]:
    """The words of a text that look like keys or numbers of contracts."""
    return tuple(token for token in _CODES.findall(text) if _is_code(token))


def _addresses(text: str) -> list[str]:
    return [address.rstrip(_END) for address in (*_ADDRESS.findall(text), *_HOST.findall(text))]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _pieces(squeezed: str, size: int) -> Iterator[str]:
    return (squeezed[at : at + size] for at in range(len(squeezed) - size + 1))


def _is_key(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    return digits >= _DIGITS or (len(token) >= _MIXED and 0 < digits < len(token))


def _is_code(token: str) -> bool:
    """Return True if a word is a key or an identifier such as a customer number, not a date, year or amount."""
    digits, letters = sum(map(str.isdigit, token)), sum(map(str.isalpha, token))
    is_long = digits >= 5 or (letters > 0 and digits > 0 and letters + digits >= 6)
    return is_long and not _DATE.fullmatch(token)


def beyond_host(url: str) -> str:
    """Return the part of an address that its owner controls: all but scheme and registered domain."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    below = (parts.hostname or "").removesuffix(source_of(url))
    return " ".join((below, parts.username or "", parts.password or "", parts.path, parts.query, parts.fragment))


def _is_alike(word: str, other: str) -> bool:
    """Return True if two words are equal apart from their endings."""
    short, long = sorted((word, other), key=len)
    return word == other or (len(long) - len(short) <= 3 and long.startswith(short[: max(4, len(short) - 1)]))
