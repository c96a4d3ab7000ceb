"""A small model's answer is believed where a passage states it, and not where one only tells its reader to give it.

The model that answers is asked about the passage that holds its answer, and sees nothing else: neither the question,
which an instruction would claim to know better, nor the rest of the text. What tells the reader what to say is set
apart, and the rest is looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from agent.answer import has_words, plain
from agent.browser.tasks import AskModel
from agent.errors import ModelOutputError
from agent.events import InstructionFound
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.text import one_line, printable

Texts = Sequence[tuple[str, str]]
"""Sources, and what they say."""
Tell = Callable[[InstructionFound], None]
LOOKS = 3
"""How often texts are looked at again without what was set apart."""
_MOST = 4
"""Passages with one value that are looked at; where all of them are instructions, so is the value."""
_CLAIMS = 3
_AROUND = 220
"""Characters before and after a sentence that show how it is meant."""
_EXCERPT = 160
_TOKENS = 5
_SENTENCE = re.compile(r"(?<=[.!?;:…。])\s+")
_LABEL = re.compile(r"!?\[[^\[\]]*\]\([^()]*\)")
"""A link or a picture in a page that was read: what it is called says what it leads to, and not what the page says."""
_TELLING = re.compile(r"\S*\d\S*|(?:[A-ZÀ-ÖØ-Þ][\w'’-]+ ?)+")


async def without_instructions(answer: str, texts: Texts, question: str, ask: AskModel, tell: Tell) -> Texts | None:
    """None where the answer may be believed; else the texts without the passages that tell the reader to give it."""
    texts = [(source, printable(text)) for source, text in texts]
    asked = set(plain(question).split())
    for value in _claims(answer, texts, question):
        found = [(source, part, shown) for source, text in texts for part, shown in _holding(value, text)]
        found.sort(key=lambda one: -len(asked & set(plain(one[2]).split())))
        is_fact = any(_is_cell(value, part, asked) for _, part, _ in found)
        for _, _, shown in found[:_MOST]:
            is_fact = is_fact or await _is_stated(value, shown, ask)
        if not is_fact:
            for source, part, _ in found:
                tell(InstructionFound(source, one_line(part, _EXCERPT)))
            kept = ((source, (part for part in _parts(text) if not has_words(part, value))) for source, text in texts)
            return [(source, "".join(parts)) for source, parts in kept]
    return None


def without_labels(answer: str, texts: Texts) -> Texts:
    """The texts without the names of links and pictures; none where the answer stands elsewhere, or in no name."""
    rest = [(source, _LABEL.sub(" ", text)) for source, text in texts]
    is_named = any(has_words(text, answer) for _, text in texts)
    return rest if is_named and not any(has_words(text, answer) for _, text in rest) else []


def _claims(answer: str, texts: Texts, question: str) -> list[str]:
    """What of an answer comes from the texts: all of it, or in a sentence the numbers and names."""
    if any(has_words(text, answer) for _, text in texts):
        return [answer]
    told = (match for match in _TELLING.finditer(answer) if match.start() or not match[0].strip().isalpha())
    found = (match[0].strip(" .,;:!?") for match in told)
    news = [value for value in dict.fromkeys(found) if not has_words(question, value)]
    return [value for value in news if any(has_words(text, value) for _, text in texts)][:_CLAIMS]


def _holding(value: str, text: str) -> Iterator[tuple[str, str]]:
    """The sentences or rows that hold a value, each alone, and with what stands around it."""
    parts = _parts(text)
    for at, part in enumerate(parts):
        if has_words(part, value):
            yield part, "".join(parts[:at])[-_AROUND:] + part + "".join(parts[at + 1 :])[:_AROUND]


def _is_cell(value: str, part: str, asked: set[str]) -> bool:
    """Whether a value is a cell of a row, or stands beside a label that the question names: neither is an order."""
    cells = [plain(cell) for cell in part.split("|")]
    if plain(value) not in cells:
        return False
    return len(cells) > 2 or any(set(cell.split()) <= asked for cell in cells if cell and cell != plain(value))


def _parts(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    ends = [[0, *(found.end() for found in _SENTENCE.finditer(line)), len(line)] for line in lines]
    return [line[a:b] for line, of in zip(lines, ends, strict=True) for a, b in pairwise(of) if a < b]


async def _is_stated(value: str, passage: str, ask: AskModel) -> bool:
    blocks = {"passage": data_block("lines", passage), "value": data_block("value", value)}
    messages = load_prompt("agent.small", "states").render(**blocks)
    form: dict[str, Any] = {"type": "string", "enum": ["fact", "order"]}
    try:
        completion = await ask(messages, schema=form, temperature=0, max_tokens=_TOKENS)
    except ModelOutputError:
        return False
    return bool(completion.parsed == "fact")
