"""The beginnings of prompts that never change: read once by the embedded model's server, then kept on disk.

Two cores read about sixty tokens a second, so that most of a short call goes into a prompt's instructions and
examples. The server reads them when nobody asks anything and saves what it computed; before a call the client has the
server take it back, which is a matter of milliseconds.

A file's name holds the hash of the text and the checksum of the content: llama.cpp ends the whole process over a file
that is cut short. The folder is one engine's, that is one file of weights and one version of the library.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from agent.models.protocol import Message
from mcp_tools.atomic import private_folder
from mcp_tools.prompt import load_prompt

FOLDER = "prefixes"
_PACKAGE = "agent.small"
_SHORTEST = 300
_CHUNK = 128
"""Tokens that are read between two looks at whether somebody asks something.

The last batch has at least half of them: below 64, llama.cpp computes attention differently. The saved prefix must
equal that of a whole prompt.
"""
_FREE = 1 << 30
_MARK = "\u2016"
_SUFFIX = ".kv"
_BLOCK = 1 << 22

AskServer = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Sends JSON to a path of the server and gives what it answers; raises `OSError` when it refuses."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text of a prompt before its first placeholder."""

    turns: tuple[tuple[str, str], ...]
    """Role and text; the last text ends at the placeholder."""
    messages: int

    @property
    def key(self) -> str:
        """Names the text."""
        return hashlib.sha256(json.dumps(self.turns).encode()).hexdigest()[:16]

    @property
    def length(self) -> int:
        """Characters of all turns."""
        return sum(len(text) for _, text in self.turns)

    def begins(self, messages: Sequence[Message]) -> bool:
        """Return True if these messages are the filled prompt, and not a conversation that continued from it."""
        *whole, (role, head) = self.turns
        if len(messages) != self.messages or messages[len(whole)]["role"] != role:
            return False
        content = messages[len(whole)]["content"]
        return (
            isinstance(content, str)
            and content.startswith(head)
            and all((m["role"], m["content"]) == turn for m, turn in zip(messages, whole, strict=False))
        )


@cache
def fixed_prefixes() -> tuple[Prefix, ...]:
    """Return the prefixes worth keeping, longest first."""
    found: dict[str, Prefix] = {}
    for file in (resources.files(_PACKAGE) / "prompts").iterdir():
        prompt = load_prompt(_PACKAGE, file.name.removesuffix(".md"))
        prefix = Prefix(prompt.fixed, len(prompt.turns))
        if prompt.placeholders and prefix.length >= _SHORTEST:
            found[prefix.key] = prefix
    return tuple(sorted(found.values(), key=lambda prefix: prefix.length, reverse=True))


class KeptPrefixes:
    """The files of one engine, in its folder. A token takes 28 kB."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Makes the folder, and removes what a killed server left in it, and what is of no use to this engine.

        Raises:
            OSError: It cannot be written.
        """
        private_folder(self.folder)
        (self.folder / "try.draft").write_bytes(b"")
        in_use = {self._file(prefix) for prefix in fixed_prefixes()}
        for file in [*self.folder.glob("*.draft"), *_files(self.folder.parent)]:
            if file not in in_use:
                file.unlink(missing_ok=True)

    def fitting(self, messages: Sequence[Message]) -> Path | None:
        """The whole and unaltered file with which these messages begin; a damaged one is removed."""
        prefix = next((each for each in fixed_prefixes() if each.begins(messages)), None)
        if prefix is None or (file := self._file(prefix)) is None:
            return None
        with contextlib.suppress(OSError):
            if file.name == _name(prefix, file):
                return file
            file.unlink()
        return None

    def missing(self) -> list[Prefix]:
        """Return the prefixes that are not kept yet."""
        return [prefix for prefix in fixed_prefixes() if self._file(prefix) is None]

    def make(self, prefix: Prefix, ask: AskServer, stop: Callable[[], bool]) -> bool:
        """Let the server read a prefix, and save its state. Return False if it was stopped before the end.

        Raises:
            OSError: The server refused, or the disk has no room.
        """
        *whole, (role, head) = prefix.turns
        turns = [*whole, (role, head + _MARK)]
        filled = ask("/apply-template", {"messages": [{"role": role, "content": text} for role, text in turns]})
        text = filled["prompt"].partition(_MARK)[0]
        tokens = ask("/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]
        slot = 0
        for end in (*range(_CHUNK, len(tokens) - _CHUNK // 2, _CHUNK), len(tokens)):
            if stop():
                return False
            slot = ask("/completion", {"prompt": tokens[:end], "n_predict": 0, "cache_prompt": True})["id_slot"]
        draft = self.folder / f"{prefix.key}.{os.getpid()}.draft"
        try:
            saved = ask(f"/slots/{slot}?action=save", {"filename": draft.name})
            if saved["n_saved"] != len(tokens):  # another request took the slot meanwhile
                return False
            if shutil.disk_usage(self.folder).free < _FREE:
                raise OSError(f"the disk of {self.folder} is full")
            draft.chmod(0o600)
            draft.replace(self.folder / _name(prefix, draft))
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _file(self, prefix: Prefix) -> Path | None:
        return next(iter(self.folder.glob(f"{prefix.key}-*{_SUFFIX}")), None)


def kept_bytes(folder: Path) -> int:
    """Return the bytes that the files of all engines take."""
    return sum(file.stat().st_size for file in _files(folder))


def _files(folder: Path) -> list[Path]:
    return list(folder.glob(f"*/*{_SUFFIX}"))


def _name(prefix: Prefix, content: Path) -> str:
    """The name of a file with this content."""
    checksum = 0
    with content.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return f"{prefix.key}-{checksum:08x}{_SUFFIX}"
