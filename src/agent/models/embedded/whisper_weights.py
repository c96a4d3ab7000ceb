"""Weights of openai-whisper. That package downloads its checkpoints and checks their SHA-256."""

from __future__ import annotations

import contextlib
import io
from importlib.util import find_spec
from pathlib import Path

from agent.errors import WeightsError
from agent.models.embedded.weights import StoredWeights

USUAL = "base"
"""The model to use if the setting `speech_model` is empty."""
_FILES = {"large": "large-v3", "turbo": "large-v3-turbo"}


class WhisperWeights:
    """A checkpoint of openai-whisper.

    Args:
        models: Folder of all local models.
        name: A model name of openai-whisper such as `base`, or the path of the user's own `.pt` file.
    """

    def __init__(self, models: Path, name: str = "") -> None:
        self.name = name or USUAL
        self.folder = models / "openai-whisper"
        self.is_own = self.name.endswith(".pt")
        self.path = Path(name).expanduser() if self.is_own else self.folder / f"{_FILES.get(self.name, self.name)}.pt"

    @property
    def are_here(self) -> bool:
        """True if the file exists."""
        return self.path.is_file()

    def pull(self, *, quiet: bool = False) -> Path:
        """Download the checkpoint if it is missing, and load it once as a check.

        Raises:
            WeightsError: openai-whisper is not installed, does not know the model, or cannot download or load it.
        """
        if find_spec("whisper") is None:
            raise WeightsError(
                "openai-whisper is not installed", remedy="`alita doctor` shows how to install the extra [whisper]."
            )
        import whisper  # type: ignore[import-not-found, unused-ignore]  # a separate extra, without stubs

        if not self.is_own and self.name not in (known := whisper.available_models()):
            raise WeightsError(
                f"openai-whisper has no model {self.name!r}",
                remedy=f"Set speech_model to one of these, or to the path of a .pt file: {', '.join(known)}",
            )
        try:
            with contextlib.redirect_stderr(io.StringIO()) if quiet else contextlib.nullcontext():
                whisper.load_model(str(self.path) if self.is_own else self.name, "cpu", str(self.folder))
        except Exception as error:  # noqa: BLE001 - torch raises many kinds for a damaged file
            raise WeightsError(
                f"openai-whisper could not download or load its model {self.name!r}: {error}",
                remedy="Check the network and the disk, then run `alita model pull speech`. Or set speech to "
                "faster-whisper.",
            ) from None
        return self.path

    def remove(self) -> bool:
        """Delete the file unless it is the user's own. Return True if it was deleted."""
        found = self.are_here and not self.is_own
        if found:
            self.path.unlink()
        return found

    def stored(self) -> list[StoredWeights]:
        """Return the file if it exists. It counts as unverified, because openai-whisper checks it when it loads it."""
        return [StoredWeights(self.path, self.path.stat().st_size, "unverified")] if self.are_here else []
