"""The exceptions of `mcp_tools`, in three families that are handled differently.

    AlitaError
    ├── UserError          the user can fix it: one message without a traceback, with its own exit code
    │   ├── UsageError         an invalid flag, argument or file                                   (exit 2)
    │   ├── IsolationError     the machine has no acceptable isolation, or a layer failed          (exit 2)
    │   ├── LibraryError       the tool library cannot be read or written                          (exit 1)
    │   ├── UnknownToolError   there is no tool of that name                                       (exit 2)
    │   ├── PolicyError        the user's policy file is wrong                                     (exit 2)
    │   ├── ServersFileError   a configuration file of external servers is invalid                 (exit 2)
    │   └── ServerError        an external server cannot be started, reached or understood         (exit 1)
    ├── ModelFixableError  the model can fix it: the message becomes an observation
    │   ├── ArgumentsError     arguments do not match a tool's inputSchema
    │   └── NotPermittedError  a call needs something that it may not use
    └── (anything else)    a bug: its traceback is saved in the trace, and it is raised again

`agent.errors` adds exceptions for models, runs and settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class AlitaError(Exception):
    """Base class of alita's own errors.

    Args:
        message: What happened, with the value that caused it.
        remedy: What the user can do about it, if possible as an exact command.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


class UserError(AlitaError):
    """An error that the user can fix. It is shown as one message without a traceback."""


class UsageError(UserError):
    """A flag, an argument or a file is invalid."""

    exit_code = 2


class IsolationError(UserError):
    """The machine has no acceptable isolation, or a layer that worked at the start has failed."""

    exit_code = 2


class LibraryError(UserError):
    """The tool library cannot be read or written."""


class UnknownToolError(UserError):
    """The library has no tool with that name."""

    exit_code = 2


class PolicyError(UserError):
    """The user's policy file is unreadable or invalid. Until it is fixed, nothing that needs a capability can run."""

    exit_code = 2


class ServersFileError(UserError):
    """A configuration file of external servers, or one of its entries, is invalid."""

    exit_code = 2


class ServerError(UserError):
    """An external server exited, or cannot be started, reached or understood.

    `kind` is one word, such as `timeout` or `gone`.
    """

    def __init__(self, message: str, *, kind: str = "gone", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind


class ModelFixableError(AlitaError):
    """An error that the model can fix. The message becomes an observation."""


class ArgumentsError(ModelFixableError):
    """The arguments do not match a tool's inputSchema. The message lists each mismatch."""


class NotPermittedError(ModelFixableError):
    """A call needs something that the user or the user's policy does not permit."""


class StoppedError(AlitaError):
    """The run reached a limit and ends with its results so far."""


@contextmanager
def os_errors_as(error: type[UserError], what: str, remedy: str = "") -> Iterator[None]:
    """Convert operating-system errors and UTF-8 decoding errors to an error for the user.

    Example:
        >>> with os_errors_as(LibraryError, f"{path} cannot be read"):
        ...     text = path.read_text()

    Args:
        error: The error class.
        what: The failure, such as `FILE cannot be read`. The reason is appended.
        remedy: What the user can do.
    """
    try:
        yield
    except OSError as failure:
        raise error(f"{what}: {failure.strerror or failure}.", remedy=remedy) from None
    except UnicodeDecodeError as failure:
        raise error(f"{what}: it is not UTF-8 (byte {failure.start}).", remedy=remedy) from None
