"""What the pages say: which passages are quoted, what they answer, and what is still missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.context import Context
from agent.copied import stands_there
from agent.errors import ModelOutputError
from agent.models.protocol import Role
from agent.web.address import host_of
from agent.web.specialist.evidence import Quote, Wanted
from agent.web.specialist.planning import usable, words_of
from agent.web.specialist.quoting import ReadPage, Scored
from agent.web.specialist.terms import Terms, stems_of
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt

_SHOWN = 24
"""Passages that the model chooses from."""
_OF_A_PAGE = 8
_QUOTED = 10
"""Passages that it may choose."""
_BY_RULE = 3
"""Quotations of the best page where rules choose; of each other page one less."""
MOST_MISSING = 3
_TOKENS = 400


@dataclass(slots=True)
class Assessment:
    """What was made of the pages."""

    quotes: dict[str, tuple[Quote, ...]] = field(default_factory=dict)
    """By the page's address; the most telling first."""
    answer: str = ""
    """Copied from a quotation; empty where none states it."""
    missing: list[str] = field(default_factory=list)
    queries: tuple[str, ...] = ()
    """What would find what is missing."""
    differ: str = ""
    """Where sources contradict each other, in a sentence."""


async def assess(wanted: Wanted, pages: Sequence[ReadPage], terms: Terms, context: Context) -> Assessment:
    """The model's assessment of the pages; that of rules where it gives none."""
    try:
        return await _asked(wanted, pages, context)
    except ModelOutputError:
        return by_rule(wanted, pages, terms)


def by_rule(wanted: Wanted, pages: Sequence[ReadPage], terms: Terms) -> Assessment:
    """The best passages of each page; what is named in the question and in none of them is missing."""
    ordered = sorted(pages, key=lambda read: -best_score(read))
    quotes = {
        read.page.url: tuple(scored.passage.quote for scored in read.passages[: _BY_RULE - (place > 0)])
        for place, read in enumerate(ordered)
    }
    there = {stem for read in pages for stem in _stems_quoted(read, quotes[read.page.url])}
    missing = [name for name in terms.lacking(there) if not name.isdigit()][:MOST_MISSING]
    return Assessment(quotes, missing=missing, queries=usable([_query_for(name, wanted.aim) for name in missing]))


async def _asked(wanted: Wanted, pages: Sequence[ReadPage], context: Context) -> Assessment:
    shown = _shown(pages)
    messages = load_prompt("agent", "search_quotes").render(
        question=wanted.question, aim=wanted.aim, passages=_passages_text(shown)
    )
    completion = await context.complete(
        Role.COORDINATOR, messages, schema=_form(len(shown)), temperature=0, max_tokens=_TOKENS
    )
    form: dict[str, Any] = completion.parsed
    quotes: dict[str, tuple[Quote, ...]] = {}
    for number in dict.fromkeys(form["passages"]):
        read, scored = shown[number - 1]
        quotes[read.page.url] = (*quotes.get(read.page.url, ()), scored.passage.quote)
    text = "\n".join(quote.text for quoted in quotes.values() for quote in quoted)
    answer = str(form["answer"]).strip()
    return Assessment(
        quotes,
        answer if stands_there(answer, text, "") else "",
        [str(name) for name in form["missing"]][:MOST_MISSING],
        usable([str(query) for query in form["queries"]]),
        str(form["differ"]).strip(),
    )


def _shown(pages: Sequence[ReadPage]) -> list[tuple[ReadPage, Scored]]:
    """The best passages, page by page, each in the page's own order so that it reads on."""
    each = max(2, min(_OF_A_PAGE, _SHOWN // max(len(pages), 1)))
    return [(read, scored) for read in pages for scored in read.passages[:each]][:_SHOWN]


def _passages_text(shown: Sequence[tuple[ReadPage, Scored]]) -> DataText:
    by_page: dict[str, list[str]] = {}
    for number, (read, scored) in enumerate(shown, 1):
        source = f"{host_of(read.page.url)}: {read.page.title}"[:160]
        heading = f"({scored.passage.heading[:80]}) " if scored.passage.heading else ""
        by_page.setdefault(source, []).append(f"{number}: {heading}{scored.passage.text}")
    return data_blocks(data_block(source, "\n".join(lines)) for source, lines in by_page.items())


def _form(count: int) -> dict[str, Any]:
    texts = {"type": "array", "items": {"type": "string"}}
    properties = {
        "passages": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": count},
            "maxItems": _QUOTED,
        },
        "answer": {"type": "string"},
        "missing": texts | {"maxItems": MOST_MISSING},
        "queries": texts | {"maxItems": 2},
        "differ": {"type": "string"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def best_score(read: ReadPage) -> float:
    """The score of a page's best passage."""
    return read.passages[0].score if read.passages else 0.0


def _stems_quoted(read: ReadPage, quotes: Sequence[Quote]) -> set[str]:
    """The words of what is quoted of a page, and of what stands above it."""
    texts = {quote.text for quote in quotes}
    return {stem for scored in read.passages if scored.passage.text in texts for stem in scored.stems} | set(
        stems_of(read.page.title)
    )


def _query_for(name: str, aim: str) -> str:
    """A query for something that was found nowhere: its name first, then what is asked of it."""
    others = [word for word in words_of(aim).replace('"', "").split() if word not in name]
    return " ".join([f'"{name}"' if " " in name else name, *others[:3]])
