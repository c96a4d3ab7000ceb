"""The life of the embedded model's server: shared, found again, replaced after kill -9, gone when idle.

A real process with a stand-in for the engine, so that nothing has to be loaded.
"""

# ruff: noqa: ASYNC110, ASYNC220, ASYNC221, ASYNC240 -- a test may block: nothing else runs in its loop
from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx2
import pytest

from agent.errors import ModelUnreachableError
from agent.models.embedded.local_server import (
    LocalServer,
    ServerFiles,
    ServerOptions,
    ServerState,
    process_start,
    running_servers,
    stop_servers,
)
from agent.models.embedded.model import EmbeddedModel
from agent.models.failures import Retry
from agent.models.protocol import Request

SOURCE = Path(__file__).parents[3] / "src"
FAKE = Path(__file__).parents[2] / "support" / "fake_llama"
SCHEMA = {"type": "object", "properties": {"pid": {"type": "integer"}}, "required": ["pid"]}

Open = Callable[..., EmbeddedModel]


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", f"{FAKE}:{SOURCE}")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-must-not-be-inherited")
    return tmp_path / "runtime"


@pytest.fixture
async def open_model(tmp_path: Path, runtime: Path) -> AsyncIterator[Open]:
    opened: list[EmbeddedModel] = []

    def make(*, behaviour: str = "", **options: object) -> EmbeddedModel:
        weights = tmp_path / "fake.gguf"
        if not weights.exists():
            weights.write_bytes(b"GGUF" + behaviour.encode())
        opened.append(EmbeddedModel(lambda: weights, runtime, retry=Retry(base=0.05), **options))  # type: ignore[arg-type]
        return opened[-1]

    yield make
    for model in opened:
        await model.aclose()
    stop_servers(runtime)


async def pid_of(model: EmbeddedModel, prompt: str = "who?") -> int:
    answer = await model.complete(Request([{"role": "user", "content": prompt}], schema=SCHEMA))
    return int(answer.parsed["pid"])


async def gone(pid: int, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while process_start(pid) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    return not process_start(pid)


async def test_the_first_call_starts_it_and_others_share_it(
    open_model: Open, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It inherits no key of ours and asks no proxy; other users can reach the port, but not read the key for it."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    told: list[str] = []
    first = await pid_of(open_model(notify=told.append))
    assert told == ["loading the embedded model"]
    assert await pid_of(open_model(notify=told.append)) == first
    assert told == ["loading the embedded model"]
    assert first != os.getpid()
    assert "sk-must-not-be-inherited" not in Path(f"/proc/{first}/environ").read_text()
    [(files, state)] = running_servers(runtime)
    assert stat.S_IMODE(files.state.stat().st_mode) == 0o600
    assert state.token not in Path(f"/proc/{state.pid}/cmdline").read_text()
    url = f"http://127.0.0.1:{state.port}/v1/chat/completions"
    assert httpx2.post(url, json={"messages": []}, trust_env=False).status_code == 401


async def test_processes_that_start_at_once_share_one(open_model: Open, runtime: Path, tmp_path: Path) -> None:
    open_model(behaviour='{"load": 0.3}')
    code = (
        "import asyncio, sys; from pathlib import Path; from agent.models.embedded.model import EmbeddedModel\n"
        "from agent.models.protocol import Request\n"
        f"model = EmbeddedModel(lambda: Path({str(tmp_path / 'fake.gguf')!r}), Path({str(runtime)!r}))\n"
        "print(asyncio.run(model.complete(Request([{'role': 'user', 'content': 'who?'}]))).text)\n"
    )
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = {(await asyncio.to_thread(process.communicate))[0] for process in processes}
    assert len(answers) == 1
    assert "pid" in answers.pop()


async def test_after_its_death_the_next_call_starts_another(open_model: Open) -> None:
    """Killed between two calls, or in the middle of one, which is told after its retries."""
    model = open_model()
    first = await pid_of(model)
    os.kill(first, signal.SIGKILL)
    assert await gone(first)
    second = await pid_of(model)
    assert second != first
    with pytest.raises(ModelUnreachableError):
        await model.complete(Request([{"role": "user", "content": "die"}]))
    assert await pid_of(model) not in (first, second)


async def test_a_state_that_is_stale_or_broken_is_no_server(open_model: Open, runtime: Path) -> None:
    """As of another process that has its number."""
    runtime.mkdir()
    files = ServerFiles(runtime / "embedded-x")
    for content in ("", "{", "[]", '{"pid": 1}', '{"pid": "x", "born": "y", "ports": 1}'):
        files.state.write_text(content)
        assert files.read() is None
    model = open_model()
    files = LocalServer(runtime, ServerOptions(runtime.parent / "fake.gguf")).files
    files.write(ServerState(os.getpid(), "another birth", 9, "t"))
    assert files.read() is None
    assert await pid_of(model) != os.getpid()


async def test_it_ends_when_idle_but_not_while_it_answers(open_model: Open, runtime: Path) -> None:
    model = open_model(idle=1.5)
    pid = await pid_of(model, "sleep 2.2")
    assert await gone(pid)
    assert running_servers(runtime) == []
    assert list(runtime.glob("*.json")) == []


async def test_an_engine_that_fails_is_told_with_its_last_words(open_model: Open) -> None:
    with pytest.raises(ModelUnreachableError, match=r"exited with status 1: RuntimeError: out of memory") as caught:
        await pid_of(open_model(behaviour='{"fail": "out of memory"}'))
    assert ".log" in caught.value.remedy


async def test_other_weights_have_a_server_of_their_own_and_all_end_when_told_to(
    open_model: Open, runtime: Path, tmp_path: Path
) -> None:
    first = await pid_of(open_model())
    (tmp_path / "fake.gguf").write_bytes(b"GGUF {} ")
    second = await pid_of(open_model())
    assert second != first
    assert stop_servers(runtime) == 2
    assert not process_start(first)
    assert not process_start(second)
    assert stop_servers(runtime) == 0


async def test_it_is_light(tmp_path: Path) -> None:
    """Neither the client nor the server imports the SDK."""
    heavy = {"openai", "pydantic", "jsonschema", "httpx2", "langgraph"}
    modules = "agent.models.embedded.model, agent.models.embedded.server, agent.models.roles"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
