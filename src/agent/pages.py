"""Pages of the web as decisions name them: by address, or by a link of the page that was read last."""

from __future__ import annotations

import re
from dataclasses import replace

from agent.state import Decision, State, Step
from agent.web.address import is_address

_LINK = re.compile(r"link\s*#?\[?(\d{1,6})\]?", re.IGNORECASE)
_READ = "read_file "


def means_page(decision: Decision) -> bool:
    """Whether a decision is to read a page, and not a file."""
    return decision.action == "read_file" and (is_address(decision.file) or _link_of(decision.file) is not None)


def resolved(decision: Decision, state: State) -> Decision:
    """The decision with the address in place of a link's number, where the page has such a link."""
    number, page = _link_of(decision.file), state.get("open_page")
    if decision.action != "read_file" or number is None or page is None:
        return decision
    links = page["links"]
    return replace(decision, file=links[number - 1]) if 1 <= number <= len(links) else decision


def no_such_link(decision: Decision, state: State) -> str | None:
    """Why a link cannot be followed; None when it can, or when no link is meant."""
    if decision.action != "read_file" or _link_of(decision.file) is None:
        return None
    page = state.get("open_page")
    if page is None:
        return f"{decision.file!r} is a link of no page: no page was read yet; give an address."
    if is_address(resolved(decision, state).file):
        return None
    count = len(page["links"])
    there = f"its links are 1 to {count}" if count else "it has no links"
    return f"{page['url']} has no {decision.file!r}: {there}."


def is_page_read(step: Step) -> bool:
    """Whether a step read a page of the web."""
    return step["action"] == "read_file" and is_address(step["input"].removeprefix(_READ).split(" ")[0])


def _link_of(text: str) -> int | None:
    match = _LINK.fullmatch(text.strip())
    return int(match[1]) if match else None
