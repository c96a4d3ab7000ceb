"""Prompts are data: Markdown files with one section for each message and named placeholders."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

_TURN = re.compile(r"^<!-- (system|user|assistant) -->$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_MISWRITTEN = re.compile(r"^[ \t]*<!--.*-->[ \t]*$|\{\{(?!\w+\}\}).*", re.MULTILINE)
_DATA_TAG = re.compile(r"<(?=\s*/?\s*data\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template of chat messages.

    In the file, `<!-- system -->`, `<!-- user -->` or `<!-- assistant -->` alone on a line opens a message, and
    `{{name}}` stands for a value. What precedes the first message is a note to the reader.
    """

    name: str
    turns: tuple[tuple[str, str], ...]

    @property
    def placeholders(self) -> frozenset[str]:
        """The names that `render` wants."""
        return _placeholders(self.turns)

    def render(self, **values: object) -> list[dict[str, Any]]:
        """The messages with every placeholder filled.

        Raises:
            KeyError: A placeholder has no value, or a value has no placeholder.
        """
        wanted = self.placeholders
        if missing := wanted - values.keys():
            raise KeyError(f"prompt {self.name}: no value for {', '.join(sorted(missing))}")
        if unknown := values.keys() - wanted:
            raise KeyError(f"prompt {self.name}: no placeholder {', '.join(sorted(unknown))}")
        return [
            {"role": role, "content": _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)}
            for role, text in self.turns
        ]


@cache
def _placeholders(turns: tuple[tuple[str, str], ...]) -> frozenset[str]:
    return frozenset(name for _, text in turns for name in _PLACEHOLDER.findall(text))


def parse_prompt(name: str, text: str) -> Prompt:
    """Reads a template from its Markdown.

    Raises:
        ValueError: It has no message, or a marker or a placeholder is miswritten.
    """
    pieces = _TURN.split(text.replace("\r\n", "\n"))[1:]
    turns = tuple((role, body.strip()) for role, body in zip(pieces[::2], pieces[1::2], strict=True))
    if not turns:
        raise ValueError(f"prompt {name}: no message; open one with `<!-- user -->` alone on a line")
    for _, body in turns:
        if wrong := _MISWRITTEN.search(body):
            raise ValueError(f"prompt {name}: neither a message nor a placeholder: {wrong[0].strip()}")
    return Prompt(name, turns)


@cache
def load_prompt(package: str, name: str) -> Prompt:
    """The template `prompts/<name>.md` of a package."""
    path = resources.files(package) / "prompts" / f"{name}.md"
    return parse_prompt(name, path.read_text(encoding="utf-8"))


@cache
def prompts_hash(package: str) -> str:
    """SHA-256 of all templates of a package, in hexadecimal: what was written with them is theirs."""
    folder = resources.files(package) / "prompts"
    texts = sorted(
        (path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir() if path.name[-3:] == ".md"
    )
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def data_block(source: str, text: str) -> str:
    """Text from a file, a page or a tool, marked as data: nothing in it is an instruction, nor ends the block."""
    named = " ".join(source.split()).replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return f'<data source="{named}">\n{_DATA_TAG.sub("&lt;", text)}\n</data>'
