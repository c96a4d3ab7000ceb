"""Which snippets a writer sees.

They stand in the Markdown files of this folder, one for each theme. A strong model does not need them; a small one,
which knows the words of an algorithm but not always its steps, follows what it sees, or calls it.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

SECTION = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<words>[^\n]+)\n(?P<examples>(?:example: [^\n]+\n)+)```python\n(?P<code>.*?)\n```$",
    re.MULTILINE | re.DOTALL,
)
_STEM = 4
_NEAR_ENOUGH = 0.75
"""Of the nearest snippet's score, what another one must reach to be shown beside it."""
_LEAST_SHARED = 2
"""Words that question and snippet must have in common; one is chance, unless it is rare and in the title."""
_RARE = 4.8
"""The weight of a word that no more than three snippets have."""
_LEAST_SCORE = 7.0
"""What unlike things reach by chance: two rare words, or four common ones."""
_TITLE_COUNTS, _WORDS_COUNT, _QUESTIONS_COUNT = 1.25, 1.0, 0.75
"""How much a shared word weighs, by where the snippet has it."""
_STOP_WORDS = frozenset(
    [
        *("and", "are", "both", "can", "does", "for", "from", "has", "have", "how", "into", "its", "many", "much"),
        *(
            "not",
            "number",
            "numbers",
            "that",
            "the",
            "them",
            "then",
            "there",
            "these",
            "they",
            "this",
            "was",
            "what",
            "when",
            "where",
        ),
        *("which", "who", "will", "with", "you", "your"),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Snippet:
    """One way of computing."""

    title: str
    stems: Mapping[str, float]
    """Of its title, of the words that belong to it and of questions that it answered, and how much each counts."""
    examples: tuple[str, ...]
    """Expressions that are true, such as `digit_sum(907) == 16`."""
    code: str


@cache
def all_snippets() -> tuple[Snippet, ...]:
    """The snippets, theme by theme in alphabetical order."""
    folder = resources.files("mcp_tools.create.small.snippets")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
    found: list[Snippet] = []
    for file in files:
        asked = folder / file.name.replace(".md", ".jsonl")
        found += parse_snippets(file.read_text(encoding="utf-8"), asked.read_text(encoding="utf-8"))
    return tuple(found)


def parse_snippets(text: str, asked: str) -> list[Snippet]:
    """The snippets of one theme's file.

    Args:
        text: Markdown, a section for each snippet.
        asked: JSON Lines, each with the title of a snippet and a question that it answers.
    """
    questions: dict[str, list[str]] = {}
    for line in asked.splitlines():
        row = json.loads(line)
        questions.setdefault(row["title"], []).append(row["question"])
    return [
        Snippet(
            found["title"],
            _counting(found["title"], found["words"], " ".join(questions.get(found["title"], []))),
            tuple(line.removeprefix("example: ") for line in found["examples"].splitlines()),
            found["code"],
        )
        for found in SECTION.finditer(text)
    ]


def _counting(title: str, words: str, questions: str) -> dict[str, float]:
    return {
        **dict.fromkeys(_stems(questions), _QUESTIONS_COUNT),
        **dict.fromkeys(_stems(words), _WORDS_COUNT),
        **dict.fromkeys(_stems(title), _TITLE_COUNTS),
    }


def nearest(question: str, *, most: int = 2, without: str = "") -> list[Snippet]:
    """The snippets that share the rarest words with a question, the nearest first; none when nothing is near.

    Args:
        question: What is asked.
        most: How many at the most.
        without: The name of the wanted function: a snippet that defines it would call itself.
    """
    asked = set(_stems(question))
    weights = _weights()
    scores: dict[Snippet, float] = {}
    for snippet in all_snippets():
        shared = snippet.stems.keys() & asked
        score = sum(weights[stem] * snippet.stems[stem] for stem in shared)
        named = any(weights[stem] >= _RARE and snippet.stems[stem] == _TITLE_COUNTS for stem in shared)
        if named or (len(shared) >= _LEAST_SHARED and score >= _LEAST_SCORE):
            scores[snippet] = score
    near = [snippet for snippet, score in scores.items() if score >= max(scores.values()) * _NEAR_ENOUGH]
    shown = sorted(near, key=lambda snippet: -scores[snippet])[:most]
    return [snippet for snippet in shown if f"def {without}(" not in snippet.code]


def as_prompt(snippets: Sequence[Snippet]) -> str:
    """The snippets as a writer reads them, each with its examples; empty when there are none."""
    if not snippets:
        return ""
    shown = "\n\n".join(f"# {snippet.title}\n{_with_examples(snippet)}" for snippet in snippets)
    return (
        "These functions are there already. Call them where they fit, else write your own after their pattern:\n"
        f"```python\n{shown}\n```\n"
    )


def as_beginning(snippets: Sequence[Snippet], then: str = "") -> str:
    """The code of snippets with which a reply begins, and what comes after; empty when there are none.

    Examples would be in the way: so near to its own words, a small model takes their values for those of the question.
    """
    code = "\n\n\n".join(snippet.code for snippet in snippets)
    return f"{code}\n\n\n{then}" if code else ""


def _with_examples(snippet: Snippet) -> str:
    tree = ast.parse(snippet.code)
    named = _Named({node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)})
    return "\n".join([snippet.code, *(f"# {named.shown(example)}" for example in snippet.examples)])


class _Named(ast.NodeTransformer):
    """Names the arguments of a call: who imitates it cannot exchange them.

    Args:
        functions: The parameters of the functions whose calls are changed.
    """

    def __init__(self, functions: Mapping[str, ast.arguments]) -> None:
        self._functions = functions

    def shown(self, example: str) -> str:
        """An example as a writer sees it."""
        return ast.unparse(self.visit(ast.parse(example, mode="eval")))

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        known = self._functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if known is None or known.vararg is not None or len(node.args) < 2:
            return node
        names = [parameter.arg for parameter in known.args]
        given = [ast.keyword(name, value) for name, value in zip(names, node.args, strict=False)]
        return ast.Call(node.func, [], [*given, *node.keywords])


@cache
def _weights() -> dict[str, float]:
    """Of each stem, how rare it is among the snippets: the idf of BM25."""
    snippets = all_snippets()
    counts = Counter(stem for snippet in snippets for stem in snippet.stems)
    return {stem: math.log(1 + (len(snippets) - n + 0.5) / (n + 0.5)) for stem, n in counts.items()}


def _stems(text: str) -> list[str]:
    words = [word for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in _STOP_WORDS]
    return [(word[:-1] if re.search(r"[^s]s$", word) else word)[:_STEM] for word in words]
