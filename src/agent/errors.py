"""The exceptions of `agent`, which extend the hierarchy in `mcp_tools.errors`.

AlitaError
├── UserError
│   ├── UsageError              (exit 2, from mcp_tools)
│   ├── SettingsError           a setting is wrong                                         (exit 2)
│   ├── DownloadError           a large file is missing, and its download was not allowed  (exit 2)
│   ├── ModelError              a model could not be reached or refused                    (exit 1)
│   │   ├── ModelAuthError          the key is missing, wrong or not allowed               (exit 2)
│   │   ├── ModelUnknownError       the endpoint has no model of this name                 (exit 2)
│   │   ├── ModelUnreachableError   no connection, or no answer in time
│   │   ├── ModelBusyError          rate limit or overload, after all retries
│   │   └── ModelRefusedError       the request was refused, for example because it is malformed
│   │       ├── ModelTooLongError       the request is longer than the model's context
│   │       ├── PicturesRefusedError    the endpoint takes no pictures, or not these
│   │       └── ModelDeclinedError      the model or a filter declined to answer           (exit 4)
│   ├── WeightsError            the embedded model's file is missing, cut short or altered (exit 1)
│   ├── RunError                a run cannot be found, resumed or replayed                 (exit 2)
│   ├── SessionError            a session cannot be found or read                          (exit 2)
│   ├── DatasetError            questions of a benchmark are unavailable: no file, no access(exit 2)
│   ├── SubmissionError         answers cannot be submitted as they are                    (exit 2)
│   ├── CourseError             the course's server refused, failed or cannot be reached   (exit 1)
│   └── StorageError            a folder cannot be written: read-only, disk full           (exit 1)
└── ModelFixableError
    └── ModelOutputError        prose instead of JSON, truncated JSON, an unknown action
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_tools.errors import AlitaError, ModelFixableError, StoppedError, UsageError, UserError

if TYPE_CHECKING:
    from agent.models.protocol import Usage

__all__ = ["AlitaError", "ModelFixableError", "StoppedError", "UsageError", "UserError"]


class SettingsError(UserError):
    """A setting is wrong."""

    exit_code = 2


class ModelError(UserError):
    """A model could not be reached, or refused."""


class ModelAuthError(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""

    exit_code = 2


class ModelUnknownError(ModelError):
    """The endpoint has no model of this name."""

    exit_code = 2


class ModelUnreachableError(ModelError):
    """No connection to the endpoint, or no answer in time."""


class ModelBusyError(ModelError):
    """The endpoint was still rate-limited or overloaded after all retries."""


class ModelRefusedError(ModelError):
    """The endpoint refused the request: too long or malformed."""


class ModelTooLongError(ModelRefusedError):
    """The request is longer than the model's context."""


class PicturesRefusedError(ModelRefusedError):
    """The endpoint accepts no pictures for this model, or rejected the ones it was sent."""


class ModelDeclinedError(ModelRefusedError):
    """The model, or a content filter, declined to answer."""

    exit_code = 4


class WeightsError(UserError):
    """The embedded model's file is missing, truncated or altered, and could not be downloaded."""


class DownloadError(UserError):
    """A large file is missing, and its download was not allowed."""

    exit_code = 2


class RunError(UserError):
    """A run cannot be found, resumed or replayed."""

    exit_code = 2


class SessionError(UserError):
    """A session cannot be found or read."""

    exit_code = 2


class DatasetError(UserError):
    """The questions of a benchmark are unavailable: the file is missing or empty, or there is no access to the hub."""

    exit_code = 2


class SubmissionError(UserError):
    """Answers cannot be submitted: an entry is missing, duplicated, unknown or not an answer."""

    exit_code = 2


class CourseError(UserError):
    """The course's server refused, failed or cannot be reached."""


class StorageError(UserError):
    """A folder cannot be written: read-only, no space, no permission."""


class ModelOutputError(ModelFixableError):
    """The model's output is unusable: prose instead of JSON, truncated JSON, or an unknown action.

    Args:
        message: What is wrong with the output.
        remedy: The form that is expected.
        text: The model's text.
        usage: Tokens and cost of the failed calls.
    """

    def __init__(self, message: str, *, remedy: str = "", text: str = "", usage: Usage | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.text = text
        self.usage = usage
