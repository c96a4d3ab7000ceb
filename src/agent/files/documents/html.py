"""Reader of web pages: converts HTML to Markdown."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from bs4 import BeautifulSoup, Comment
from markdownify import ATX, MarkdownConverter

from agent.files.contents import Contents, FileProblem, ReadLimits, Source, TextContents, in_sections
from agent.files.documents.package import Drawings
from mcp_tools.text import count_of, one_line

MAX_PAGE_BYTES = 32 * 2**20
_PRINTED = re.compile(r"@media[^{]{0,200}\bprint\b[^{]{0,200}\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", re.IGNORECASE)
"""CSS rules for printing."""
_MOST_RULES = 5
_MOST_HIDING = 20
_ADDED = re.compile(r"""content\s*:\s*["'][^"']*\w""")
_DROPPED = ("script", "style", "noscript", "template", "iframe", "object", "embed", "canvas", "svg")
_BLOCKS = frozenset(
    ("nav", "main", "header", "footer", "aside", "menu", "form", "fieldset", "details", "summary", "dialog", "hgroup")
)
_HELD = re.compile(r"data:image/(png|jpeg|jpg|gif|webp|bmp);base64,(.*)", re.DOTALL)
_ABOUT = re.compile("description|author|keywords|creator|publisher|date|published|modified", re.IGNORECASE)
"""Names of `<meta>` elements that the summary shows."""
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")


def open_html(source: Source, limits: ReadLimits) -> Contents:
    """Read a web page."""
    size = source.path.stat().st_size
    if size > MAX_PAGE_BYTES:
        message = f"{source.name} has {size:,} bytes; the limit for pages is {MAX_PAGE_BYTES:,}."
        raise FileProblem("too_large", message)
    drawings = Drawings()
    page = HtmlPage(source.path.read_bytes(), drawings, picture_in)
    summary = f"Web page “{page.title}”." if page.title else "Web page without a title."
    summary += f" {page.tables} tables, {page.links} links."
    summary += "".join(f"\n{line}" for line in page.about)
    sections = in_sections(page.markdown.split("\n\n"), limits.section)
    return TextContents("html", summary, sections, lost=[*page.lost, *drawings.lost], data=drawings.pictures)


class HtmlPage:
    """A web page converted to Markdown.

    Args:
        content: The bytes of the page. Its encoding is declared or detected.
        drawings: Receives its pictures; if None, pictures are named by their addresses.
        find: Returns the content and the kind of a picture at an address; empty if it is unavailable.
    """

    def __init__(
        self,
        content: bytes | str,
        drawings: Drawings | None = None,
        find: Callable[[str], tuple[bytes, str]] | None = None,
    ) -> None:
        soup = BeautifulSoup(content, "lxml")
        self.lost: list[str] = []
        self.title = one_line(soup.title.get_text(), 300) if soup.title else ""
        facts = [
            (str(m.get("name") or m.get("property") or ""), m["content"]) for m in soup.find_all("meta", content=True)
        ]
        self.about = [f"{one_line(name)}: {one_line(str(fact), 500)}" for name, fact in facts if _ABOUT.search(name)][
            :20
        ]
        if drawings is not None and find is not None:
            for picture in soup.find_all("img", src=True):
                content, kind = find(str(picture["src"]))
                if content:
                    alt = one_line(str(picture.get("alt", "")), 300)
                    picture.replace_with(drawings.kept(content, kind, alt, "picture"))
        rules = _rules(soup)
        _strike_through(soup, rules)
        self._name_hidden(soup, rules)
        self._drop(soup)
        self.headings = [one_line(h.get_text(" "), 100) for h in soup.find_all(["h1", "h2", "h3"])]
        self.tables = len(soup.find_all("table"))
        self.links = len(soup.find_all("a", href=True))
        spanning = soup.find_all(["td", "th"], rowspan=True)
        if spanning or soup.find_all(["td", "th"], colspan=True):
            self.lost.append("Some table cells are merged: their text is in the first cell.")
        for table in {id(t): t for cell in spanning if (t := cell.find_parent("table"))}.values():
            _fill(soup, table)
        try:
            markdown = _Converter(heading_style=ATX, escape_misc=False, bullets="-").convert_soup(soup)
        except RecursionError:
            self.lost.append("The page is nested too deeply: its words are shown without headings, tables and links.")
            markdown = "\n".join(text for one in soup.descendants if isinstance(one, str) and (text := one.strip()))
        self.markdown = _BLANK_LINES.sub("\n\n", markdown).strip()

    def _drop(self, soup: BeautifulSoup) -> None:
        """Remove elements without text. Drawings and form fields are replaced by their words."""
        counts = {name: len(soup.find_all(name)) for name in _DROPPED}
        if named := ", ".join(f"{count} {name}" for name, count in counts.items() if count and name != "style"):
            self.lost.append(f"Omitted: {named}. Content that scripts would add is missing.")
        if framed := [str(frame["src"]) for frame in soup.find_all("iframe", src=True)]:
            self.lost.append(f"Pages in frames are not read: {one_line(', '.join(framed[:5]), 500)}.")
        media = soup.select("audio[src], video[src], source[src], track[src]")
        if played := [str(one["src"]) for one in media]:
            self.lost.append(f"Audio and video are not read: {one_line(', '.join(played[:5]), 500)}.")
        for element in soup.select("body [title]:not(a, img, iframe, input, svg *)"):
            if (title := str(element["title"]).strip()) and title not in element.get_text():
                element.append(f" ({title})")
        for element in soup.find_all("svg"):
            element.replace_with(" ".join(t.get_text(" ") for t in element.find_all(["text", "title", "desc"])))
        for element in soup.find_all([*_DROPPED, "head"]):
            element.extract()
        comments = [one.extract() for one in soup.find_all(string=lambda text: isinstance(text, Comment))]
        if any(one.strip() for one in comments):
            self.lost.append(f"{count_of(len(comments), 'comment')} omitted.")
        for element in soup.select("[aria-label]"):
            if not element.get_text(strip=True):
                element.append(str(element["aria-label"]))
        self._show_fields(soup)
        for picture in soup.find_all("img", src=re.compile("^data:")):
            picture["src"] = "inline"

    def _show_fields(self, soup: BeautifulSoup) -> None:
        secret = soup.find_all("input", type="hidden")
        if secret:
            names = ", ".join(str(field.get("name", "without a name")) for field in secret[:10])
            self.lost.append(f"{count_of(len(secret), 'hidden field')} omitted: {one_line(names, 300)}.")
        for field in soup.find_all("input"):
            if field.get("type") in ("submit", "button", "reset"):
                field.replace_with(f" [button {field.get('value', '')}] ")
            elif field.get("type") != "hidden" and (field.get("value") or field.get("placeholder")):
                value = field.get("value") or f"empty, {field.get('placeholder')}"
                field.replace_with(f" [field {field.get('name', '')}: {value}] ")

    def _name_hidden(self, soup: BeautifulSoup, rules: list[tuple[str, str]]) -> None:
        hiding = [selector for selector, body in rules if _HIDING.search(body)][:_MOST_HIDING]
        hidden = [*soup.select("[hidden]"), *soup.find_all(style=_HIDING)]
        hidden += [one for selector in hiding for one in _selected(soup, selector)]
        if hidden:
            count = len({id(one) for one in hidden})
            self.lost.append(
                f"{count_of(count, 'hidden element')} {'is' if count == 1 else 'are'} shown like the rest."
            )
        if any(_ADDED.search(body) for _, body in rules):
            self.lost.append("Text that styles add (content) is omitted.")


class _Converter(MarkdownConverter):
    """A converter that treats newer elements as blocks, and escapes `|` in cells."""

    def get_conv_fn(self, tag_name: str) -> Any:
        return super().get_conv_fn("div" if tag_name.lower() in _BLOCKS else tag_name)  # type: ignore[misc]  # it has no types

    def process_text(self, el: Any, parent_tags: Any = None) -> str:
        text = str(super().process_text(el, parent_tags))  # type: ignore[misc]  # it has no types
        return text.replace("|", "\\|") if parent_tags and parent_tags & {"td", "th"} else text


def picture_in(address: str) -> tuple[bytes, str]:
    """Return the picture in a `data:` address, and its kind; empty for other addresses."""
    held = _HELD.match(address)
    try:
        return (base64.b64decode(held[2]), held[1]) if held else (b"", "")
    except ValueError:
        return b"", ""


def _rules(soup: BeautifulSoup) -> list[tuple[str, str]]:
    """Yield the CSS selectors for screens, each with its declarations."""
    css = _PRINTED.sub("", "}".join(style.get_text() for style in soup.find_all("style")))
    return [
        (head.rpartition("{")[2].strip(), body.lower()) for head, _, body in (r.rpartition("{") for r in css.split("}"))
    ]


def _strike_through(soup: BeautifulSoup, rules: list[tuple[str, str]]) -> None:
    """Mark text that a style strikes through, since its author withdrew it."""
    for element in soup.find_all("strike"):
        element.name = "s"
    struck = [selector for selector, body in rules if "line-through" in body][:_MOST_RULES]
    others = [selector for selector, body in rules if "text-decoration" in body and selector not in struck]
    kept = {id(element) for selector in others[:_MOST_RULES] for element in _selected(soup, selector)}
    for element in [one for selector in [*struck, '[style*="line-through" i]'] for one in _selected(soup, selector)]:
        for text in element.find_all(string=True) if id(element) not in kept else ():
            if text.strip() and not text.find_parent(["s", "del", "style", "script"]):
                text.wrap(soup.new_tag("s"))


def _selected(soup: BeautifulSoup, selector: str) -> list[Any]:
    """Return the elements that a selector matches; none if it is invalid or unsupported, such as `::after`."""
    from soupsieve import SelectorSyntaxError

    try:
        return list(soup.select(selector))
    except (SelectorSyntaxError, RuntimeError, ValueError):
        return []


def _fill(soup: BeautifulSoup, table: Any) -> None:
    """Add empty cells below cells that span several rows."""
    waiting: dict[int, int] = {}
    for row in [one for one in table.find_all("tr") if one.find_parent("table") is table][:10_000]:
        place = 0
        for cell in [*row.find_all(["td", "th"], recursive=False), None]:
            while waiting.get(place, 0) > 0:
                waiting[place] -= 1
                empty = soup.new_tag("td")
                cell.insert_before(empty) if cell else row.append(empty)
                place += 1
            if cell:
                width = _number(cell.get("colspan"))
                waiting |= dict.fromkeys(range(place, place + width), _number(cell.get("rowspan")) - 1)
                place += width


def _number(value: Any) -> int:
    text = str(value or 1).strip()
    return min(max(int(text), 1), 1000) if text.isdecimal() else 1
