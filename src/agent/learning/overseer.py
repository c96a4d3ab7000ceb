"""The overseer diagnoses a wrong answer, and writes a gap record without particulars of the question.

Its work takes two model calls. The overseer cannot change prompts or tools; it only writes records, which the user can
reject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.errors import ModelOutputError, UsageError
from agent.learning.gap_records import MAX_CHARS, GapRecords, checked
from agent.learning.planner import kind_of
from agent.models.protocol import Model, Request, Usage
from mcp_tools.library.particulars import NUMBER, capitalised_in, quoted_in
from mcp_tools.prompt import NO_DATA, data_block, data_blocks, load_prompt
from mcp_tools.text import middle_left_out
from mcp_tools.tool import object_schema

ATTEMPTS = 3
"""Maximum attempts at writing a record. After a refusal, the model is given the reason."""
LONGEST_TRACE = 60_000
_TOKENS = 4_000
_TEXTS = ("situation", "pattern", "advice")
_RECORD = object_schema(
    {name: {"type": "string", "maxLength": MAX_CHARS[name]} for name in _TEXTS}
    | {"same_as": {"type": "string", "description": "The id of a record that says the same; else empty."}}
)


@dataclass(frozen=True, slots=True)
class WrongAttempt:
    """A wrong attempt at a question, as shown to the overseer."""

    question: str
    files: tuple[str, ...]
    truth: str
    trace: str
    """Text of the whole attempt, from the brief to the answer."""


@dataclass(frozen=True, slots=True)
class Insight:
    """The overseer's diagnosis of a wrong attempt, with the id of its gap record."""

    diagnosis: str
    record: str = ""
    """Id of the gap record; an empty string if none was written."""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)


async def learn(failure: WrongAttempt, model: Model, records: GapRecords) -> Insight:
    """Diagnose a wrong attempt, and store a gap record about it.

    Raises:
        ModelError: The model could not be called. Trying again later may succeed.
        StorageError: The records cannot be written.
    """
    trace = middle_left_out(failure.trace, LONGEST_TRACE)
    asked = load_prompt("agent.learning", "diagnosis").render(
        trace=data_block("trace", trace), truth=data_block("true answer", failure.truth)
    )
    completion = await model.complete(Request(asked, max_tokens=_TOKENS, temperature=0))
    diagnosis, usage = completion.text.strip(), completion.usage
    if not diagnosis:
        return Insight("", problem="the diagnosis was empty", usage=usage)
    kind = kind_of(failure.question, failure.files)
    near = records.find(diagnosis, kind, limit=5)
    near = near or [one for one in records.all() if one.kind == kind and one.status != "rejected"][:5]
    rejected = problem = ""
    for _ in range(ATTEMPTS):
        asked = load_prompt("agent.learning", "abstraction").render(
            kind=kind,
            records=data_blocks(data_block(f"record {one.id}", one.text) for one in near) if near else NO_DATA,
            diagnosis=data_block("diagnosis", diagnosis),
            rejected=rejected,
        )
        try:
            completion = await model.complete(Request(asked, _RECORD, max_tokens=_TOKENS, temperature=0))
        except ModelOutputError as unusable:
            problem, usage = unusable.message, usage + (unusable.usage or Usage())
            continue
        reply, usage = completion.parsed, usage + completion.usage
        if same := next((one for one in near if one.id == reply["same_as"].strip()), None):
            return Insight(diagnosis, records.add(same, failure.question).id, usage=usage)
        try:
            record = checked({**reply, "kind": kind})
        except UsageError as wrong:
            problem = wrong.message
        else:
            found = particulars_in(record.text, failure.question, failure.truth)
            if not found:
                return Insight(diagnosis, records.add(record, failure.question).id, usage=usage)
            problem = f"it names particulars of the question: {', '.join(map(repr, found[:5]))}"
        rejected = f"The last record was not taken: {problem}. Write it without them."
    return Insight(diagnosis, problem=problem, usage=usage)


_NUMBER = re.compile(rf"{NUMBER.pattern}(?:[:/-]{NUMBER.pattern})*")
_OPENING = re.compile(r"(?:^|(?<=[.!?:]\s))\w+", re.MULTILINE)
"""Matches the first word of a sentence, which is capitalized like a name."""
_WORD = re.compile(r"[^\W_]+")
_MIN_PHRASE_WORDS = 5  # a record must not repeat this many consecutive words of the question
_ALLOWED = frozenset(("python", "wikipedia", "arxiv", "youtube", "excel", "json", "html", "csv", "pdf", "api", "url"))
"""Names that are not specific to one question."""


def particulars_in(record: str, question: str, truth: str) -> list[str]:
    """Return the names, numbers, quotations and phrases in a record that come from its question or true answer."""
    return list(dict.fromkeys(_particulars(record, question, truth)))


def _particulars(record: str, question: str, truth: str) -> Iterator[str]:
    words_of_record = f" {_folded_words(record)} "
    for number in _NUMBER.findall(f"{question} {truth}"):
        if len(number) > 1 and re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d])", record):
            yield number
    quoted = [text for text in quoted_in(question) if len(text) > 2]
    for name in [*capitalised_in(_OPENING.sub("", question)), *quoted]:
        plain = _folded_words(name)
        if plain and plain not in _ALLOWED and f" {plain} " in words_of_record:
            yield name
    answer = _folded_words(truth)
    if (len(answer) > 2 or answer.isdigit()) and answer not in _ALLOWED and f" {answer} " in words_of_record:
        yield truth
    words = _folded_words(question).split()
    for start in range(len(words) - _MIN_PHRASE_WORDS + 1):
        phrase = " ".join(words[start : start + _MIN_PHRASE_WORDS])
        if f" {phrase} " in words_of_record:
            yield phrase


def _folded_words(text: str) -> str:
    return " ".join(word.casefold() for word in _WORD.findall(text))
