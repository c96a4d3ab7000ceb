"""Helpers for elements of OpenDocument files: names, attributes, authors and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any


def name_of(element: Any) -> str:
    """Return the name of an element, with a prefix for OpenDocument namespaces: `text:p`, `creator`."""
    if not isinstance(element.tag, str):
        return ""
    space, _, name = element.tag.rpartition("}")
    words = space.split(":")
    return f"{words[-2]}:{name}" if space.startswith("{urn:") and len(words) > 2 else name


def get(element: Any, name: str) -> str:
    """Return the attribute with this name, in any namespace."""
    return next((str(value) for key, value in element.items() if key.rpartition("}")[2] == name), "")


def count_in(element: Any, name: str) -> int:
    """Return the number in an attribute; 1 if it is missing."""
    text = get(element, name)
    return int(text) if text.isdecimal() else 1


def children(parent: Any, name: str) -> list[Any]:
    """Return the children with this name."""
    return [one for one in parent if name_of(one) == name]


def within(node: Any, name: str) -> Iterator[Any]:
    """Yield the elements with this name, including those in groups, but not those in nested tables."""
    for child in node:
        if name_of(child) == name:
            yield child
        elif name_of(child).startswith("table:table-") and name_of(child) != "table:table-cell":
            yield from within(child, name)


def author_of(node: Any) -> str:
    """Return the author and date of a comment or change; `nobody` if there is no author."""
    authors = ["".join(one.itertext()) for one in node.iter("{*}creator")][:1]
    return ", ".join([*(authors or ["nobody"]), *dates_in(node)[:1]])


def dates_in(node: Any) -> list[str]:
    """Return the dates in an element, in ISO 8601, without times."""
    return [(one.text or "")[:10] for one in node.iter("{http://purl.org/dc/elements/1.1/}date") if one.text]


def spaced(text: str | None) -> str:
    """Collapse white space, as HTML does."""
    return re.sub(r"[ \t\r\n]+", " ", text or "")
