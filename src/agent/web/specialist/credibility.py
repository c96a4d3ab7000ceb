"""How far a source can be believed, and why: by who answers for it, never by what it claims of itself."""

from __future__ import annotations

import functools
import ipaddress
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import cast

from agent.web.address import host_of, source_of
from agent.web.specialist.evidence import Grade, Level
from agent.web.specialist.terms import Terms, plain

_LIST = "credibility.json"
_SHORTEST_NAME = 4
"""Letters of a name that a host must share with a question to be the subject's own."""


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
    if host in {"localhost", ""} or host.endswith((".localhost", ".local", ".internal", ".lan")) or "." not in host:
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
