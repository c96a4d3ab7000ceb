"""Stored prompt prefixes: the embedded model's state after the fixed beginning of a prompt.

Two cores read about sixty tokens per second, so a short call would spend most of its time on the prompt's instructions
and examples. While the server is idle, it reads each prefix once and saves its state (the KV cache). Before a call, the
client has the server load that state, which takes milliseconds.

A file's name contains the hash of the text and a checksum of the content, because llama.cpp crashes on truncated files.
Each folder belongs to one engine, which is one weights file and one version of the library.
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
_MIN_CHARS = 300
_CHUNK_TOKENS = 128
"""Tokens to read before checking again for requests.

The last chunk has at least half as many. For fewer than 64 tokens, llama.cpp computes attention differently, and the
saved state would differ from that of a complete prompt.
"""
_MIN_FREE_BYTES = 1 << 30
_MARK = "\u2016"
_SUFFIX = ".kv"
_BLOCK_BYTES = 1 << 22

AskServer = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Posts JSON to a path of the server and returns the answer; raises `OSError` for an error status."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text of a prompt before its first placeholder."""

    turns: tuple[tuple[str, str], ...]
    """Role and text of each message. The last text ends at the placeholder."""
    messages: int
    """Number of messages of the whole prompt."""

    @property
    def key(self) -> str:
        """Hash of the text."""
        return hashlib.sha256(json.dumps(self.turns).encode()).hexdigest()[:16]

    @property
    def length(self) -> int:
        """Length of the text in characters."""
        return sum(len(text) for _, text in self.turns)

    def begins(self, messages: Sequence[Message]) -> bool:
        """Return True if these messages are the filled prompt, and not a longer conversation that continues from it."""
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
    """Return the prefixes that are long enough to be worth storing, longest first."""
    found: dict[str, Prefix] = {}
    for file in (resources.files(_PACKAGE) / "prompts").iterdir():
        prompt = load_prompt(_PACKAGE, file.name.removesuffix(".md"))
        prefix = Prefix(prompt.fixed, len(prompt.turns))
        if prompt.placeholders and prefix.length >= _MIN_CHARS:
            found[prefix.key] = prefix
    return tuple(sorted(found.values(), key=lambda prefix: prefix.length, reverse=True))


class StoredPrefixes:
    """The stored prefixes of one engine, in its folder. A file needs 28 kB per token."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Create the folder; delete incomplete files, files for outdated prompts, and files of other engines.

        Raises:
            OSError: The folder cannot be written.
        """
        private_folder(self.folder)
        (self.folder / "try.draft").write_bytes(b"")
        in_use = {self._file(prefix) for prefix in fixed_prefixes()}
        for file in [*self.folder.glob("*.draft"), *_files(self.folder.parent)]:
            if file not in in_use:
                file.unlink(missing_ok=True)

    def matching(self, messages: Sequence[Message]) -> Path | None:
        """Return the file with the prefix of these messages, if there is one. A damaged file is deleted."""
        prefix = next((each for each in fixed_prefixes() if each.begins(messages)), None)
        if prefix is None or (file := self._file(prefix)) is None:
            return None
        with contextlib.suppress(OSError):
            if file.name == _name(prefix, file):
                return file
            file.unlink()
        return None

    def missing(self) -> list[Prefix]:
        """Return the prefixes that are not stored yet."""
        return [prefix for prefix in fixed_prefixes() if self._file(prefix) is None]

    def make(self, prefix: Prefix, ask: AskServer, stop: Callable[[], bool]) -> bool:
        """Have the server read a prefix and save its state.

        Returns:
            True if it was saved; False if `stop` or another request interrupted it.

        Raises:
            OSError: The server returned an error, or the disk is full.
        """
        *whole, (role, head) = prefix.turns
        turns = [*whole, (role, head + _MARK)]
        filled = ask("/apply-template", {"messages": [{"role": role, "content": text} for role, text in turns]})
        text = filled["prompt"].partition(_MARK)[0]
        tokens = ask("/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]
        slot = 0
        for end in (*range(_CHUNK_TOKENS, len(tokens) - _CHUNK_TOKENS // 2, _CHUNK_TOKENS), len(tokens)):
            if stop():
                return False
            slot = ask("/completion", {"prompt": tokens[:end], "n_predict": 0, "cache_prompt": True})["id_slot"]
        draft = self.folder / f"{prefix.key}.{os.getpid()}.draft"
        try:
            saved = ask(f"/slots/{slot}?action=save", {"filename": draft.name})
            if saved["n_saved"] != len(tokens):  # another request used the slot in the meantime
                return False
            if shutil.disk_usage(self.folder).free < _MIN_FREE_BYTES:
                raise OSError(f"the disk that contains {self.folder} is full")
            draft.chmod(0o600)
            draft.replace(self.folder / _name(prefix, draft))
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _file(self, prefix: Prefix) -> Path | None:
        return next(iter(self.folder.glob(f"{prefix.key}-*{_SUFFIX}")), None)


def stored_bytes(folder: Path) -> int:
    """Return the total size of the stored prefixes of all engines."""
    return sum(file.stat().st_size for file in _files(folder))


def _files(folder: Path) -> list[Path]:
    return list(folder.glob(f"*/*{_SUFFIX}"))


def _name(prefix: Prefix, content: Path) -> str:
    checksum = 0
    with content.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            checksum = zlib.crc32(block, checksum)
    return f"{prefix.key}-{checksum:08x}{_SUFFIX}"
