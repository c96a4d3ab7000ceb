"""The grades of a source: how far it can be believed, by who answers for it, and what it has to do with a question."""

from __future__ import annotations

import functools
import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import cast

from agent.web.address import host_of, is_local, source_of
from agent.web.specialist.evidence import Grade, Level
from agent.web.specialist.terms import Terms, plain, stem_of, stems_of

_LIST = "credibility.json"
_SHORTEST_NAME = 4
"""Letters of a name that a host must share with a question to be the subject's own."""
_HIGH, _MEDIUM = 0.75, 0.4
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source."""

    level: Level
    why: str
    hosts: frozenset[str]
    """Each stands for its subdomains too; one without a point is a top level."""
    labels: frozenset[str]
    """Second levels of countries: `ac` in `ox.ac.uk`."""


@functools.cache
def known_kinds() -> tuple[Kind, ...]:
    """The kinds that come with alita, `credibility.json`; the first that fits counts."""
    data = json.loads(files("agent.web.specialist").joinpath(_LIST).read_text("utf-8"))
    return tuple(
        Kind(kind["level"], kind["why"], frozenset(kind["hosts"]), frozenset(kind.get("labels", ()))) for kind in data
    )


def credibility_of(url: str, terms: Terms) -> Grade:
    """The grade of a source.

    Args:
        url: Where the page is.
        terms: Those of the question: a host that is named like its subject is the subject's own.
    """
    host = host_of(url)
    if _is_here(host):
        return Grade("medium", "a page of this machine or its network, which nobody else can check")
    kind = next((kind for kind in known_kinds() if _is_of(host, kind)), None)
    if kind is not None:
        return Grade(kind.level, kind.why)
    if named := _subject(url, terms):
        return Grade("high", f"the own site of {named}, which knows itself best and judges itself mildly")
    return Grade("medium", "nothing is known of who is behind it")


def rank(level: Level) -> int:
    """Levels in order: a better one is higher."""
    return cast(dict[str, int], {"low": 0, "medium": 1, "high": 2})[level]


def _is_of(host: str, kind: Kind) -> bool:
    labels = host.split(".")
    endings = {".".join(labels[i:]) for i in range(len(labels))}
    of_country = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in kind.labels
    return bool(endings & kind.hosts) or of_country


def _subject(url: str, terms: Terms) -> str:
    """The name of the question that the registered domain is made of; empty where there is none."""
    domain = source_of(url).split(".")[0].replace("-", "")
    for name in terms.names:
        letters = "".join(c for c in plain(name) if c.isalnum())
        if len(letters) >= _SHORTEST_NAME and not letters.isdigit() and letters == domain:
            return name
    return ""


def _is_here(host: str) -> bool:
    if is_local(host):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def relevance_of(stems: Iterable[str], terms: Terms) -> Grade:
    """The grade of a page, or of a hit, by which of the question's words it has.

    Args:
        stems: The words of it, as `terms.stems_of` gives them.
        terms: Those of the question.
    """
    there = set(stems)
    share = terms.share(there)
    has = [word for word in terms.words if stem_of(word) in there]
    lacks = [word for word in terms.words if stem_of(word) not in there]
    why = f"it has {_listed(has)}" if has else "it has none of the question's words"
    if not lacks and has:
        why = f"it has all of {_listed(has)}"
    elif lacks and has:
        why += f", not {_listed(lacks)}"
    named = terms.lacking(there)
    level: Level = "high" if share >= _HIGH and not named else "medium" if share >= _MEDIUM else "low"
    return Grade(level, why)


def words_of_hit(title: str, snippet: str, url: str) -> list[str]:
    """The words that a hit shows."""
    return stems_of(f"{title} {snippet} {url.replace('/', ' ').replace('-', ' ').replace('_', ' ')}")


def _listed(words: list[str]) -> str:
    shown = ", ".join(words[:_MOST_NAMED])
    return f"{shown} and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else shown
