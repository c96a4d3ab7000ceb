"""GAIA's gated dataset on the model hub: its files at one pinned revision, and what to do when it gives none."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.errors import DatasetError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

REPOSITORY = "gaia-benchmark/GAIA"
REVISION = "682dd723ee1e1697e00360edccf2366dc8418dd9"
"""Of October 2025: the questions are Parquet."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ACCEPT = f"Open https://huggingface.co/datasets/{REPOSITORY}, sign in and accept the terms"
_GET_TOKEN = "make a token at https://huggingface.co/settings/tokens and export HF_TOKEN"  # noqa: S105 - a sentence


class NoAccess(DatasetError):
    """There is no token, or its account may not read the dataset: asking again changes nothing."""


@dataclass(frozen=True, slots=True)
class Hub:
    """The dataset at one revision. `HF_ENDPOINT` names another hub."""

    cache: Path
    """Folder in which fetched files are kept."""
    token: str | None = field(default=None, repr=False)
    """What `hf auth login` stored when not given."""
    revision: str = REVISION

    def fetch(self, path: str) -> Path:
        """A file of the dataset, from the cache if it was fetched before.

        Raises:
            NoAccess: No token, or terms not accepted.
            DatasetError: No network, or no such revision.
            FileNotFoundError: The revision holds no such file.
        """
        try:
            import httpx
            from huggingface_hub import errors
        except ImportError:
            raise DatasetError(
                "The packages that read the hub are not installed.", remedy="pip install 'alita[gaia]'"
            ) from None
        try:
            return self._fetch(path)
        except errors.RemoteEntryNotFoundError:
            raise FileNotFoundError(path) from None
        except (
            errors.HfHubHTTPError,
            errors.LocalEntryNotFoundError,
            errors.HFValidationError,
            errors.XetError,
            errors.XetDownloadError,
        ) as error:
            raise self._explained(error) from None
        except httpx.HTTPError as error:
            raise _unreachable(str(error) or type(error).__name__) from None
        except OSError as error:
            raise DatasetError(
                f"{path} cannot be kept in {self.cache}: {error.strerror or error}.",
                remedy="Free some space, or set ALITA_HOME to a folder that can be written.",
            ) from None

    def _fetch(self, path: str) -> Path:
        from huggingface_hub import get_token, hf_hub_download, try_to_load_from_cache
        from huggingface_hub.utils import logging
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        if _COMMIT.fullmatch(self.revision):
            kept = try_to_load_from_cache(REPOSITORY, path, self.cache, self.revision, repo_type="dataset")
            if isinstance(kept, str):
                return Path(kept)
        if not os.environ.get("HF_ENDPOINT") and not (self.token or get_token()):
            raise _no_access(401, has_token=False)
        _require_reachable(_endpoint())
        return Path(
            hf_hub_download(
                REPOSITORY,
                path,
                repo_type="dataset",
                revision=self.revision,
                cache_dir=self.cache,
                token=self.token,
                endpoint=_endpoint(),
            )
        )

    def _explained(self, error: Exception) -> DatasetError:
        """What an error of the hub's library means, and what to do."""
        from huggingface_hub import errors, get_token

        if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else 0
        has_token = bool(self.token or get_token())
        if isinstance(error, errors.RevisionNotFoundError | errors.HFValidationError):
            return DatasetError(
                f"{REPOSITORY} has no revision {self.revision!r}.", remedy=f"Leave it out to use {REVISION}."
            )
        if isinstance(error, errors.GatedRepoError | errors.RepositoryNotFoundError) or status in (401, 403):
            return _no_access(status, has_token=has_token)
        if status:
            return DatasetError(f"The hub answered {status} for {REPOSITORY}.", remedy="Try again in a few minutes.")
        return _unreachable(str(error) or type(error).__name__)


def hub_cache(settings: Settings) -> Path:
    """Folder of the hub's files."""
    return settings.cache_dir / "gaia" / "hub"


def _no_access(status: int, *, has_token: bool) -> NoAccess:
    if not has_token:
        return NoAccess(f"{REPOSITORY} is gated, and there is no token.", remedy=f"{_ACCEPT}; then {_GET_TOKEN}.")
    if status == 401:
        return NoAccess("The hub does not know the token.", remedy=f"Check it, or {_GET_TOKEN}.")
    return NoAccess(
        f"The token's account has no access to {REPOSITORY}: its terms are not accepted, or the token may not read "
        "gated datasets.",
        remedy=f"{_ACCEPT} with the account of the token; a fine-grained token needs access to gated repositories.",
    )


def _unreachable(reason: str) -> DatasetError:
    return DatasetError(
        f"The hub {urlsplit(_endpoint()).netloc} cannot be reached: {one_line(reason, 200)}.",
        remedy="Check the network, or name a question file that is on this machine.",
    )


def _require_reachable(endpoint: str) -> None:
    """Finds out in seconds what the hub's library finds out in a minute of retries."""
    from agent.models.embedded.weights_files import SourceError
    from agent.models.embedded.weights_hub import require_reachable

    try:
        require_reachable(endpoint)
    except SourceError as error:
        raise DatasetError(
            f"The hub {error}.", remedy="Check the network, or name a question file that is on this machine."
        ) from None


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
