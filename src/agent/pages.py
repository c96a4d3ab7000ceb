"""Pages of the web as decisions name them: by address, or by a link that was shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.state import Decision, State, Step
from agent.web.address import is_address

if TYPE_CHECKING:
    from agent.web.protocol import Page

_LINK = re.compile(r"link\s*#?\[?(\d{1,6}(?:\.\d{1,6})?)\]?", re.IGNORECASE)
_SHOWN = re.compile(r"\]\[(\d{1,6})\]")
_READ = "read_file "


def means_page(decision: Decision) -> bool:
    """Whether a decision is to read a page, and not a file."""
    return decision.action == "read_file" and (is_address(decision.file) or _link_of(decision.file) is not None)


def links_in(text: str, page: Page, number: int) -> dict[str, str]:
    """The addresses of the links that a part of a page shows, by the names that they keep through the whole run.

    Args:
        text: What is shown of the page.
        page: The page.
        number: Of the step that shows it.
    """
    shown = sorted({int(n) for n in _SHOWN.findall(text)})
    return {f"{number}.{n}": page.links[n - 1] for n in shown if 1 <= n <= len(page.links)}


def resolved(decision: Decision, state: State) -> Decision:
    """The decision with the address in place of a link, where there is such a link."""
    found = _addresses(decision.file, state) if decision.action == "read_file" else set()
    return replace(decision, file=min(found)) if len(found) == 1 else decision


def no_such_link(decision: Decision, state: State) -> str | None:
    """Why a link cannot be followed; None when it can, or when no link is meant."""
    if decision.action != "read_file" or (name := _link_of(decision.file)) is None:
        return None
    links = state.get("links", {})
    if not links:
        return f"{decision.file!r} is a link of no page: no page with links was read yet; give an address."
    if len(_addresses(decision.file, state)) > 1:
        meant = " or ".join(f"`link {link}`" for link in links if link.endswith(f".{name}"))
        return f"Several pages have a {decision.file!r}: say {meant}."
    if is_address(resolved(decision, state).file):
        return None
    last = [link for link in links if link.split(".")[0] == next(reversed(links)).split(".")[0]]
    return f"There is no {decision.file!r}: the links of the page read last are {last[0]} to {last[-1]}."


def is_page_read(step: Step) -> bool:
    """Whether a step read a page of the web."""
    return step["action"] == "read_file" and is_address(step["input"].removeprefix(_READ).split(" ")[0])


def _link_of(text: str) -> str | None:
    match = _LINK.fullmatch(text.strip())
    return match[1] if match else None


def _addresses(text: str, state: State) -> set[str]:
    """What a link's name may mean: its number alone means the link of every page that has it."""
    name = _link_of(text)
    return {url for link, url in state.get("links", {}).items() if name and f".{link}".endswith(f".{name}")}
