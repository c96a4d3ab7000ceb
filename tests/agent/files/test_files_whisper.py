"""openai-whisper itself, where it is installed, with the weights of its smallest model."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.files.media import speech
from support.command import Terminal
from support.sounds import FOX
from support.whisper_checkpoint import write_checkpoint

needs_whisper = pytest.mark.skipif(find_spec("whisper") is None, reason="openai-whisper is not installed")


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    speech._openai_model.cache_clear()
    if not hasattr(sys.modules.get("whisper"), "transcribe"):  # a fake module from another test
        sys.modules.pop("whisper", None)


@pytest.fixture(scope="module")
def checkpoint(speech_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whisper") / "tiny.en.pt"
    write_checkpoint(speech_models / "faster-whisper-tiny.en" / "model.bin", path)
    return path


@pytest.mark.model
@needs_whisper
def test_a_sound_is_read_from_the_command_line(checkpoint: Path, tmp_path: Path) -> None:
    """In the confined process, with a custom checkpoint."""
    terminal = Terminal(tmp_path)
    named = {"ALITA_SPEECH": "openai-whisper", "ALITA_SPEECH_MODEL": str(checkpoint)}
    ended = terminal.call("files", "show", str(FOX), **named)
    assert ended.code == 0, ended.err
    assert "quick brown fox" in ended.out
    assert terminal.call("model", "path", "speech", "--json", **named).json == {"path": str(checkpoint), "exists": True}


def test_whichever_is_used_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake module records which model is loaded."""
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
