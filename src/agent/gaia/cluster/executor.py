"""Runs questions as Ray tasks. Nodes only answer questions; this process writes the ledger, library and gap records."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import NodeDiedError, ObjectLostError, OutOfMemoryError, RayError, TaskCancelledError
from ray.exceptions import WorkerCrashedError as WorkerDiedError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agent import events
from agent.errors import RunError
from agent.gaia.attempt import Attempt
from agent.gaia.cluster import worker
from agent.gaia.cluster.connection import check_nodes, connect, private_ray_folder
from agent.gaia.cluster.coordinator import Coordinator
from agent.gaia.cluster.file_transfer import Files, digest_of, write_folder
from agent.gaia.cluster.sharing import keep, pack
from agent.gaia.configuration import setup_of
from agent.gaia.question_run import AttemptJob, AttemptResult, Listener, empty_library
from agent.store.runs import ID
from agent.store.tool_records import open_library
from mcp_tools.errors import os_errors_as
from mcp_tools.library.folder import data_folder_of
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.configuration import RunOptions, Setup

_LOST = (WorkerDiedError, NodeDiedError, ObjectLostError, OutOfMemoryError)
"""Failures that are probably not caused by the question, so the question is retried once."""
_GRACE_SECONDS = 10.0
"""Seconds that a cancelled question is given to end before its worker is killed."""
_LOOK_SECONDS = 15.0
"""Seconds between checks that a waiting question still has a node to run on."""
_RESOURCES = ("sandbox", "browser")
"""Custom resources of nodes. A question uses one unit of each resource in the cluster."""


class RayExecutor:
    """Runs questions on a cluster (implements `agent.gaia.question_run.Executor`)."""

    def __init__(self, options: RunOptions, setup: Setup, at_once: int, tell: Callable[[str], None]) -> None:
        self.at_once = at_once
        self.setup = setup
        self.tell = tell
        self._with_library = options.library != "cold"
        self._learns = options.learning != "off"
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        coordinator: Any = ray.remote(num_cpus=0, max_concurrency=10_000)(Coordinator)
        self.coordinator = coordinator.options(scheduling_strategy=here).remote(setup.settings.concurrency)
        total = ray.cluster_resources()
        wanted = [
            name
            for name in _RESOURCES
            if total.get(name) and not (name == "browser" and "browse" in setup.settings.without)
        ]
        self._task: Any = ray.remote(
            num_cpus=1, resources=dict.fromkeys(wanted, 1), max_retries=0, num_returns="streaming"
        )(worker.answer)
        self._sent: dict[str, Any] = {}
        """References to files in Ray's object store, by hash."""
        self._packed: tuple[object, Files, str] | None = None
        self._values = worker.portable(setup.settings)

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, options: RunOptions, settings: Settings, most: int, usual: int, tell: Callable[[str], None]
    ) -> AsyncIterator[RayExecutor]:
        """Connect to the cluster, and check its nodes.

        Args:
            options: The questions and limits.
            settings: The settings of the questions.
            most: The number of remaining questions.
            usual: Number of parallel questions on a local Ray unless the user sets one.
            tell: Shows a line to the user.

        Raises:
            UsageError, RunError: The cluster cannot be used.
        """
        address, here = options.ray_address, min(options.concurrency or usual, most)
        with contextlib.nullcontext("") if address else private_ray_folder() as folder:
            tell(f"Connecting to Ray at {address} …" if address else "Starting Ray …")
            await asyncio.to_thread(connect, address, here, folder)
            try:
                cpus = await asyncio.to_thread(check_nodes, settings)
                at_once = min(options.concurrency or cpus, most)
                yield cls(options, setup_of(options, settings, at_once), at_once, tell)
            finally:
                await asyncio.to_thread(ray.shutdown, wait_for_processes=True)

    def start(self, job: AttemptJob, listen: Listener) -> RayQuestion:
        """See `Executor`."""
        return RayQuestion(self, job, listen)

    def settings_of(self, job: AttemptJob) -> Settings:
        """Return the settings that name the library and store that a question changes."""
        own = self.setup.settings
        if job.own_folder is None:
            return own
        data = data_folder_of(job.own_folder, own.data_dir / "benchmarks")
        return own.model_copy(update={"tools_dir": job.own_folder / "tools", "data_dir": data, "database_url": None})

    def send(self, job: AttemptJob, holder: str) -> tuple[Any, Files]:
        """Start a question's task. Return its stream of messages and the shared files sent with it."""
        shared, digest = self._shared()
        file, name = "", ""
        if job.file is not None:
            name = job.file.name
            with os_errors_as(RunError, f"The file {job.file} cannot be read"):
                content = {name: job.file.read_bytes()}
            file = self._put(content)
        order = worker.Order(
            holder=holder,
            job=replace(job, file=None, own_folder=None, run_id=""),
            file_name=name,
            file=file,
            shared=digest,
            content={one: [self._sent[one]] for one in (digest, file) if one},
            settings=self._values,
            rules=self.setup.rules,
            hard_seconds=self.setup.hard_seconds,
        )
        return self._task.remote(order, self.coordinator), shared

    def _shared(self) -> tuple[Files, str]:
        """Return the files that questions share, and their hash. The files are packed again after a change."""
        own = self.setup.settings
        state = open_library(own).state() if self._with_library else None
        if self._packed is None or self._learns or self._packed[0] != state:
            files = pack(own, with_library=self._with_library)
            self._packed = state, files, self._put(files)
        return self._packed[1:]

    def _put(self, files: Files) -> str:
        digest = digest_of(files)
        if digest not in self._sent:
            self._sent[digest] = ray.put(files)
        return digest

    async def keep(self, job: AttemptJob, sent: Files, delivery: worker.Delivery) -> AttemptResult:
        """Store the results of a question before it is written to the ledger.

        Raises:
            StorageError: The disk is full.
        """
        result, runs = delivery.result, self.setup.settings.runs_dir
        run_id = result.attempt.run_id
        if run_id and not ID.fullmatch(run_id):
            raise RunError(f"A node sent the run {one_line(run_id, 60)!r}, which is not a valid run id.")
        if delivery.run and not (runs / run_id).exists():
            await asyncio.to_thread(write_folder, runs / run_id, delivery.run)
        if delivery.left_out:
            listed = f"{count_of(len(delivery.left_out), 'file')}, such as {delivery.left_out[0]}"
            self.tell(f"{job.task_id}: {listed} of its run were too large to copy from the node")
        own = self.settings_of(job)
        if job.own_folder:
            await asyncio.to_thread(empty_library, job.own_folder, own.data_dir)
        attempt = keep(own, sent, delivery.changes, result.attempt, job.question, self.tell)
        return replace(result, attempt=attempt)


class RayQuestion:
    """A question under way on a node."""

    def __init__(self, executor: RayExecutor, job: AttemptJob, listen: Listener) -> None:
        self._executor = executor
        self._job = job
        self._listen = listen
        self._holder = ""
        self._stream: Any = None
        self._has_begun = False
        self._is_cancelled = False
        self._work = asyncio.create_task(self._answer())

    def cancel(self) -> None:
        """Cancel the question. A running question is given time to return what it has reached."""
        self._is_cancelled = True
        if self._has_begun:
            self._executor.coordinator.stop.remote(self._holder)
            asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._kill)
        else:
            self._kill()

    def _kill(self) -> None:
        if self._stream is not None and not self._work.done():
            with contextlib.suppress(RayError, ValueError):
                ray.cancel(self._stream, force=True)

    async def result(self) -> AttemptResult:
        """See `StartedQuestion`."""
        try:
            return await self._work
        finally:
            self._work.cancel()
            self._kill()

    async def _answer(self) -> AttemptResult:
        job, died = self._job, ""
        for _ in range(2):
            if self._is_cancelled:
                break
            self._holder, self._has_begun = f"{job.task_id} {job.epoch} {secrets.token_hex(4)}", False
            try:
                return await self._once()
            except TaskCancelledError:
                break
            except _LOST as problem:
                died = one_line(str(problem), 200)
                self._listen(events.Note(f"the question's worker died: {died}"))
            except RayError as problem:
                return self._ended("error", f"a bug: {one_line(str(problem), 300)}")
            finally:
                self._executor.coordinator.leave.remote(self._holder)
        if self._is_cancelled or not died:
            return self._ended("interrupted", "")
        return self._ended("error", f"the question's worker died twice: {died}")

    def _ended(self, status: Any, error: str) -> AttemptResult:
        return AttemptResult(Attempt(self._job.task_id, self._job.epoch, status=status, error=error))

    async def _once(self) -> AttemptResult:
        self._stream, sent = await asyncio.to_thread(self._executor.send, self._job, self._holder)
        if self._is_cancelled:
            self._kill()
        while True:
            following = asyncio.ensure_future(anext(self._stream))
            while not (await asyncio.wait({following}, timeout=_LOOK_SECONDS))[0]:
                if not self._has_begun and not await asyncio.to_thread(_cpus):
                    following.cancel()
                    why = "No remaining node of the Ray cluster can run questions."
                    return AttemptResult(self._ended("interrupted", "").attempt, why)
            message = await following.result()
            self._has_begun = True
            match message:
                case "event", event:
                    self._listen(event)
                case "failed", error:
                    return self._ended("error", error)
                case "done", delivery:
                    return await self._executor.keep(self._job, sent, delivery)


def _cpus() -> float:
    return float(ray.cluster_resources().get("CPU", 0.0))
