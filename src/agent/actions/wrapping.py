"""The package that a tool will wrap: installed with the user's consent, and inspected in the sandbox."""

from __future__ import annotations

from pathlib import Path

from agent.consent.hosts import NEW_TOOL, HostToReach
from agent.context import Context
from agent.events import Note
from agent.state import Wrapped
from agent.store.journal import KeyedText
from mcp_tools.environments import package_api
from mcp_tools.environments.store import package_name
from mcp_tools.environments.wrapped import is_wrapped, label_of
from mcp_tools.errors import AlitaError, NotPermittedError, UserError
from mcp_tools.sandbox.protocol import Job as Call
from mcp_tools.sandbox.protocol import Limits
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Capabilities, Json

MOST_SHOWN = 10_000
"""Maximum characters of a package's listing."""
_LIMITS = Limits(wall_seconds=10, cpu_seconds=10, memory_mb=1_024)


async def read_package(requirement: str, task: str, context: Context) -> Wrapped:
    """Return the functions and classes of a package that fit a task best.

    Raises:
        UserError: The package is not allowed, is unavailable, or cannot be imported.
    """
    name = package_name(requirement)
    label = label_of(requirement) if is_wrapped(requirement) else name
    who = HostToReach(NEW_TOOL, "", "")
    arguments: dict[str, Json] = {"distribution": name, "task": task, "most": MOST_SHOWN}
    job = Call(_program(), "surface", arguments, packages=(requirement,), limits=_LIMITS)
    try:
        async with context.hosts.of_code(who, Capabilities(), [requirement]):
            outcome = await context.sandbox.run(job)
    except NotPermittedError as refused:
        raise UserError(refused.message) from None
    except UserError:
        raise
    except AlitaError as failure:
        raise UserError(failure.message, remedy=failure.remedy) from None
    if outcome.problem is not None:
        raise UserError(f"{label} cannot be wrapped: {one_line(outcome.problem.message, 400)}")
    match outcome.value:  # code of the package ran on import and may have changed the result
        case {"version": str() as version, "modules": [*modules], "text": str() as text, "failure": str() as wrong}:
            if wrong or not modules:
                why = f"importing it fails: {one_line(wrong, 400)}" if wrong else "it holds no module"
                raise UserError(f"{label} cannot be wrapped: {why}")
            label = label if is_wrapped(requirement) else f"{name} {one_line(version, 40)}"
            context.emit(Note(f"read {label}"))
            shown = printable(text)[:MOST_SHOWN]
            return Wrapped(requirement=requirement, label=label, module=one_line(str(modules[0]), 80), offers=shown)
    raise UserError(f"{label} cannot be wrapped: its import changed the result of reading it")


class _Program(KeyedText):
    """The source of `package_api`. Its key is the hash of its first version. Change it when the result changes."""

    key = "8044d9d8162784ba3de0e27d"


def _program() -> _Program:
    return _Program(Path(package_api.__file__).read_text(encoding="utf-8"))
