"""Prompt templates: Markdown files with a section for each message and named placeholders."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from mcp_tools.text import printable

_TURN = re.compile(r"^<!-- (system|user|assistant) -->$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{(\w+)(:data)?\}\}")
_MALFORMED = re.compile(r"^[ \t]*<!--.*-->[ \t]*$|\{\{(?!\w+(?::data)?\}\}).*", re.MULTILINE)
_TAG = re.compile(
    r"[<\uff1c\ufe64\u2039\u27e8\u3008\u276e\u2770\u02c2\u1438]"  # characters that look like <
    r"(?=[\s/\\\uff0f\u2044\u2215\u29f8]{0,20}([\w\u0300-\u036f]{1,20}))"
)
_LIKE_LATIN = str.maketrans("\u0430\u0251\u03b1\u1d00\u0501\u0257\u1d05\u0442\u03c4\u1d1b", "aaaadddttt")
"""Maps letters that look like those of `data` to the Latin ones."""
_CONTROL_TOKEN = re.compile(
    r"<(?=[|\uff5c]|/?(?:s|bos|eos|pad|unk|think|(?:start|end)_of_turn|tool_(?:call|response)s?)>|</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])"
)
"""Pattern for the start of a chat template's control token. Many tokenizers recognise these anywhere in a text."""
_MAX_SOURCE_CHARS = 300


class DataText(str):
    """Text made only of data blocks. A `{{name:data}}` placeholder accepts nothing else."""

    __slots__ = ()


NO_DATA = DataText("none")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template of chat messages.

    In the file, a line `<!-- system -->`, `<!-- user -->` or `<!-- assistant -->` starts a message, and `{{name}}` is a
    placeholder. Untrusted text needs a placeholder `{{name:data}}`, which accepts only the result of `data_block`.
    Text before the first message is a comment.
    """

    name: str
    turns: tuple[tuple[str, str], ...]

    @property
    def placeholders(self) -> frozenset[str]:
        """The names that `render` needs."""
        return frozenset(name for name, _ in _placeholders(self.turns))

    @property
    def data(self) -> frozenset[str]:
        """The names of the data placeholders."""
        return frozenset(name for name, is_data in _placeholders(self.turns) if is_data)

    @property
    def fixed(self) -> tuple[tuple[str, str], ...]:
        """The messages up to the first placeholder, which every use of the prompt shares."""
        fixed = []
        for role, text in self.turns:
            placeholder = _PLACEHOLDER.search(text)
            fixed.append((role, text[: placeholder.start()] if placeholder else text))
            if placeholder:
                break
        return tuple(fixed)

    def render(self, **values: object) -> list[dict[str, Any]]:
        """Return the messages with all placeholders filled.

        Example:
            >>> load_prompt("agent.small", "answer").render(question="What is 2 + 2?")

        Raises:
            KeyError: A placeholder has no value, or a value has no placeholder.
            TypeError: A data placeholder got ordinary text.
        """
        wanted = self.placeholders
        if missing := wanted - values.keys():
            raise KeyError(f"prompt {self.name}: no value for {', '.join(sorted(missing))}")
        if unknown := values.keys() - wanted:
            raise KeyError(f"prompt {self.name}: no placeholder {', '.join(sorted(unknown))}")
        for name in self.data:
            if not isinstance(values[name], DataText):
                raise TypeError(f"prompt {self.name}: {name} is not marked as data")
        return [
            {"role": role, "content": _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)}
            for role, text in self.turns
        ]


@cache
def _placeholders(turns: tuple[tuple[str, str], ...]) -> frozenset[tuple[str, str]]:
    return frozenset(found for _, text in turns for found in _PLACEHOLDER.findall(text))


def parse_prompt(name: str, text: str) -> Prompt:
    """Parse a template.

    Raises:
        ValueError: It has no message, or a malformed marker or placeholder.
    """
    pieces = _TURN.split(text.replace("\r\n", "\n"))[1:]
    turns = tuple((role, body.strip()) for role, body in zip(pieces[::2], pieces[1::2], strict=True))
    if not turns:
        raise ValueError(f"prompt {name}: no message; open one with `<!-- user -->` alone on a line")
    for _, body in turns:
        if wrong := _MALFORMED.search(body):
            raise ValueError(f"prompt {name}: neither a message nor a placeholder: {wrong[0].strip()}")
    return Prompt(name, turns)


@cache
def load_prompt(package: str, name: str) -> Prompt:
    """Load the template `prompts/<name>.md` of a package."""
    path = resources.files(package) / "prompts" / f"{name}.md"
    return parse_prompt(name, path.read_text(encoding="utf-8"))


@cache
def prompts_hash(package: str) -> str:
    """Return the SHA-256 of all templates of a package, in hexadecimal."""
    folder = resources.files(package) / "prompts"
    texts = sorted(
        (path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir() if path.name[-3:] == ".md"
    )
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def data_block(source: str, text: str) -> DataText:
    """Mark text from a file, page or tool as data. Nothing in the text can close the block or imitate another one.

    Control tokens of chat templates are escaped, and invisible characters are removed.
    """
    named = _escaped(" ".join(source.split())[:_MAX_SOURCE_CHARS])
    named = named.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return DataText(f'<data source="{named}">\n{_escaped(text)}\n</data>')


def data_blocks(blocks: Iterable[DataText]) -> DataText:
    """Join data blocks, one per line."""
    return DataText("\n".join(blocks))


def _escaped(text: str) -> str:
    text = _TAG.sub(lambda tag: "&lt;" if _is_data(tag[1]) else tag[0], printable(text))
    return _CONTROL_TOKEN.sub(lambda token: "&lt;" if token[0] == "<" else "&#91;", text)


def _is_data(word: str) -> bool:
    """Return True if a tag name looks like `data`, even in other scripts."""
    letters = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return letters.casefold().translate(_LIKE_LATIN) == "data"
