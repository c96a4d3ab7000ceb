"""The beginnings of prompts: read once in a quiet moment, kept on disk, taken back before a call.

A real server process with a stand-in for the engine, which ends when it is given what llama.cpp cannot bear.
"""

# ruff: noqa: ASYNC110 -- a test may block: nothing else runs in its loop
from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.models.embedded.local_server import ServerOptions, running_servers, stop_servers
from agent.models.embedded.model import EmbeddedModel
from agent.models.embedded.prefixes import Prefix, StoredPrefixes, fixed_prefixes
from agent.models.failures import Retry
from agent.models.protocol import Completion, Message, Request

SOURCE = Path(__file__).parents[3] / "src"
FAKE = Path(__file__).parents[2] / "support" / "fake_llama"

Open = Callable[..., EmbeddedModel]


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", f"{FAKE}:{SOURCE}")
    return tmp_path / "runtime"


@pytest.fixture
async def open_model(tmp_path: Path, runtime: Path) -> AsyncIterator[Open]:
    opened: list[EmbeddedModel] = []

    def make(*, behaviour: str = "", idle: float = 2.0, **options: Any) -> EmbeddedModel:
        weights = tmp_path / "fake.gguf"
        if not weights.exists():
            weights.write_bytes(b"GGUF" + behaviour.encode())
        kept = tmp_path / "cache" / "prefixes"
        opened.append(
            EmbeddedModel(lambda: weights, runtime, prefixes=kept, idle=idle, retry=Retry(base=0.05), **options)
        )
        return opened[-1]

    yield make
    for model in opened:
        await model.aclose()
    stop_servers(runtime)


@pytest.fixture
def kept(tmp_path: Path) -> StoredPrefixes:
    """The folder of the engine that `open_model` starts, as another process sees it."""
    weights = tmp_path / "fake.gguf"
    weights.write_bytes(b"GGUF{}")
    return kept_by(weights)


def kept_by(weights: Path) -> StoredPrefixes:
    folder = ServerOptions(weights, prefixes=weights.parent / "cache" / "prefixes").prefix_folder
    assert folder is not None
    return StoredPrefixes(folder)


def longest() -> list[Message]:
    """A prompt that is worth keeping, filled with a question."""
    return filled(fixed_prefixes()[0])


def filled(prefix: Prefix, text: str = "What is the 7th prime?") -> list[Message]:
    *whole, (role, head) = prefix.turns
    messages: list[Message] = [{"role": r, "content": t} for r, t in whole]
    messages.append({"role": role, "content": head + text})
    return messages + [{"role": "assistant", "content": "begun"}] * (prefix.messages - len(messages))


async def ask(model: EmbeddedModel, messages: list[Message]) -> Completion:
    return await model.complete(Request(messages, max_tokens=10))


async def all_kept(kept: StoredPrefixes, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while kept.missing() and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    return not kept.missing()


def test_every_prompt_begins_as_its_prefix_says() -> None:
    for prefix in fixed_prefixes():
        assert prefix.begins(filled(prefix))
        assert not prefix.begins([*filled(prefix), {"role": "user", "content": "and then?"}])
        assert not prefix.begins(filled(prefix)[:1])
        other = filled(prefix)
        other[0] = {**other[0], "content": "Something else."}
        assert not prefix.begins(other)
    assert len({prefix.key for prefix in fixed_prefixes()}) == len(fixed_prefixes())


async def test_they_are_read_in_a_quiet_moment_and_known_to_the_next_server_while_they_are_whole(
    open_model: Open, kept: StoredPrefixes, runtime: Path
) -> None:
    await ask(open_model(), longest())
    assert await all_kept(kept)
    stop_servers(runtime)
    model = open_model()
    words = sum(len(text.split()) for _, text in fixed_prefixes()[0].turns)
    assert (await ask(model, longest())).usage.cached_tokens >= words - 1
    assert (await ask(model, [{"role": "user", "content": "Hello"}])).usage.cached_tokens == 0
    assert oct(kept.folder.stat().st_mode)[-3:] == "700"

    stop_servers(runtime)
    for file in kept.folder.glob("*.kv"):
        os.truncate(file, 9)
    (kept.folder / "somebody's.kv").write_bytes(b"KV?")
    answer = await ask(open_model(), longest())
    assert answer.text, "a server that restored it would have ended"
    assert await all_kept(kept)
    whole = kept.matching(longest())
    assert whole is not None
    assert whole.stat().st_size > 9


async def test_a_kill_leaves_no_half_file(open_model: Open, kept: StoredPrefixes, runtime: Path) -> None:
    await ask(open_model(), longest())
    (kept.folder / f"{fixed_prefixes()[0].key}.1.draft").write_bytes(b"KV half")
    [(_, state)] = running_servers(runtime)
    os.kill(state.pid, signal.SIGKILL)
    while state.alive:
        await asyncio.sleep(0.01)
    assert (await ask(open_model(), longest())).text
    assert await all_kept(kept)
    assert {file.suffix for file in kept.folder.iterdir()} == {".kv"}
