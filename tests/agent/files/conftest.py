"""What the tests of readers share: opening a file, and the weights of speech."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.files.contents import Contents, ReadLimits, Source
from agent.files.kinds import open_contents
from agent.files.media import speech
from support.contents import Open


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No speech engine runs unless a test chooses one."""
    monkeypatch.setattr(speech, "_engine", (speech.Speech(engine="none"), None))


@pytest.fixture
def open_file(tmp_path: Path) -> Open:
    """Opens content, or an existing file, with the reader of a kind."""

    def opened(kind: str, content: bytes | Path, *, name: str = "", limits: ReadLimits | None = None) -> Contents:
        path = content if isinstance(content, Path) else tmp_path / f"file.{kind}"
        if isinstance(content, bytes):
            path.write_bytes(content)
        return open_contents(Source(path, kind, name), limits or ReadLimits())

    return opened


@pytest.fixture(scope="session")
def speech_models() -> Path:
    """The folder of models, which contains the speech weights."""
    from agent.configuration.paths import find_folders
    from agent.errors import WeightsError
    from agent.models.embedded.weights import speech_weights

    folder = Path(os.environ.get("ALITA_TEST_MODELS") or find_folders(os.environ).data / "models")
    try:
        speech_weights(folder).ready()
    except WeightsError as missing:
        pytest.skip(f"{missing.message}: fetch it with `alita model pull speech`")
    return folder
