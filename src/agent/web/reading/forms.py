"""The forms of a page: how and where they are sent, and what may be filled in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent.web.reading.source import absolute
from mcp_tools.text import one_line

_MOST = 10
_MOST_FIELDS = 30
_MOST_OPTIONS = 30
_VALUE = 60
"""Characters of a value or an option."""
_LINE = 800
_BUTTONS = frozenset({"submit", "button", "reset", "image"})


def forms_of(tree: Any, url: str) -> list[str]:
    """Each form on a line: `GET https://a.example/search: q (text); lang (one of en=English, de=Deutsch)`.

    Args:
        tree: The page.
        url: Where it was.
    """
    base = next((absolute(url, href) for href in tree.xpath("//base/@href")), "") or url
    found = []
    for form in tree.xpath("//form")[:_MOST]:
        if target := absolute(base, form.get("action") or url):
            fields = "; ".join(list(_fields(form))[:_MOST_FIELDS]) or "no fields"
            found.append(one_line(f"{(form.get('method') or 'get').upper()} {target}: {fields}", _LINE))
    return found


def _fields(form: Any) -> Iterator[str]:
    chosen: dict[str, list[str]] = {}
    for field in form.iter("input", "select", "textarea", "button"):
        name, kind = field.get("name"), (field.get("type") or field.tag).lower()
        if not name:
            continue
        if kind == "radio":
            if name not in chosen:
                chosen[name] = [
                    _short(one.get("value") or "on") for one in form.iter("input") if one.get("name") == name
                ]
                yield f"{name} (one of {_listed(chosen[name])})"
        elif field.tag == "select":
            several = "some" if field.get("multiple") is not None else "one"
            yield f"{name} ({several} of {_listed([_option(one) for one in field.iter('option')])})"
        else:
            value = field.get("value") or ""
            what = {"input": "text", "textarea": "long text"}.get(kind, "button" if kind in _BUTTONS else kind)
            yield f"{name} ({what}{f', {_short(value)}' if value else ''})"


def _option(option: Any) -> str:
    text = _short(option.text_content())
    value = option.get("value")
    return text if value is None or value == text else f"{_short(value)}={text}"


def _listed(options: list[str]) -> str:
    more = f" and {len(options) - _MOST_OPTIONS} more" if len(options) > _MOST_OPTIONS else ""
    return ", ".join(options[:_MOST_OPTIONS]) + more


def _short(text: str) -> str:
    return one_line(text, _VALUE)
