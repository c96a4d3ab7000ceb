"""Short access to the contents of a file."""

from __future__ import annotations

from collections.abc import Callable

from agent.files.contents import Contents, Section

Open = Callable[..., Contents]
"""The fixture `open_file`."""


def text_of(contents: Contents) -> str:
    """Return the text of all sections."""
    return "\n\n".join(section.text for section in contents.sections())


def named(contents: Contents) -> list[str]:
    return [section.name for section in contents.sections()]


def first(contents: Contents) -> Section:
    return next(contents.sections())
