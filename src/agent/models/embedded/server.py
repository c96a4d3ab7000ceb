"""The embedded model's server: llama.cpp's own, in a process that several `alita` processes share.

`python -m agent.models.embedded.server STEM OPTIONS` listens on 127.0.0.1 with a key that only its user can read. It
ends when it is idle, and when its state file is gone or is another server's. In quiet moments it reads the fixed
beginnings of prompts, and keeps what it computed: see `agent.models.embedded.prefixes`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
import threading
import time
import urllib.request
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agent.models.embedded.local_server import ServerFiles, ServerOptions, ServerState, born
from agent.models.embedded.prefixes import KeptPrefixes

_MAX_THREADS = 8
_LOOK_EVERY = 5.0


def idle_cores(seconds: float = 0.4) -> int:
    """Return the number of idle cores, at least 1.

    llama.cpp's threads wait for each other by spinning: with as many threads as cores it collapses (12 → 1 token/s)
    when another process keeps one core busy. The load average would not do: it remembers the last minute.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    most = min(len(allowed), _MAX_THREADS)
    with contextlib.suppress(OSError, ValueError):  # what the control group grants; `max` is no number
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        most = min(most, int(quota) // int(period))
    before = _idle_ticks()
    time.sleep(seconds)
    enough = 0.4 * os.sysconf("SC_CLK_TCK") * seconds
    busy = sum(core in allowed and ticks - before[core] < enough for core, ticks in _idle_ticks().items())
    return max(1, min(len(allowed) - busy, most))


def _idle_ticks() -> dict[int, int]:
    """The ticks that each core has been idle or waiting for a disk; empty where /proc does not say."""
    with contextlib.suppress(OSError):
        lines = map(str.split, Path("/proc/stat").read_text().splitlines())
        return {int(f[0][3:]): int(f[4]) + int(f[5]) for f in lines if f and f[0][:3] == "cpu" and f[0][3:]}
    return {}


def main(stem: str, written: str) -> int:
    """Serve until idle, stopped or replaced. Arguments are the stem of its files and `ServerOptions` as JSON."""
    files, given = ServerFiles(Path(stem)), json.loads(written)
    folders = {name: Path(given[name]) for name in ("weights", "prefixes") if given[name]}
    options = ServerOptions(**given | folders)
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    state = ServerState(os.getpid(), born(os.getpid()), idle=options.idle, started=time.time())
    files.write(state)
    threads, token = idle_cores(), secrets.token_urlsafe(24)
    kept = KeptPrefixes(options.kept) if options.kept else None
    try:
        if kept:
            kept.prepare()
    except OSError as exc:
        print(f"no prefix is kept: {exc}", flush=True)
        kept = None
    server = _load(options, threads, token, kept)
    port = int(server.listening_address.rpartition(":")[2])
    state = replace(state, port=port, token=token, threads=threads, prefixes=str(kept.folder) if kept else "")
    files.write(state)
    print(f"listening on {server.listening_address} with {threads} threads", flush=True)
    _wait(files, state, ending, kept)
    if files.read() == state:
        files.state.unlink(missing_ok=True)
    # Destructors of a server with requests in flight can wait for them; there is nothing left to save.
    sys.stdout.flush()
    os._exit(0)


def _load(options: ServerOptions, threads: int, token: str, kept: KeptPrefixes | None) -> Any:
    import xllamacpp  # type: ignore[import-untyped]  # has no stubs

    params = xllamacpp.CommonParams()
    params.model.path = str(options.weights)
    params.n_ctx = options.context
    params.n_parallel = options.parallel
    params.kv_unified = True
    params.use_jinja = True
    params.cache_ram_mib = 512
    params.ui = False
    params.verbosity = 2  # warnings: the log holds no prompts and does not grow
    params.model_alias = {options.weights.stem}
    params.port = 0
    params.api_keys = [token]
    params.endpoint_slots = True
    if kept:
        params.slot_save_path = f"{kept.folder}/"
    params.warmup = False  # the first request reads the weights as well
    params.fit_params = len(xllamacpp.get_device_info()) > 1  # without a GPU there is no memory to fit into
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(params)


def _wait(files: ServerFiles, state: ServerState, ending: threading.Event, kept: KeptPrefixes | None) -> None:
    """Return after a stop signal, when idle, or when the state file belongs to another server."""
    look_every = min(_LOOK_EVERY, state.idle / 4) if state.idle else _LOOK_EVERY
    while not ending.wait(look_every):
        if (used := _used(files, state)) is None:
            return
        quiet = time.time() - used
        if kept and quiet > 2 * look_every and (missing := kept.missing()) and not _busy(state):

            def stop(used: float = used) -> bool:
                return ending.is_set() or _used(files, state) != used

            try:
                while missing and kept.make(missing.pop(0), partial(ask_engine, state), stop):
                    pass
            except OSError as exc:
                print(f"no more prefixes are kept: {exc}", flush=True)
                kept = None
        elif quiet > state.idle > 0 and not _busy(state):
            return


def _used(files: ServerFiles, state: ServerState) -> float | None:
    """When the server was used last; None where the state file is no longer its own, or removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        if files.read() == state:
            return files.state.stat().st_mtime
    return None


def _busy(state: ServerState) -> bool:
    """A request is being answered."""
    try:
        return any(slot.get("is_processing") for slot in ask_engine(state, "/slots"))
    except OSError:
        return False


def ask_engine(state: ServerState, path: str, body: dict[str, Any] | None = None) -> Any:
    """Asks the engine itself."""
    url = f"http://127.0.0.1:{state.port}{path}"
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {state.token}", "Content-Type": "application/json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data, headers), timeout=10 if data is None else 120) as response:
        return json.load(response)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
