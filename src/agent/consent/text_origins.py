"""Texts that a run knows, by origin: the user's words, other people's text, the user's private data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice, pairwise
from urllib.parse import unquote_plus, urlsplit

from agent.consent.credentials import credentials_by_strength
from agent.consent.encodings import (
    DISTINCTIVE_CHARS,
    HIDDEN_SNIPPET_CHARS,
    KEY_CHARS,
    KEY_DIGITS,
    MAX_KEYS,
    SNIPPET_CHARS,
    WORDING_CHARS,
    decodings,
    key_index,
    normalized,
)
from agent.consent.user_paths import NamedPaths
from agent.web.address import canonical, host_of, source_of
from mcp_tools.definition import reads_like_orders
from mcp_tools.text import words

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
_GENERIC_WORDS = words("""
    get list read fetch find search query lookup show run call do tool of by for the to in from all with id and on
""")
"""Words in tool names that say nothing about the tool's purpose."""
_ABOUT_RUN = re.compile(
    r"\b(?:user'?s?|question|conversation|chat|prompt|(?:this|the) (?:message|request))\b", re.IGNORECASE
)
"""Finds words for the run itself. A tool whose description mentions them may collect private data."""


@dataclass(frozen=True)
class Origins:
    """Texts that a run knows, by origin."""

    wanted: str
    """The user's text: the question, and earlier questions of the conversation."""
    foreign: Sequence[str] = ()
    """Other people's text that a model has seen."""
    described: Sequence[str] = ()
    """Tool descriptions of external servers. Calls may use their example values, but must not open their addresses."""
    private: Sequence[str] = ()
    """The user's private data: attached files, and results of external servers."""
    answers: Sequence[str] = ()
    """A model's summary of earlier turns, which may contain private values."""
    sent: Sequence[Mapping[str, str]] = ()
    """Arguments of earlier actions, in parts, since a value may leak piece by piece."""
    secrets: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """Search results, pages that were read, and links on them, as in `links_by_form`."""
    trusts: Callable[[str], bool] = lambda _url: False
    """Returns True for an address on a well-known site, such as an encyclopedia."""

    _pieces_known: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _wanted(self) -> str:
        return normalized(self.wanted)

    @cached_property
    def _foreign(self) -> str:
        """Untrusted text without the addresses in `links`, which may be opened anyway."""
        text = "\n".join((*self.foreign, *self.described))
        return _ADDRESS.sub(lambda found: " " if canonical(found[0].rstrip(_END)) in self.links else found[0], text)

    @cached_property
    def _mentioned(self) -> str:
        """Untrusted text as written, with spelled-out dots removed, and decoded, to find hidden host names."""
        forms = (self._foreign, _WRITTEN_OUT.sub("", self._foreign), *decodings(self._foreign, slow=False))
        return "\n".join(map(normalized, forms))

    @cached_property
    def _foreign_only(self) -> str:
        return "\n".join(map(normalized, self.foreign))

    @cached_property
    def _private(self) -> str:
        return "\n".join(map(normalized, self.private))

    @cached_property
    def _sites(self) -> frozenset[str]:
        """The sites that the user names."""
        return frozenset(filter(None, map(source_of, _addresses(self.wanted))))

    @cached_property
    def known_sites(self) -> frozenset[str]:
        """The sites in `links`."""
        return frozenset(map(source_of, set(self.links.values())))

    @cached_property
    def _shown(self) -> str:
        return "\n".join((self.wanted, *self.foreign, *self.described))

    def is_shown(self, value: str) -> bool:
        """Return True if the user's text or shown text contains this value of three or more characters as words."""
        return len(value) > 2 and has_whole(value, self._shown)

    def is_link(self, url: str) -> bool:
        """Return True if exactly this address is in `links`, with or without its fragment."""
        link = self.links.get(url, "")
        return bool(link) and url in (link, link.partition("#")[0])

    def known_link_for(self, url: str) -> str:
        """Return the equivalent address in `links`, so that its spelling carries no data; else `url` itself."""
        return url if self.is_link(url) or url in self.wanted else self.links.get(canonical(url), url)

    def in_user_text(self, text: str) -> bool:
        """Return True if the user's text contains this text, ignoring case and punctuation."""
        plain = normalized(text)
        return not plain or plain in self._wanted

    @cached_property
    def words_of_user(self) -> list[str]:
        """The user's words and numbers. In scripts without spaces, each character is a word."""
        return _USER_WORD.findall(self.wanted.casefold())

    @cached_property
    def _edges(self) -> tuple[frozenset[int], frozenset[int]]:
        """The positions in the user's `normalized` text at which words begin and end."""
        ends = [*accumulate((len(normalized(word)) for word in self.words_of_user), initial=0)]
        return frozenset(ends[:-1]), frozenset(ends[1:])

    def user_wrote(self, text: str) -> bool:
        """Return True if the user wrote this text in whole words. A single letter does not count."""
        plain, (starts, ends) = normalized(text), self._edges
        places = (at for at in starts if self._wanted.startswith(plain, at) and at + len(plain) in ends)
        return not plain or (next(places, None) is not None and (len(plain) > 1 or plain > "\u2e80"))

    @cached_property
    def paths(self) -> NamedPaths:
        """The paths that the user names."""
        return NamedPaths(self.wanted)

    def is_in_named_folder(self, path: str) -> bool:
        """Return True if the path exists in a folder that the user names."""
        return bool(self.paths.below(path)) and os.path.lexists(os.path.expanduser(path))  # noqa: PTH111

    def names_site(self, url: str) -> bool:
        """Return True if the user names the site of an address."""
        return source_of(url) in self._sites or (bool(host_of(url)) and host_of(url) in self.wanted.casefold())

    def names_tool(self, name: str) -> bool:
        """Return True if the user's text contains the words of a tool's name, with any endings."""
        words = [word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name.rpartition("__")[2])]
        own = set(_TOKENS.findall(self.wanted.casefold()))
        telling = [word for word in words if word not in _GENERIC_WORDS] or words
        return bool(telling) and all(any(_is_alike(word, one) for one in own) for word in telling)

    def is_user_sentence(self, values: Sequence[str]) -> bool:
        """Return True if an argument copies a sentence of the user, not just a name or a value."""
        longest = max(map(len, map(normalized, filter(self.in_user_text, values))), default=0)
        return longest >= SNIPPET_CHARS or 2 * longest > max(len(self._wanted), SNIPPET_CHARS)

    @cached_property
    def gives_orders(self) -> bool:
        """True if a tool description gives orders to models or asks about the user."""
        return any(_ABOUT_RUN.search(text) or reads_like_orders(text) for text in self.described)

    def secret_in(self, text: str) -> bool:
        """Return True if a text contains a secret, either in clear or encoded."""
        return key_index(tuple(one for one in self.secrets if len(normalized(one)) > 4)).is_in(text)

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """Private credentials and words that look like keys, unless the user wrote them in the question."""
        texts = (*self.private, *self.answers)
        strong, weak = zip(*map(credentials_by_strength, texts), strict=True) if texts else ((), ())
        like_keys = (token for text in texts for token in codes_in(text))
        found = dict.fromkeys((*chain(*strong), *chain(*weak), *islice(like_keys, MAX_KEYS)))
        return tuple(value for value in found if normalized(value) not in self._wanted)

    def holds_key(self, text: str) -> bool:
        """Return True if a text contains a private key in any form, or if there are too many keys to check."""
        return len(self._keys) > 2 * MAX_KEYS or key_index(self._keys).is_in(text)

    def holds_value(self, text: str) -> bool:
        """Return True if a text contains a private key or code that the user did not write."""
        if self.holds_key(text):
            return True
        written = {code for one in (text, *decodings(text)) for code in codes_in(one)}
        known = f"{self._private}\n{self._answered}"
        return any(code in known and code not in self._wanted for code in map(normalized, written))

    def completes_key(self, now: Mapping[str, str]) -> bool:
        """Return True if this action's parts, together with the parts of earlier actions, spell a private key."""
        index, own = key_index(self._keys), ""
        for name, value in now.items():
            if index.is_completed(own, value):
                return True
            own += value
            same = "".join(one.get(name, "") for one in self.sent)
            alike = "".join(of for one in self.sent for at, of in one.items() if at.split()[0] == name.split()[0])
            if index.is_completed(same, value) or index.is_completed(alike, value):
                return True
        return False

    @cached_property
    def _answered(self) -> str:
        return "\n".join(map(normalized, self.answers))

    def _pieces_of_private(self, size: int) -> frozenset[str]:
        if size not in self._pieces_known:
            self._pieces_known[size] = frozenset(_pieces(self._private, size))
        return self._pieces_known[size]

    def carries(self, text: str, piece: int = SNIPPET_CHARS) -> bool:
        """Return True if a text contains `piece` characters in a row of private data that the user did not write."""
        plain = normalized(unquote_plus(text))
        if any(part in self._pieces_of_private(piece) and part not in self._wanted for part in _pieces(plain, piece)):
            return True
        encoded = {normalized(found) for found in decodings(text)} - {plain}
        hidden = [form for found in encoded for form in _pieces(found, HIDDEN_SNIPPET_CHARS)]
        if any(part in self._pieces_of_private(HIDDEN_SNIPPET_CHARS) and part not in self._wanted for part in hidden):
            return True
        keys = (normalized(token) for token in _TOKEN.findall(unquote_plus(text)))
        return any(key in self._private and key not in self._wanted for key in keys if _is_key(key))

    @cached_property
    def _names_in_private(self) -> frozenset[frozenset[str]]:
        """Pairs of adjacent words that do not start with a lower-case letter, which are mostly names."""
        return frozenset(
            frozenset((one.casefold(), other.casefold()))
            for text in self.private
            for line in text.splitlines()
            for one, other in pairwise(_WORD.findall(line))
            if min(len(one), len(other)) > 2 and not one[0].islower() and not other[0].islower()
        )

    def names_private(self, query: str) -> bool:
        """Return True if a query contains a private title, name or number that the user did not write."""
        words, wanted = frozenset(_words(query)), frozenset(_words(self.wanted))
        if any(pair <= words and not pair <= wanted for pair in self._names_in_private):
            return True
        numbered = (normalized(token) for token in _NUMBERED.findall(query) if _is_code(token))
        if any(token in self._private and token not in self._wanted for token in numbered):
            return True
        return self.carries(query)

    def names_host(self, url: str) -> bool:
        """Return True if the user names exactly this address's host."""
        named = (host_of(address if "://" in address else f"//{address}") for address in _addresses(self.wanted))
        return bool(host := host_of(url)) and host in named

    def is_worded_by_others(self, task: str, new: int = 0) -> bool:
        """Return True if the task repeats a run of words from untrusted text that the user did not write.

        Args:
            task: The task of a browser.
            new: Minimum number of words in the run that are not in the user's text.
        """
        own = set(map(normalized, self.wanted.split()))
        words = [normalized(word) for word in task.split()]
        for at in range(len(words) - 1):
            run, others = words[at], int(words[at] not in own)
            for word in words[at + 1 :]:
                run, others = run + word, others + (word not in own)
                if run not in self._foreign_only:
                    break
                if len(run) >= WORDING_CHARS and run not in self._wanted and others >= new:
                    return True
        return False

    def mentions_site(self, url: str) -> bool:
        """Return True if untrusted text names the address's site in any spelling."""
        site = source_of(url)
        name = normalized(site)
        if site and site in self._foreign.casefold():
            return True
        return len(name) >= DISTINCTIVE_CHARS and name in self._mentioned

    def is_in_foreign_text(self, text: str) -> bool:
        """Return True if untrusted text contains this text and it is long enough to be distinctive."""
        plain = normalized(text)
        return len(plain) > (2 if plain.isdigit() else 3) and plain in self._foreign_only

    def has_request_of(self, address: str) -> bool:
        """Return True if untrusted text contains this address's path and query, since such a request may act."""
        path, asks, query = address.partition("/")[2].partition("?")
        plain = normalized(path + query)
        return bool(asks) and len(plain) >= DISTINCTIVE_CHARS and plain in self._mentioned

    @cached_property
    def foreign_addresses(self) -> tuple[str, ...]:
        """Addresses of pages that are written out in untrusted text."""
        addresses = map(canonical, _addresses(self._foreign))
        return tuple(address for address in addresses if "/" in address or "?" in address)


def has_whole(value: str, text: str) -> bool:
    """Return True if a text contains a value in whole words."""
    return value in text and bool(re.search(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", text))


@lru_cache(maxsize=2048)
def codes_in(text: str) -> tuple[str, ...]:
    """Return the words of a text that look like keys, or like contract or customer numbers."""
    return tuple(token for token in _CODES.findall(text) if _is_code(token))


def _addresses(text: str) -> list[str]:
    return [address.rstrip(_END) for address in (*_ADDRESS.findall(text), *_HOST.findall(text))]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _pieces(normalized: str, size: int) -> Iterator[str]:
    return (normalized[at : at + size] for at in range(len(normalized) - size + 1))


def _is_key(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    return digits >= KEY_DIGITS or (len(token) >= KEY_CHARS and 0 < digits < len(token))


def _is_code(token: str) -> bool:
    """Return True for a key or an identifier such as a customer number, not for a date, year or amount."""
    digits, letters = sum(map(str.isdigit, token)), sum(map(str.isalpha, token))
    is_long = digits >= 5 or (letters > 0 and digits > 0 and letters + digits >= 6)
    return is_long and not _DATE.fullmatch(token)


def beyond_host(url: str) -> str:
    """Return everything in an address except scheme and registered domain: the parts that can carry data."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    below = (parts.hostname or "").removesuffix(source_of(url))
    return " ".join((below, parts.username or "", parts.password or "", parts.path, parts.query, parts.fragment))


def _is_alike(word: str, other: str) -> bool:
    """Return True if two words differ only in their endings."""
    short, long = sorted((word, other), key=len)
    return word == other or (len(long) - len(short) <= 3 and long.startswith(short[: max(4, len(short) - 1)]))
