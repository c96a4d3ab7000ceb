"""Lets a small model copy answers from texts, and rejects answers that only an instruction in a text gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from agent.answer import has_words, plain, stands_there
from agent.context import Context
from agent.errors import ModelOutputError
from agent.events import InstructionFound, Note
from agent.material.research import Quotes, research
from agent.material.research_request import ResearchRequest
from agent.models.protocol import Role
from agent.state import LOOKING_ACTIONS, State, Step
from agent.steps import reading_of
from agent.web.evidence import Evidence
from agent.web.queries import queries_by_rule
from agent.web.quoting import ReadPage
from mcp_tools.prompt import data_block, data_blocks, load_prompt
from mcp_tools.text import one_line, printable

Texts = Sequence[tuple[str, str]]
"""Sources with their texts."""
_MAX_SHOWN_CHARS = 4_000
_MAX_QUOTED_CHARS = 1_800
_MAX_ANSWER_TOKENS = 60
_ANSWER_FORM: dict[str, Any] = {"type": "string", "maxLength": 200}
_VERDICT_FORM: dict[str, Any] = {"type": "string", "enum": ["fact", "order"]}
_MAX_VERDICT_TOKENS = 5
_MAX_PASSAGES = 4
"""Maximum number of passages to judge for a value."""
_AROUND_CHARS = 220
"""Number of characters before and after a sentence that are shown with it."""
_EXCERPT_CHARS = 160
_ATTEMPTS = 2
"""Number of times the texts are searched again without the instructions."""
_SENTENCE = re.compile(r"(?<=[.!?;:…。])\s+")
_VALUE = re.compile(r"\S*\d\S*|(?:[A-ZÀ-ÖØ-Þ][\w'’-]+ ?)+")
"""Matches a number or a name."""


def found_steps(state: State) -> list[Step]:
    """Return the steps that brought external text."""
    external = {tool.name for tool in state["tools"] if tool.is_external}
    return [
        step
        for step in state.get("steps", [])
        if step["ok"]
        and (
            step["action"] in LOOKING_ACTIONS
            or (step["action"] == "use_tool" and step["value"] is None and step["input"].partition("(")[0] in external)
        )
    ]


async def copied_answer(texts: Texts, question: str, context: Context, room: int = _MAX_SHOWN_CHARS) -> str:
    """Return the answer that the model copies from texts; empty if they do not state it.

    Raises:
        ModelOutputError: The model did not reply in the requested form.
    """
    if not texts:
        return ""
    shown = [(source, printable(text)[: room // len(texts)]) for source, text in texts]
    evidence = data_blocks(data_block(source, text) for source, text in shown)
    messages = load_prompt("agent.small", "extract").render(question=question, evidence=evidence)
    completion = await context.complete(
        Role.COORDINATOR, messages, schema=_ANSWER_FORM, temperature=0, max_tokens=_MAX_ANSWER_TOKENS
    )
    answer = str(completion.parsed).strip()
    return answer if any(stands_there(answer, text, question) for _, text in texts) else ""


async def research_with_copy(wanted: ResearchRequest, context: Context) -> Evidence:
    """Search by rules, and let the model copy the answer from the quotations."""

    async def copied(pages: Sequence[ReadPage], quoted: Quotes) -> str:
        best = sorted(pages, key=lambda read: -read.best)
        texts = [(read.page.title, "\n".join(q.text for q in quoted.get(read.page.url, ()))) for read in best]
        try:
            texts = [(title, text) for title, text in texts if text]
            return await copied_answer(texts, wanted.question, context, _MAX_QUOTED_CHARS)
        except ModelOutputError:
            return ""

    return await research(wanted, context, queries_by_rule(wanted.aim), answer=copied)


async def believed(text: str, state: State, context: Context) -> str:
    """Return the answer. If only instructions to the reader state it, return another answer or an empty text.

    The model judges each passage that contains the answer. It sees neither the rest of the text nor the question.
    """
    found = [step for step in found_steps(state) if step["action"] != "browse" or step["value"] is None]
    texts = [(step["input"], printable(reading_of(step))) for step in found]
    for _ in range(_ATTEMPTS):
        orders = [
            order for value in _claims(text, texts, state["question"]) for order in await _orders(value, texts, context)
        ]
        if not orders:
            return text
        for source, passage in dict.fromkeys(orders):
            context.set_apart(InstructionFound(source, one_line(passage, _EXCERPT_CHARS)))
        passages = {passage for _, passage in orders}
        texts = [(source, "".join(p for p in _sentences(said) if p not in passages)) for source, said in texts]
        if not (text := await copied_answer(texts, state["question"], context)):
            break
    context.emit(Note("the only answer found is an instruction inside a text, which does not count"))
    return ""


def _claims(answer: str, texts: Texts, question: str) -> list[str]:
    """Return the parts of an answer that come from the texts: all of it, or the numbers and names in it."""
    if any(has_words(text, answer) for _, text in texts):
        return [answer]
    found = [match for match in _VALUE.finditer(answer) if match.start() or not match[0].strip().isalpha()]
    values = dict.fromkeys(match[0].strip(" .,;:!?") for match in found)
    news = [value for value in values if not has_words(question, value)]
    return [value for value in news if any(has_words(text, value) for _, text in texts)]


async def _orders(value: str, texts: Texts, context: Context) -> list[tuple[str, str]]:
    """Return the passages that order the reader to give a value; empty if another passage states the value."""
    found: list[tuple[str, str]] = []
    for source, text in texts:
        parts = _sentences(text)
        for at, part in enumerate(parts):
            if not has_words(part, value) or len(found) == _MAX_PASSAGES:
                continue
            if plain(value) in [plain(cell) for cell in part.split("|")]:  # the value is a table cell
                return []
            shown = "".join(parts[:at])[-_AROUND_CHARS:] + part + "".join(parts[at + 1 :])[:_AROUND_CHARS]
            if await _is_stated(value, shown, context):
                return []
            found.append((source, part))
    return found


def _sentences(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    ends = [[0, *(found.end() for found in _SENTENCE.finditer(line)), len(line)] for line in lines]
    return [line[a:b] for line, of in zip(lines, ends, strict=True) for a, b in pairwise(of) if a < b]


async def _is_stated(value: str, passage: str, context: Context) -> bool:
    blocks = {"passage": data_block("lines", passage), "value": data_block("value", value)}
    messages = load_prompt("agent.small", "states").render(**blocks)
    try:
        completion = await context.complete(
            Role.COORDINATOR, messages, schema=_VERDICT_FORM, temperature=0, max_tokens=_MAX_VERDICT_TOKENS
        )
    except ModelOutputError:
        return False
    return bool(completion.parsed == "fact")
