"""The weights of openai-whisper, which its own package fetches and checks by their SHA-256."""

from __future__ import annotations

import contextlib
import io
from importlib.util import find_spec
from pathlib import Path

from agent.errors import WeightsError
from agent.models.embedded.weights import StoredWeights

USUAL = "base"
"""The model if the setting `speech_model` names none."""
_FILES = {"large": "large-v3", "turbo": "large-v3-turbo"}


class WhisperWeights:
    """The checkpoint of a model of openai-whisper, by its name there, or the path of the user's own `.pt` file."""

    def __init__(self, models: Path, name: str = "") -> None:
        self.name = name or USUAL
        self.folder = models / "openai-whisper"
        self.is_own = self.name.endswith(".pt")
        self.path = Path(name).expanduser() if self.is_own else self.folder / f"{_FILES.get(self.name, self.name)}.pt"

    @property
    def are_here(self) -> bool:
        """True if the file is there."""
        return self.path.is_file()

    def pull(self, *, quiet: bool = False) -> Path:
        """Fetch the checkpoint unless it is there, and load it, so that it is known to work.

        Raises:
            WeightsError: openai-whisper is not installed, does not know the model, or cannot fetch or load it.
        """
        if find_spec("whisper") is None:
            raise WeightsError(
                "openai-whisper is not installed", remedy="`alita doctor` says how to install the extra [whisper]."
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
                f"openai-whisper could not fetch or load its model {self.name!r}: {error}",
                remedy="Check the network and the disk: alita model pull speech. Or set speech to faster-whisper.",
            ) from None
        return self.path

    def remove(self) -> bool:
        """Remove the file, unless it is the user's own; False if no file existed."""
        found = self.are_here and not self.is_own
        if found:
            self.path.unlink()
        return found

    def stored(self) -> list[StoredWeights]:
        """Return the file, if it is there; openai-whisper checks it each time it loads it."""
        return [StoredWeights(self.path, self.path.stat().st_size, "unverified")] if self.are_here else []
