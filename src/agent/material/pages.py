"""Web pages: resolves the address or link in a decision, and formats the part that a step shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.files.kinds import KINDS
from agent.state import Decision, State, Step
from agent.web.address import canonical, is_address
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from agent.material.workspace import Workspace
    from agent.web.page import Page

_LINK = re.compile(r"link\s*#?\[?(\d{1,7})\]?", re.IGNORECASE)
_SHOWN = re.compile(r"\]\(link (\d{1,7})\)")
_MARKED = re.compile(r"\[([^\[\]\n]*)\]\(link \d{1,7}\)")
_READ = "read_file "
_ADDRESS = 200
_FORMS = 2_000
_HEADER = 120
_MOST_TABLES = 20
_LONGEST_TEXT = 2_000_000  # maximum characters of a file that a program gets as text
_TEXTS = frozenset(kind.name for kind in KINDS.values() if kind.is_text and kind.for_programs != "a text copy")
"""Kinds of files that contain text."""
_SCRIPTS = {
    "plain": "Scripts were not run.",
    "rendered": "Scripts were run in a browser.",
    "archive": "It is an archived copy; scripts were not run.",
    "firecrawl": "It was read through Firecrawl, which runs scripts, and leaves out menus, head and foot.",
}


@dataclass(frozen=True, slots=True)
class ShownPage:
    """The part of a page that a step shows."""

    finding: str
    """Untrusted text with its location, for a data block."""
    note: str
    """alita's own text, without words from the page."""
    text: str
    """Only the text of the part."""
    links: dict[str, str]
    """Addresses of all links on the page, by their numbers."""


def shown_page(
    page: Page,
    decision: Decision,
    source: int,
    known: Mapping[str, str],
    *,
    reading: int,
    addresses: int,
    workspace: Workspace | None = None,
    is_new: bool = True,
    is_previewed: bool = False,
) -> ShownPage:
    """Return a part of a page, or the lines with some words. The full page is saved in the workspace.

    Args:
        page: The page.
        decision: The decision, with the part or the words.
        source: The number by which the run cites the page.
        known: Links that already have numbers. The other links get the next numbers.
        reading: Maximum characters of the part.
        addresses: Maximum characters of all link addresses together.
        workspace: The workspace, which keeps the page for programs to read.
        is_new: True for the first reading of the page. Later readings do not repeat its forms and files.
        is_previewed: True if the page is a file whose preview was shown. The first page of a data file would add
            nothing.

    Raises:
        WebProblem: The page has no such part.
    """
    from agent.material.attached import DATA
    from agent.web.reading.paged import PagePart, screen_of

    page, links = _renumbered(page, known)
    is_found = bool(decision.find.strip())
    screen = screen_of(page, decision.page, decision.find, size=reading)
    if is_previewed and addresses and page.kind in DATA and not is_found and decision.page == 1:
        screen = PagePart("", "the preview of the file, which is kept unchanged")
    text = printable(screen.text)
    about, files = _kept(page, links, source, workspace if is_new and page.path is None else None)
    finding = [
        _head(page, decision, source),
        f"{screen.label}{':' if text else '.'}" if is_found else "",
        text,
        *([_link_lines(text, links, addresses), *(_about_forms(page) if is_new else []), *about] if addresses else []),
        " ".join(page.notes) if is_new else "",
    ]
    has_links = "`link N` follows the link [text](link N), now and later." if _SHOWN.search(text) else ""
    scripts = _SCRIPTS.get(page.via, "") if page.kind == "html" else ""
    note = ["" if is_found else f"Shown: {screen.label}.", *([scripts, *page.remarks] if is_new else [])]
    return ShownPage(
        finding="\n".join(line for line in finding if line),
        note=" ".join(filter(None, [*note, has_links, files if addresses else ""])),
        text=text,
        links=links,
    )


def text_for_program(page: Page) -> str:
    """Return a page for a program: the unchanged text of a file, else the page as Markdown."""
    from agent.files.contents import FileProblem, Source
    from agent.files.text import text_encoding

    if page.path is None or page.kind not in _TEXTS:
        return cut_for_program(page.whole)
    try:
        with text_encoding(Source(page.path, page.kind)).open(page.path) as stream:
            return cut_for_program(stream.read(_LONGEST_TEXT + 1), f"open({str(page.path)!r}) has the rest")
    except (FileProblem, OSError, ValueError):  # a replay may have no files
        return cut_for_program(page.whole)


def cut_for_program(text: str, rest: str = "") -> str:
    """Return the text. If it is too long, return its beginning with a last line that says so."""
    if len(text) <= _LONGEST_TEXT:
        return text
    kept = "; ".join(filter(None, [f"the first {_LONGEST_TEXT:,} characters", rest]))
    return f"{text[:_LONGEST_TEXT]}\n[Cut here: {kept}]"


def means_page(decision: Decision) -> bool:
    """Return True if a decision is to read a page rather than a file."""
    return decision.action == "read_file" and (is_address(decision.file) or _link_of(decision.file) is not None)


def resolved(decision: Decision, state: State) -> Decision:
    """Return the decision with a link replaced by its address, if the link exists."""
    name = _link_of(decision.file) if decision.action == "read_file" else None
    return replace(decision, file=state.get("links", {}).get(name or "", decision.file))


def no_such_link(decision: Decision, state: State) -> str | None:
    """Return why a link cannot be followed; None if it can, or if the decision names no link."""
    if decision.action != "read_file" or (name := _link_of(decision.file)) is None:
        return None
    links = state.get("links", {})
    if not links:
        return f"{decision.file!r} is a link of no page: no page with links was read yet; give an address."
    return None if name in links else f"There is no {decision.file!r}: the links have the numbers 1 to {len(links)}."


def is_page_read(step: Step) -> bool:
    """Return True if a step read a web page."""
    return step["action"] == "read_file" and is_address(step["input"].removeprefix(_READ).split(" ")[0])


def was_read(url: str, steps: Sequence[Step]) -> bool:
    """Return True if a step has read in a page."""
    read = (step["input"].removeprefix(_READ).split(" ")[0] for step in steps if step["ok"] and is_page_read(step))
    return canonical(url) in map(canonical, read)


def _link_of(text: str) -> str | None:
    match = _LINK.fullmatch(text.strip())
    return str(int(match[1])) if match else None


def _renumbered(page: Page, known: Mapping[str, str]) -> tuple[Page, dict[str, str]]:
    """Return the page with numbered links, and the links. A link keeps its number throughout the run."""
    numbers = {url: number for number, url in known.items()}
    following = max(map(int, known), default=0) + 1
    for place, url in enumerate([url for url in page.links if url not in numbers]):
        numbers[url] = str(following + place)

    def number(match: re.Match[str]) -> str:
        own = int(match[1])
        return f"](link {numbers[page.links[own - 1]]})" if 1 <= own <= len(page.links) else match[0]

    page = replace(page, markdown=_SHOWN.sub(number, page.markdown), around=_SHOWN.sub(number, page.around))
    return page, {numbers[url]: url for url in page.links}


def _head(page: Page, decision: Decision, source: int) -> str:
    where = f", looking for {decision.find!r}" if decision.find.strip() else ""
    dated = f", {page.published}" if page.published else ""
    return f"read_file {page.url}{where} [{source}]: {one_line(page.title, 160)} ({page.kind}{dated})"


def _link_lines(text: str, links: Mapping[str, str], room: int) -> str:
    """Return the addresses of a part's links, shortened to paths if all are on one site."""
    shown = {number: links[number] for number in _SHOWN.findall(text) if number in links}
    if not shown:
        return ""
    sites = ["/".join(url.split("/", 3)[:3]) for url in shown.values()]
    site = max(sites, key=sites.count)
    is_common = sites.count(site) > 2
    lines = [f"Links (those that begin with / are at {site}):" if is_common else "Links:"]
    for number, url in shown.items():
        # in a query, every character counts
        is_path = is_common and url.startswith(f"{site}/") and not urlsplit(url).query
        line = f"{number} {url.removeprefix(site) if is_path else url}"
        line = line if len(line) <= _ADDRESS else f"{line[:_ADDRESS]}…"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"and the addresses of {len(shown) - len(lines) + 1} more")
            break
        lines.append(line)
    return "\n".join(lines)


def _about_forms(page: Page) -> list[str]:
    fitting = [form for number, form in enumerate(page.forms, 1) if sum(map(len, page.forms[:number])) <= _FORMS]
    more = [f"and {len(page.forms) - len(fitting)} more forms"] if len(fitting) < len(page.forms) else []
    return ["Forms:", *fitting, *more] if page.forms else []


def _kept(page: Page, links: Mapping[str, str], source: int, workspace: Workspace | None) -> tuple[list[str], str]:
    """Save the page in files. Return texts about them: in the page's words, and in alita's."""
    if workspace is None:
        return [], ""
    files = [f"its whole text {workspace.keep_text(f'page_{source}.txt', page.whole)}"]
    if links:
        files.append(f"its links by number {workspace.keep_json(f'page_{source}.links.json', dict(links))}")
    about = []
    for number, rows in enumerate(list(tables_in(page.whole))[:_MOST_TABLES] if page.kind == "html" else [], 1):
        path = workspace.keep_table(f"page_{source}_table_{number}.csv", rows)
        header = one_line(" | ".join(rows[0]), _HEADER)
        about.append(f"Table {number} of the page, {len(rows) - 1} rows below `{header}`: {path}")
    return about, f"For programs: {', '.join(files)}."


def tables_in(markdown: str) -> Iterator[list[list[str]]]:
    """Return the tables of a text as rows of cells, header first. Links are reduced to their text."""
    rows: list[list[str]] = []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([_cell(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
            continue
        if len(rows) > 2 and all(re.fullmatch(r":?-+:?", cell) for cell in rows[1]):
            yield [rows[0], *rows[2:]]
        rows = []


def _cell(text: str) -> str:
    return _MARKED.sub(r"\1", text).replace("\\|", "|").replace("**", "").strip()
