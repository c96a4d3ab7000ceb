"""The result of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.errors import AlitaError, ModelDeclinedError
from agent.models.protocol import Usage
from agent.records import as_plain, from_plain
from agent.state import CitedSource
from mcp_tools.library.particulars import FUNCTION_WORDS
from mcp_tools.text import one_line

_MAY_ASK_FOR_JSON = re.compile(
    r"\bjson\b|\bdict|\bobject|\barray|\blist literal|\bprint|\boutput|\breturn|\bscript|\bcode\b|\bprogram",
    re.IGNORECASE,
)
SCHEMA = 1
"""Version of the object that `--json` prints. Within a version, members are added but never changed or removed."""

AnswerStatus = Literal["answered", "no_answer", "limit", "declined", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A page of the web that supports an answer."""

    number: int
    """Number of the citation in the answer: 1 for [1]."""
    url: str
    title: str
    quote: str
    """Verbatim text from the source; may be empty."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that a program wrote for the user."""

    name: str
    """Path relative to the folder of outputs."""
    path: str
    size: int
    """Size in bytes."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that programs changed in the copy of the user's folder."""

    path: str
    """Path relative to the folder."""
    kind: Literal["added", "changed", "removed"]
    bytes_before: int | None
    bytes_after: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question, with the usage of its run."""

    text: str
    status: AnswerStatus
    tools_created: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    steps: int = 0
    """Number of model replies, not counting the answer, as for `--max-steps`."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    """Seconds of work, not counting rate-limit waits and pauses."""
    run_id: str = ""
    model: str = ""
    error: str | None = None
    """The error as a sentence for the user; never shown as an answer."""
    limit: str | None = None
    """The limit that ended the run: `steps`, `tokens`, `seconds` or `cost`."""
    restated: str | None = None
    """The restated question, if the follow-up depends on earlier turns."""
    waited: float = 0.0
    """Seconds spent waiting for an endpoint's rate limit."""
    sources: tuple[Citation, ...] = ()
    """Web sources of the answer."""
    set_apart: tuple[str, ...] = ()
    """Sentences about instructions in untrusted text that were ignored and actions that were refused."""

    quality: dict[str, Any] = field(default_factory=dict)
    """Basis and certainty of the answer (see `agent.answering.quality`); empty if it was not judged."""
    brief: dict[str, Any] = field(default_factory=dict)
    """The planner's brief; empty if no gap record fits."""
    plans: tuple[dict[str, Any], ...] = ()
    """Tools created in the run."""
    agent: str = ""
    """Name of the specialist that was asked; empty for the coordinator."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user, for example about weaker isolation than before or a model that a project chose."""
    actions: int | None = None
    """Number of calls carried out, including pages read before the first reply. None for older runs, where `steps`
    counts calls."""

    outputs: tuple[OutputFile, ...] = ()
    """Files that programs wrote for the user."""
    changes: tuple[FileChange, ...] = ()
    """Changes that programs made in the copy of the user's folder, for the user to apply."""

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints. An unknown price is null, never 0."""
        plain = as_plain(replace(self, seconds=round(self.seconds, 3), waited=round(self.waited, 3)))
        cost = plain["usage"].pop("cost")
        return {"schema": SCHEMA, "answer": plain.pop("text"), **plain, "cost": cost}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Answer:
        """Return the answer that `as_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: The data is not an answer.
        """
        return from_plain(cls, data | {"text": data["answer"], "usage": {**data["usage"], "cost": data["cost"]}})


def unwrapped(text: str, question: str) -> str:
    """Return a JSON answer as plain text; unchanged if the question may ask for JSON.

    A list of numbers is unchanged, because people also write lists in brackets.
    """
    if text[:1] not in ("{", "[") or _MAY_ASK_FOR_JSON.search(question):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not value or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        return text
    inner = _said(_inner(value))
    return unwrapped(inner, question) if inner or isinstance(value, dict) else text


def _inner(value: Any) -> Any:
    """Return the value under a key such as `answer`, or the object's only value."""
    if not isinstance(value, dict):
        return value
    names = [name for name in ("next", "answer", "final_answer", "result", "value") if name in value]
    if names or len(value) == 1:
        return _inner(value[names[0] if names else next(iter(value))])
    return value


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_said(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        nested = any(isinstance(inner, list | dict) for inner in value)
        return ("; " if nested else ", ").join(map(_said, value))
    return value.strip() if isinstance(value, str) else json.dumps(value)


def status_of(error: AlitaError) -> AnswerStatus:
    """Return the status of a run that ended with an error."""
    return "declined" if isinstance(error, ModelDeclinedError) else "failed"


_UNKNOWN = re.compile(r"(?:unknown|none|not (?:stated|given|known|found)|n/?a)?[.\s]*", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were|does|do|did|has|have|had|can|will|must|may)\b", re.IGNORECASE)


def stands_there(answer: str, text: str, question: str) -> bool:
    """Return True if the answer is in the text that was shown, and not in the question."""
    if _UNKNOWN.fullmatch(answer):
        return False
    if answer.strip(". ").casefold() in {"yes", "no"}:
        return bool(_YES_OR_NO.match(question))
    is_news = not has_words(question, answer) or " or " in question
    return has_words(text, answer) and is_news


def has_words(text: str, words: str) -> bool:
    """Return True if a text has these whole words in a row: 7 is not part of 1976."""
    wanted = plain(words)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def plain(text: str) -> str:
    """Return the words of a text without punctuation, except for points inside words, to compare texts by content."""
    return " ".join(re.findall(r"\w+(?:[.,:]\w+)*", text.casefold()))


_MARK = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_BARE_WORDS = 12
"""Maximum words of a short answer. A longer one is prose and keeps its citation marks."""
_LISTED = 5
_QUOTE = 240
"""Maximum characters of a quotation under an answer."""
_SHARED = 0.5
"""Share of a long answer's words that a source must have."""
_ENOUGH = 3
"""Minimum number of terms that a quotation shares with an answer of many terms."""
_SENTENCE_END = re.compile(r"[.!?…。]\W*$")


def with_citations(
    text: str,
    sources: Sequence[CitedSource],
    *,
    computed: bool = False,
    bare_wanted: bool = False,
    question: str = "",
    split: Callable[[str], Sequence[str]] = str.splitlines,
) -> tuple[str, tuple[Citation, ...]]:
    """Return the answer, and the sources that support it.

    Args:
        text: The answer. Marks such as [2] cite sources; they are removed from a bare answer, because they are not part
            of it.
        sources: All sources that the run found.
        computed: True if the answer was computed from the sources, so that they need not contain it.
        bare_wanted: True if the question asks for a form without marks.
        question: The question. If the answer is yes, no or computed, quotations are chosen by the question's words
            instead.
        split: Returns the quotable parts of a source's text.
    """
    by_number = {source["number"]: source for source in sources}
    numbers = [number for mark in _MARK.findall(text) for number in map(int, mark.split(",")) if number in by_number]

    def unmarked(mark: re.Match[str]) -> str:
        return "" if all(int(number) in by_number for number in mark[1].split(",")) else mark[0]

    bare = _MARK.sub(unmarked, text).strip()
    if numbers:
        chosen = [by_number[number] for number in dict.fromkeys(numbers)]
    else:
        chosen = _saying(bare, sources) or [source for source in sources if computed and source["quotes"]]
    is_bare = bare_wanted or (len(bare.split()) <= _BARE_WORDS and not re.search(r"[.!?]\s+\S", bare))
    is_worked_out = (computed and not numbers) or plain(bare) in {"yes", "no"}
    terms = _content(question if is_worked_out else bare)
    cited = [
        Citation(source["number"], source["url"], source["title"], _quote(source, bare, terms, split))
        for source in chosen[: max(_LISTED, len(set(numbers)))]
    ]
    if computed and not numbers:
        cited = [citation for citation in cited if citation.quote]
    return bare if bare and is_bare else text, tuple(cited)


def _content(text: str) -> set[str]:
    return set(plain(text).split()) - FUNCTION_WORDS


def _saying(text: str, sources: Sequence[CitedSource]) -> list[CitedSource]:
    """Return the sources with a quotation that contains the answer; for a long answer, many of its words."""
    wanted = plain(text).split()
    if len(wanted) <= _BARE_WORDS:
        return [source for source in sources if any(has_words(quote, text) for quote in source["quotes"])]
    words = {word for word in wanted if len(word) > 3}
    return [
        source
        for source in sources
        if words and len(words & set(plain(" ".join(source["quotes"])).split())) >= _SHARED * len(words)
    ]


def _quote(source: CitedSource, text: str, terms: set[str], split: Callable[[str], Sequence[str]]) -> str:
    """Return the sentence or row that contains the answer, else the one with the most terms; empty if none fits.

    Args:
        source: The quoted text.
        text: The answer.
        terms: Words that a sentence without the whole answer must share; if empty, any sentence counts.
        split: Returns the quotable parts of a text.
    """
    parts = [part for quote in source["quotes"] for part in split(quote)]
    there = [part for part in parts if has_words(part, text)]
    if there:
        best = next(filter(_is_sentence, there), "")
        return one_line(best or " / ".join(part for part in there if "|" in part) or there[0], _QUOTE)
    enough = min(_ENOUGH, (len(terms) + 1) // 2)
    shared = [(len(terms & set(plain(part).split())), part) for part in parts if "|" in part or _is_sentence(part)]
    most, best = max(shared, key=lambda one: one[0], default=(-1, ""))
    return one_line(best, _QUOTE) if most >= enough else ""


def _is_sentence(part: str) -> bool:
    return bool(_SENTENCE_END.search(part)) and len(part.split()) > 2
