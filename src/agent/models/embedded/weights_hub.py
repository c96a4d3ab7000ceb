"""Weights from the model hub, resumed where the last fetch ended."""

from __future__ import annotations

import os
import socket
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from agent.models.embedded.weights_files import Advance, SourceError, WeightsFile

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
