"""Parts that the scripts of bash and zsh share: the patterns of their `case`."""

from __future__ import annotations

from collections.abc import Iterator

from agent.cli.completing.commands import Completed, Value


def quoted(text: str) -> str:
    """A text in single quotes, in which a shell changes nothing."""
    return "'" + text.replace("'", "'\\''") + "'"


def leading(places: list[Completed]) -> Iterator[str]:
    """What each earlier word does: it leads on to another place, or takes the next word as its value."""
    for pattern, _ in valued(places):
        yield f"{pattern}) skip=1 ;;"
    for place in places:
        here = " ".join(place.path)
        for name, _ in place.commands:
            yield f"{quoted(f'{here}:{name}')}) at={quoted(f'{here} {name}'.strip())} ;;"


def valued(places: list[Completed]) -> Iterator[tuple[str, Value]]:
    """A pattern for each option that takes a value, and what the value may be."""
    for place in places:
        for option in place.options:
            if option.value is not None:
                spelt = (quoted(f"{' '.join(place.path)}:{spelling}") for spelling in option.spellings)
                yield "|".join(spelt), option.value
