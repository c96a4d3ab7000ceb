"""What a site asks of robots: the rules of robots.txt for us (RFC 9309)."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

TOKEN = "alita"  # noqa: S105  # the name that robots.txt calls us by
_MOST_RULES = 5000


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one site for us."""

    rules: tuple[tuple[str, bool], ...] = ()
    """Pattern of a path, and whether it is allowed."""

    def allows(self, path: str) -> bool:
        """Whether a path with its query may be read: the longest pattern decides, among equals the allowing one."""
        plain = _plain(path)
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, plain)]
        return max(fitting)[1] if fitting else True


def parse_robots(text: str) -> Robots:
    """The rules for us: those of the groups that name us, else those for everybody."""
    named: list[tuple[str, bool]] = []
    everybody: list[tuple[str, bool]] = []
    for_us, for_all = False, False
    in_rules, is_named = False, False
    for line in text.removeprefix("\ufeff").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            if in_rules:  # another group begins
                for_us, for_all, in_rules = False, False, False
            for_us, for_all = for_us or _is_us(value), for_all or value == "*"
            is_named = is_named or for_us
        elif key in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            if key == "crawl-delay" or not value:
                continue
            rule = (_plain(value), key == "allow")
            if for_us:
                named.append(rule)
            if for_all:
                everybody.append(rule)
    return Robots(tuple((named if is_named else everybody)[:_MOST_RULES]))


def _is_us(agent: str) -> bool:
    return agent.lower().partition("/")[0].strip() == TOKEN


def _plain(path: str) -> str:
    """One form for paths that are written with and without percent signs."""
    return quote(unquote(path), safe="/?&=*$%:@!'();,+~[]")


def _fits(pattern: str, path: str) -> bool:
    """Whether a path begins as the pattern says; `*` is any text, `$` at the end is the end. Without backtracking."""
    ends = pattern.endswith("$")
    first, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, piece in enumerate(pieces, 1):
        if ends and number == len(pieces):
            return len(path) - len(piece) >= at and path.endswith(piece)
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not ends or at == len(path)
