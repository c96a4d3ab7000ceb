"""A small model's part of a search: it copies the answer from quotations, and names what to search for next.

Rules do the rest: they plan, quote, and say what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from agent.answer import stands_there
from agent.context import Context
from agent.errors import ModelOutputError
from agent.material.research import Quotes, Wanted, research
from agent.small.questions import filled
from agent.web.evidence import Evidence
from agent.web.queries import queries_by_rule, stems_of
from agent.web.quoting import ReadPage
from mcp_tools.prompt import NO_DATA, DataText, data_block, data_blocks

_ROOM = 1_800
_TOKENS = 60
_ANSWER: dict[str, Any] = {"type": "string", "maxLength": 200}
_QUERY_TOKENS = 40
_QUERY: dict[str, Any] = {"type": "string", "maxLength": 100}


async def research_by_rule(wanted: Wanted, context: Context) -> Evidence:
    """What the web says."""
    wanted = await with_next_query(wanted, context)

    async def copied(pages: Sequence[ReadPage], quotes: Quotes) -> str:
        return await _copied(wanted, pages, quotes, context)

    return await research(wanted, context, queries_by_rule(wanted.aim), answer=copied)


async def with_next_query(wanted: Wanted, context: Context) -> Wanted:
    """What is wanted, with a query of its own where steps were done before and none came with the decision.

    As it was where the model wrote none.
    """
    if wanted.query or wanted.so_far == NO_DATA:
        return wanted
    given = {"question": wanted.question, "evidence": wanted.so_far}
    try:
        query = await filled("search_next", _QUERY, context, _QUERY_TOKENS, **given)
    except ModelOutputError:
        return wanted
    return replace(wanted, query=" ".join(str(query).split()))


async def _copied(wanted: Wanted, pages: Sequence[ReadPage], quoted: Quotes, context: Context) -> str:
    """The answer from the quotations; empty where they do not state what the model wrote."""
    blocks: list[DataText] = []
    room, wanted_stems = _ROOM, stems_of(wanted.question)
    for number, read in enumerate(sorted(pages, key=lambda read: -read.best), 1):
        quotes = quoted.get(read.page.url, ())
        if text := "\n".join(labelled(quote.text, wanted_stems) for quote in quotes)[:room]:
            blocks.append(data_block(f"[{number}] {read.page.title}"[:80], text))
            room -= len(text)
        if room <= 0:
            break
    given = {"question": wanted.question, "evidence": data_blocks(blocks)}
    try:
        answer = str(await filled("search_extract", _ANSWER, context, _TOKENS, **given)).strip()
    except ModelOutputError:
        return ""
    return answer if stands_there(answer, "\n".join(blocks), wanted.question) else ""


def labelled(text: str, wanted: Collection[str] = ()) -> str:
    """A quotation whose rows say what each value is; one that is no table stays as it is.

    Args:
        text: Rows with ` | ` between the cells, the head first. A second row without a first cell is part of the head,
            and an empty cell of the head goes on with the one before it.
        wanted: Stems of a question's words: where some rows have more of them than others, only these are given.
    """
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    if len(rows) < 2 or any(len(row) < 2 for row in rows):
        return text
    head, body = rows[0], rows[1:]
    if len(body) > 1 and not body[0][0]:  # a head of two rows: `From Oxmere` over `first` and `last`
        above = [next(filter(None, reversed(head[: number + 1])), "") for number in range(len(body[0]))]
        head, body = [f"{over} {name}".strip() for over, name in zip(above, body[0], strict=True)], body[1:]
    fits = [len({stem for cell in row for stem in stems_of(cell)} & set(wanted)) for row in body]
    return "\n".join(
        "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip_longest(head, row, fillvalue="") if cell)
        for row, fit in zip(body, fits, strict=True)
        if fit == max(fits)
    )
