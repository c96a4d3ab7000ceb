"""openai-whisper itself, where it is installed, with the weights of its smallest model."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.errors import WeightsError
from agent.files.contents import FileProblem
from agent.files.media import speech
from agent.files.media.audio import samples
from agent.files.media.speech import Speech, transcribe
from agent.models.embedded.whisper_weights import WhisperWeights
from support.command import Terminal
from support.file_server import FileServer
from support.sounds import FOX
from support.whisper_checkpoint import write_checkpoint

needs_whisper = pytest.mark.skipif(find_spec("whisper") is None, reason="openai-whisper is not installed")


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    speech._openai_model.cache_clear()
    if not hasattr(sys.modules.get("whisper"), "transcribe"):  # what stood in its place in another test
        sys.modules.pop("whisper", None)


@pytest.fixture(scope="module")
def checkpoint(speech_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whisper") / "tiny.en.pt"
    write_checkpoint(speech_models / "faster-whisper-tiny.en" / "model.bin", path)
    return path


@pytest.mark.model
@needs_whisper
def test_a_sound_is_read_from_the_command_line(checkpoint: Path, tmp_path: Path) -> None:
    """In the confined process that reads files, with a checkpoint of one's own."""
    terminal = Terminal(tmp_path)
    named = {"ALITA_SPEECH": "openai-whisper", "ALITA_SPEECH_MODEL": str(checkpoint)}
    ended = terminal.call("files", "show", str(FOX), **named)
    assert ended.code == 0, ended.err
    assert "quick brown fox" in ended.out
    assert terminal.call("model", "path", "speech", "--json", **named).json == {"path": str(checkpoint), "exists": True}


@pytest.mark.model
@needs_whisper
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the package leaves files open
def test_weights_are_fetched_checked_used_and_removed(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import whisper

    terminal, named = Terminal(tmp_path), {"ALITA_SPEECH": "openai-whisper", "ALITA_SPEECH_MODEL": "tiny.en"}
    data = checkpoint.read_bytes()
    with FileServer(data) as server:
        url = f"{server.url}/{hashlib.sha256(data).hexdigest()}/tiny.en.pt"
        monkeypatch.setitem(whisper._MODELS, "tiny.en", url)
        ended = terminal.call("model", "pull", "speech", "--quiet", "--json", **named)
        assert ended.code == 0, ended.err
        assert (ended.err, ended.json["bytes"]) == ("", len(data))
        models = Path(ended.json["path"]).parents[1]
        server.data = b"other bytes"
        with pytest.raises(WeightsError, match="SHA256 checksum"):
            WhisperWeights(tmp_path / "elsewhere", "tiny.en").pull(quiet=True)
    speech.use(Speech("openai-whisper", "tiny.en", folder=str(models)))
    told = transcribe(samples(FOX, 0, 7)[0])
    assert told.engine == "openai-whisper tiny.en"
    assert "lazy dog" in " ".join(one.text for one in told.segments)
    assert terminal.call("model", "rm", "speech", "--json", **named).json["removed"] is True
    monkeypatch.setitem(whisper._MODELS, "tiny.en", "http://127.0.0.1:9/abc/tiny.en.pt")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    speech._openai_model.cache_clear()
    with pytest.raises(FileProblem, match=r"could not load its model 'tiny\.en'"):
        transcribe(samples(FOX, 0, 7)[0])
    failed = terminal.call("model", "pull", "speech", **named)
    assert failed.code != 0
    assert "could not fetch or load its model 'tiny.en'" in failed.err


def test_whichever_is_used_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the package's place shows what it is asked for."""
    (tmp_path / "whisper.py").write_text(
        "def available_models():\n"
        "    return ['base', 'turbo']\n"
        "def load_model(name, device, root):\n"
        "    import os, pathlib\n"
        "    os.makedirs(root, exist_ok=True)\n"
        "    path = pathlib.Path(root, {'turbo': 'large-v3-turbo'}.get(name, name) + '.pt')\n"
        "    path.write_text('weights')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "whisper", raising=False)
    terminal, chosen = Terminal(tmp_path), {"ALITA_SPEECH": "openai-whisper"}
    for model, file in (("", "base.pt"), ("turbo", "large-v3-turbo.pt")):
        told = terminal.call("model", "pull", "speech", "--json", **chosen, ALITA_SPEECH_MODEL=model)
        assert told.json == {"ok": True, "path": str(terminal.home / f"data/models/openai-whisper/{file}"), "bytes": 7}
    listed = json.loads(terminal.call("model", "list", "--json", **chosen).out)["weights"]
    assert [(Path(one["path"]).name, one["model"]) for one in listed] == [("base.pt", "speech")]
    ended = terminal.call("model", "pull", "speech", **chosen, ALITA_SPEECH_MODEL="huge")
    assert "has no model 'huge'" in ended.err
    assert "base, turbo" in ended.err


def test_what_is_not_installed_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.models.embedded.whisper_weights.find_spec", lambda _: None)
    ended = Terminal(tmp_path).call("model", "pull", "speech", ALITA_SPEECH="openai-whisper")
    assert "the extra [whisper]" in ended.err
