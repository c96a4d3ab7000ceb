"""A process of its own for each read: a bomb, a hang or a crash of a parser ends that process and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict
from typing import Any

from agent.files.contents import ReadLimits
from agent.files.problem import FileProblem, too_large
from mcp_tools.sandbox.interpreter import executable

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from agent.files.inside import main; main()"
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "ALITA_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "LD_LIBRARY_PATH")
"""What the process gets of our environment: no key is among it."""
_REPLY = 64 << 20
"""Bytes that a reply may have."""
_GRACE_SECONDS = 2.0
"""How long after its own deadline a process is given to be gone."""


async def read_apart(request: dict[str, Any], limits: ReadLimits) -> dict[str, Any]:
    """Has a request carried out by `agent.files.inside` in a fresh process.

    Args:
        request: What to do with which file; plain JSON.
        limits: What the process may take.

    Returns:
        Its reply.

    Raises:
        FileProblem: The file cannot be read, or the process came to no good end.
    """
    scratch = await asyncio.to_thread(tempfile.mkdtemp, prefix="alita-read-")
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *(executable(), "-I", "-S", "-X", "utf8", "-c", _BOOT, *sys.path),
            env={**environment, "TMPDIR": scratch},
            cwd=scratch,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        reply = await _talk(process, json.dumps({**request, "limits": asdict(limits)}).encode(), limits)
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    return _judged(reply, process.returncode, request, limits)


async def _talk(process: asyncio.subprocess.Process, request: bytes, limits: ReadLimits) -> bytes:
    """Sends the request and takes the reply; at the end nothing of the process is left, whatever happens."""
    assert process.stdin is not None
    assert process.stdout is not None
    reply = bytearray()
    try:
        async with asyncio.timeout(limits.seconds + _GRACE_SECONDS):
            process.stdin.write(request)
            with contextlib.suppress(ConnectionError):
                await process.stdin.drain()
            process.stdin.close()
            while len(reply) < _REPLY and (chunk := await process.stdout.read(1 << 20)):
                reply += chunk
            await process.wait()
    except TimeoutError:
        pass
    finally:
        _kill(process.pid)
        await asyncio.shield(process.wait())
    return bytes(reply)


def _kill(group: int) -> None:
    """Ends the process and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _judged(reply: bytes, status: int | None, request: dict[str, Any], limits: ReadLimits) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(reply)
    except ValueError:
        raise _death(status or 0, request, limits) from None
    if problem := told.get("problem"):
        raise FileProblem(problem["reason"], problem["message"], remedy=problem["remedy"])
    return told


def _death(status: int, request: dict[str, Any], limits: ReadLimits) -> FileProblem:
    """What the end of a process without a reply means."""
    name, kind = request["name"], request["kind"]
    if status in (-signal.SIGABRT, -signal.SIGKILL):
        return too_large(name, limits)
    if status == -signal.SIGALRM:
        return FileProblem(
            "timeout",
            f"{name} was not read within {limits.seconds:g} seconds.",
            remedy="Read a part of it (page), or compute with it in a program (run_code).",
        )
    said = signal.Signals(-status).name if -status in set(signal.Signals) else f"status {status}"
    return FileProblem(
        "damaged",
        f"{name} ended the program that reads {kind} files ({said}): it is damaged, or made to do so.",
        remedy="Try it in a program (run_code), or ask for the file in another format.",
    )
