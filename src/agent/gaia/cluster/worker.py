"""Answers a question on a node as a single Ray task.

The task receives the question, its file, and the settings without keys. Keys come from the node's environment or its
`alita keys set`. Results are returned as data. Apart from a cache, no data of a question remains on the node.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import ray

from agent import alita_version, events
from agent.active_run import import_ahead
from agent.alita import Alita
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import KEYS, read_settings
from agent.errors import AlitaError
from agent.gaia.cluster.coordinator import CoordinatedSlots
from agent.gaia.cluster.file_transfer import WHOLE, Cache, Files, link_folder, read_folder
from agent.gaia.cluster.sharing import QuestionChanges, changes, unpack
from agent.gaia.configuration import Setup
from agent.gaia.question_run import AttemptJob, AttemptResult, QuestionRun
from agent.models.failures import SLOTS
from agent.store.redact import Redactor
from mcp_tools.atomic import private_folder

if TYPE_CHECKING:
    from ray import ObjectRef

NODE_FOLDERS = ("cache_dir", "runtime_dir", "models_dir", "chrome", "logins")
"""Settings that each node chooses itself."""
OWN_FOLDERS = ("tools_dir", "data_dir", "config_dir", "runs_dir", "gaps_file")
"""Settings that are set to places in the question's folder."""
_NOT_FOR_NODES = ("database_url", "hf_token")
"""Keys that are only used on the benchmark's machine."""
_FOLDER = "cluster"
_TOLD = (events.RunStarted, events.StepStarted, events.Note, events.Warned, events.ModelStarting)
"""Events that are sent back to be shown or recorded."""


@dataclass(frozen=True, slots=True)
class Order:
    """A question sent to a node, without keys or the reference answer."""

    holder: str
    """Identifies the question to `Coordinator`."""
    job: AttemptJob
    """The job without `file` and `own_folder`, which are paths on the benchmark's machine."""
    file_name: str
    file: str
    """Hash of the attachment; an empty string if there is none."""
    shared: str
    """Hash of the shared files (`sharing.pack`)."""
    content: dict[str, list[ObjectRef[Files]]]
    """Files by hash. A reference inside a list is fetched only on demand."""
    settings: dict[str, Any]
    rules: str
    hard_seconds: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result that a node sends back."""

    result: AttemptResult
    run: Files
    """Files of the run's folder."""
    left_out: tuple[str, ...]
    """Names of files that are too large to send."""
    changes: QuestionChanges


Message = tuple[Literal["event"], events.Event] | tuple[Literal["done"], Delivery] | tuple[Literal["failed"], str]


def portable(settings: Settings) -> dict[str, Any]:
    """Return the settings to send: without keys and without paths of this machine."""
    own = {*KEYS, *NODE_FOLDERS, *OWN_FOLDERS, "models"}
    values = {name: getattr(settings, name) for name in type(settings).model_fields if name not in own}
    return values | {f"models.{name}": model.model_dump() for name, model in settings.models.items()}


def _node_settings(values: dict[str, Any], here: Path) -> Settings:
    """Combine the sent settings with the node's own keys and folders.

    Args:
        values: Settings from `portable`.
        here: An empty folder, so that no project's settings are read.
    """
    node = read_settings({name: value for name, value in values.items() if value is not None}, current=here)
    unset = {name: None for name, value in values.items() if value is None}
    return node.model_copy(update=unset)


def code_hash() -> str:
    """Return a hash of alita's source code, which must be the same on all nodes."""
    digest = hashlib.sha256()
    for package in ("agent", "mcp_tools"):
        root = Path(str(sys.modules[package].__file__)).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def describe(values: dict[str, Any]) -> dict[str, Any]:
    """Describe this node: version, code hash, and names of its keys.

    Args:
        values: The settings that questions will get.
    """
    import mcp_tools  # noqa: F401 - `code_hash` reads its source

    with tempfile.TemporaryDirectory() as here:
        settings = _node_settings(values, Path(here))
    import_ahead(settings)
    return {"alita": alita_version(), "code": code_hash(), "keys": keys_of(settings)}


def keys_of(settings: Settings) -> set[str]:
    """Return the names of the keys that are set and that questions may need."""
    found = {name for name in KEYS if name not in _NOT_FOR_NODES and getattr(settings, name) is not None}
    return found | {*settings.keys}


def answer(order: Order, coordinator: Any) -> Iterator[Message]:
    """Answer a question. Yields the events of its run, then its result."""
    secrets: list[str] = []
    with contextlib.ExitStack() as opened:
        runner = opened.enter_context(asyncio.Runner())
        messages: asyncio.Queue[Message] = asyncio.Queue()
        work = runner.get_loop().create_task(_answer(order, coordinator, messages, secrets))
        while True:
            message = runner.run(_next(messages, work))
            if message is None:
                break
            yield message
        try:
            yield "done", work.result()
        except AlitaError as problem:
            yield "failed", Redactor(secrets).text(str(problem))
        except Exception as bug:  # noqa: BLE001 - Ray would log the message, which may contain a key
            yield "failed", Redactor(secrets).text(f"a bug: {type(bug).__name__}: {bug}")


async def _next(messages: asyncio.Queue[Message], work: asyncio.Task[Delivery]) -> Message | None:
    """Return the next event of the run, or None after the last."""
    waiting = asyncio.create_task(messages.get())
    await asyncio.wait({waiting, work}, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        return waiting.result()
    waiting.cancel()
    return None if messages.empty() else messages.get_nowait()


async def _answer(order: Order, coordinator: Any, messages: asyncio.Queue[Message], secrets: list[str]) -> Delivery:
    with _scratch(order) as (folder, node):
        secrets += node.secrets
        settings = node.model_copy(
            update={
                "database_url": None,
                "gaps_file": folder / "gaps.sqlite",
                **{f"{name}_dir": folder / name for name in ("tools", "data", "config", "runs")},
            }
        )
        cache = Cache(node.cache_dir / _FOLDER / "files")
        shared = _fetched(cache, order, order.shared)
        link_folder(shared, folder)
        before = read_folder(shared, WHOLE)[0]
        unpack(folder, settings, node.data_dir)
        job = order.job
        if order.file:
            link_folder(_fetched(cache, order, order.file), folder / "file")
            job = replace(job, file=folder / "file" / order.file_name)
        SLOTS.set(lambda endpoint, _: CoordinatedSlots(coordinator, order.holder, endpoint))
        setup = Setup(settings, order.hard_seconds, order.rules)

        def listen(event: events.Event) -> None:
            if isinstance(event, _TOLD):
                messages.put_nowait(("event", event))

        await asyncio.to_thread(import_ahead, settings)  # otherwise the question's time would include the import
        async with Alita.open(settings) as alita:
            run = QuestionRun(alita, job, setup, listen)
            stopping = asyncio.create_task(_stop(coordinator, order.holder, run))
            try:
                result = await run.result()
            finally:
                stopping.cancel()
        run_id = result.attempt.run_id
        files, left_out = read_folder(settings.runs_dir / run_id) if run_id else ({}, ())
        return Delivery(result, files, left_out, changes(settings, before, run_id))


async def _stop(coordinator: Any, holder: str, run: QuestionRun) -> None:
    await coordinator.stopped.remote(holder)
    run.cancel()


def _fetched(cache: Cache, order: Order, digest: str) -> Path:
    return cache.find(digest) or cache.put(digest, ray.get(order.content[digest][0]))


@contextlib.contextmanager
def _scratch(order: Order) -> Iterator[tuple[Path, Settings]]:
    """Yield a temporary current folder for one question, and the node's settings."""
    with tempfile.TemporaryDirectory() as here:
        node = _node_settings(order.settings, Path(here))
    work, host = node.cache_dir / _FOLDER / "work", os.uname().nodename
    private_folder(work)
    for left in work.glob(f"*@{host}@*"):
        if not _is_alive(left.name.partition("@")[0]):  # the folder's worker was killed
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}@{host}@", dir=work))
    try:
        (folder / "here").mkdir()
        os.chdir(folder / "here")
        yield folder, node
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:  # the process belongs to another user
        return True
    return True
