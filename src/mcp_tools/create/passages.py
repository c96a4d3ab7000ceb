"""Blocks of data inside a question: a table, a log, notes. A tool takes them whole, and no model copies them."""

from __future__ import annotations

import re

_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_LINES_SHOWN = 6
_LONGEST_LINE = 200


def passages(question: str) -> list[str]:
    """The blocks of data in a question: what stands in a fence, and lines that end like no sentence, two or more."""
    fenced = [match[1] for match in _FENCED.finditer(question)]
    found, block = list(fenced), list[str]()
    for line in [*_FENCED.sub("", question).splitlines(), ""]:
        if line.strip() and line.rstrip()[-1] not in ".?!:":
            block.append(line)
            continue
        if len(block) > 1:
            found.append("\n".join(block))
        block = []
    return sorted((text for text in found if text.strip()), key=question.find)


def named(question: str) -> dict[str, str]:
    """The passages of a question by the names that stand for them in prompts: `TEXT1`, `TEXT2` and so on."""
    return {f"TEXT{number}": text for number, text in enumerate(passages(question), 1)}


def with_names(question: str) -> str:
    """The question as a prompt shows it, each passage under its name."""
    for name, text in named(question).items():
        question = question.replace(text, f"{name} =\n{shown(text)}\n(end of {name})", 1)
    return question


def shown(passage: str) -> str:
    """A passage as a prompt shows it: its first lines and its last one, enough to see its form."""
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in passage.splitlines()]
    if len(lines) <= 2 * _LINES_SHOWN:
        return "\n".join(lines)
    return "\n".join([*lines[:_LINES_SHOWN], f"… {len(lines) - _LINES_SHOWN - 1} lines more …", lines[-1]])


def in_brief(question: str) -> str:
    """The question with its passages as a prompt shows them."""
    for passage in passages(question):
        question = question.replace(passage, shown(passage), 1)
    return question
