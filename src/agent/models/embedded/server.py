"""The embedded model's server: llama.cpp's server in a process that all `alita` processes of a user share.

`python -m agent.models.embedded.server STEM OPTIONS` listens on 127.0.0.1 with a key that only its user can read. It
exits when it is idle, or when its state file was deleted or replaced. In idle time it stores prompt prefixes: see
`agent.models.embedded.prefixes`.
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

from agent.models.embedded.local_server import ServerFiles, ServerOptions, ServerState, process_start
from agent.models.embedded.prefixes import StoredPrefixes

_MAX_THREADS = 8
_POLL_SECONDS = 5.0


def idle_cores(seconds: float = 0.4) -> int:
    """Measure for `seconds`, and return the number of idle cores, at least 1.

    llama.cpp's threads wait for each other by spinning. With as many threads as cores, its speed drops from 12 tokens
    per second to 1 if another process keeps one core busy. The load average is too slow: it covers the last minute.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    most = min(len(allowed), _MAX_THREADS)
    with contextlib.suppress(OSError, ValueError):  # the CPU limit of a container; `max` raises ValueError
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        most = min(most, int(quota) // int(period))
    before = _idle_ticks()
    time.sleep(seconds)
    enough = 0.4 * os.sysconf("SC_CLK_TCK") * seconds
    busy = sum(core in allowed and ticks - before[core] < enough for core, ticks in _idle_ticks().items())
    return max(1, min(len(allowed) - busy, most))


def _idle_ticks() -> dict[int, int]:
    """Return the idle and disk-wait ticks of each core; empty without /proc."""
    with contextlib.suppress(OSError):
        lines = map(str.split, Path("/proc/stat").read_text().splitlines())
        return {int(f[0][3:]): int(f[4]) + int(f[5]) for f in lines if f and f[0][:3] == "cpu" and f[0][3:]}
    return {}


def main(stem: str, written: str) -> int:
    """Serve until idle, stopped or replaced.

    Args:
        stem: Path of the server's files without a suffix.
        written: `ServerOptions` as JSON.
    """
    files, given = ServerFiles(Path(stem)), json.loads(written)
    folders = {name: Path(given[name]) for name in ("weights", "prefixes") if given[name]}
    options = ServerOptions(**given | folders)
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    state = ServerState(os.getpid(), process_start(os.getpid()), idle=options.idle, started=time.time())
    files.write(state)
    threads, token = idle_cores(), secrets.token_urlsafe(24)
    stored = StoredPrefixes(options.prefix_folder) if options.prefix_folder else None
    try:
        if stored:
            stored.prepare()
    except OSError as exc:
        print(f"prompt prefixes are not stored: {exc}", flush=True)
        stored = None
    server = _load(options, threads, token, stored)
    port = int(server.listening_address.rpartition(":")[2])
    state = replace(state, port=port, token=token, threads=threads, prefixes=str(stored.folder) if stored else "")
    files.write(state)
    print(f"listening on {server.listening_address} with {threads} threads", flush=True)
    _wait(files, state, ending, stored)
    if files.read() == state:
        files.state.unlink(missing_ok=True)
    # Skip destructors, which could wait for running requests. There is nothing to save.
    sys.stdout.flush()
    os._exit(0)


def _load(options: ServerOptions, threads: int, token: str, stored: StoredPrefixes | None) -> Any:
    import xllamacpp  # type: ignore[import-untyped]  # has no stubs

    params = xllamacpp.CommonParams()
    params.model.path = str(options.weights)
    params.n_ctx = options.context
    params.n_parallel = options.parallel
    params.kv_unified = True
    params.use_jinja = True
    params.cache_ram_mib = 512
    params.ui = False
    params.verbosity = 2  # only warnings, so that the log stays small and contains no prompts
    params.model_alias = {options.weights.stem}
    params.port = 0
    params.api_keys = [token]
    params.endpoint_slots = True
    if stored:
        params.slot_save_path = f"{stored.folder}/"
    params.warmup = False  # the first request loads the weights anyway
    params.fit_params = len(xllamacpp.get_device_info()) > 1  # only useful with GPU memory
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(params)


def _wait(files: ServerFiles, state: ServerState, ending: threading.Event, stored: StoredPrefixes | None) -> None:
    """Store prefixes in idle time. Return after a stop signal, after the idle limit, or when replaced."""
    interval = min(_POLL_SECONDS, state.idle / 4) if state.idle else _POLL_SECONDS
    while not ending.wait(interval):
        if (used := _last_use(files, state)) is None:
            return
        quiet = time.time() - used
        if stored and quiet > 2 * interval and (missing := stored.missing()) and not _is_busy(state):

            def stop(used: float = used) -> bool:
                return ending.is_set() or _last_use(files, state) != used

            try:
                while missing and stored.make(missing.pop(0), partial(ask_engine, state), stop):
                    pass
            except OSError as exc:
                print(f"no more prompt prefixes are stored: {exc}", flush=True)
                stored = None
        elif quiet > state.idle > 0 and not _is_busy(state):
            return


def _last_use(files: ServerFiles, state: ServerState) -> float | None:
    """Return the time of the last use; None if the state file was deleted or belongs to another server."""
    with contextlib.suppress(FileNotFoundError):
        if files.read() == state:
            return files.state.stat().st_mtime
    return None


def _is_busy(state: ServerState) -> bool:
    try:
        return any(slot.get("is_processing") for slot in ask_engine(state, "/slots"))
    except OSError:
        return False


def ask_engine(state: ServerState, path: str, body: dict[str, Any] | None = None) -> Any:
    """Send a request to llama.cpp's HTTP server: GET without a body, else POST."""
    url = f"http://127.0.0.1:{state.port}{path}"
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {state.token}", "Content-Type": "application/json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data, headers), timeout=10 if data is None else 120) as response:
        return json.load(response)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
