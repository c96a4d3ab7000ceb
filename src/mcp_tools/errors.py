"""The errors of tools, in three families that are treated in three ways.

    AlitaError
    ├── UserError          the user can fix it: one message, no traceback, an exit code of its own
    │   ├── UsageError         a flag, an argument or a file that cannot be what was meant         (exit 2)
    │   ├── IsolationError     the machine offers no acceptable isolation, or a layer failed       (exit 2)
    │   ├── LibraryError       the tool library cannot be read or written                          (exit 1)
    │   ├── UnknownToolError   no tool of that name                                                   (exit 2)
    │   ├── PolicyError        the user's policy file is wrong                                        (exit 2)
    │   ├── ServersFileError   a settings file of external servers, or one entry, cannot be used       (exit 2)
    │   └── ServerError        an external server cannot be started, reached or understood             (exit 1)
    ├── ModelFixableError  the model can fix it: the message goes back to the model as an observation
    │   ├── ArgumentsError     arguments that do not fit a tool's inputSchema
    │   └── NotPermittedError  a call needs what it may not use
    └── (anything else)    a bug: its traceback is saved in the trace, and it is raised again

`agent.errors` continues this tree for models, runs and settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class AlitaError(Exception):
    """Base of alita's own errors.

    Args:
        message: The event, with the value that caused it.
        remedy: Advice, if possible the exact command.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


class UserError(AlitaError):
    """The user can fix it: shown as one message without a traceback."""


class UsageError(UserError):
    """A flag, an argument or a file that cannot be what was meant."""

    exit_code = 2


class IsolationError(UserError):
    """The machine offers no acceptable isolation, or a layer that was there at start failed later."""

    exit_code = 2


class LibraryError(UserError):
    """The tool library cannot be read or written."""


class UnknownToolError(UserError):
    """No tool of that name is in the library."""

    exit_code = 2


class PolicyError(UserError):
    """The user's policy file cannot be read, or a rule in it is wrong: what needs a capability does not run."""

    exit_code = 2


class ServersFileError(UserError):
    """A settings file of external servers, or one of its entries, is invalid."""

    exit_code = 2


class ServerError(UserError):
    """An external server cannot be started, reached or understood, or went away.

    Its kind is one word.
    """

    def __init__(self, message: str, *, kind: str = "gone", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind


class ModelFixableError(AlitaError):
    """The model can fix it: the message goes back to the model as an observation."""


class ArgumentsError(ModelFixableError):
    """Arguments that do not fit a tool's inputSchema; the message names each misfit."""


class NotPermittedError(ModelFixableError):
    """A call needs what the user's policy, or the user, does not permit."""


class StoppedError(AlitaError):
    """A limit of the run was reached; the work ends with what there is."""


@contextmanager
def os_errors_as(error: type[UserError], what: str, remedy: str = "") -> Iterator[None]:
    """Raises what the operating system refuses, and text that is not UTF-8, as an error for the user.

    Args:
        error: Its class.
        what: The failed action, such as `FILE cannot be read`; the reason follows it.
        remedy: Advice.
    """
    try:
        yield
    except OSError as failure:
        raise error(f"{what}: {failure.strerror or failure}.", remedy=remedy) from None
    except UnicodeDecodeError as failure:
        raise error(f"{what}: it is not UTF-8 (byte {failure.start}).", remedy=remedy) from None
