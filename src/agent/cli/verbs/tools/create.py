"""`alita tools create|wrap`: makes a tool from an example question."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import exits, options
from agent.cli.answers import Output, answer
from agent.cli.options import opt
from agent.cli.output import print_note
from agent.question import NOT_KEPT, Purpose, usable
from agent.resources import environments_of
from agent.user_files import require_readable
from mcp_tools.errors import UsageError
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.answer import Answer
    from agent.configuration.settings import Settings
    from agent.events import Listener

_SETTINGS = f"model base_url {options.LIMITS} tools_dir approval no_isolation yes"


def add_to(app: options.App) -> None:
    """Register the commands."""
    app.command(settings=_SETTINGS)(create)
    app.command(settings=_SETTINGS)(wrap)


def create(
    task: Annotated[list[str], typer.Argument(metavar="TASK", help="An example question, with its values.")],
    file: options.Files = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    **_: object,
) -> None:
    """Makes a tool from an example question, unless the library already has one that answers it."""
    files = tuple(file or ())
    require_readable(files)
    raise typer.Exit(_made(" ".join(task), files, "", Output(as_json, quiet=quiet)))


def wrap(
    what: Annotated[str, typer.Argument(metavar="PATH_OR_PACKAGE", help="A file, a folder or a package name.")],
    task: Annotated[str, opt("--task TASK", "An example question, with its values, for the tool to answer.")],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    **_: object,
) -> None:
    """Makes a tool around a Python package or your own Python code, from an example question."""
    task = usable(task)
    requirement, description = wrapped(what, options.settings())
    if not quiet:
        print_note(description)
    raise typer.Exit(_made(task, (), requirement, Output(as_json, quiet=quiet)))


def _made(task: str, files: tuple[Path, ...], around: str, output: Output) -> int:
    """Ask the example question, report the tool that was created for it, and return the exit code."""
    made: list[Answer] = []

    async def work(alita: Alita, listen: Listener) -> Answer:
        asked: dict[str, Any] = {"files": files, "purpose": Purpose.CREATE, "around": around}
        made.append(await alita.ask(usable(task), on_event=listen, **asked))
        return made[-1]

    code = answer(options.flags(), work, output, fetches=True)
    if made and not code:
        created, used = made[0].tools_created, made[0].tools_used
        kept = (
            f"New: {', '.join(created)}."
            if created
            else f"The library already has a tool for this: {', '.join(used)}."
            if used
            else "No tool was kept."
            if around
            else NOT_KEPT
        )
        print_note(kept)
        code = 0 if created or used else exits.exit_code("no_answer")
    return code


def wrapped(what: str, settings: Settings) -> tuple[str, str]:
    """Return the requirement to wrap and a line that describes it. The user's own code is stored first.

    Raises:
        UsageError: `what` is neither a package nor pure Python code, or the model is too small.
    """
    from agent.strategy import WRAPPING, require_large
    from mcp_tools.environments.lock import PackageError, normalised
    from mcp_tools.environments.wrapped import label_of
    from mcp_tools.exchange.local_code import read_code

    require_large(settings, WRAPPING)
    path, environments = Path(what).expanduser(), environments_of(settings, print_note)
    is_path = "/" in what or what.endswith(".py") or what in (".", "..", "~")
    if not is_path and not (what and os.path.lexists(path)):
        try:
            name = normalised(what)
            environments.unknown([name])
        except PackageError as error:
            remedy = "Give a package name or a path: alita tools wrap ./FOLDER --task QUESTION"
            raise UsageError(f"{one_line(what)} cannot be wrapped: {error.message}.", remedy=remedy) from None
        return name, f"Wrapping the package {name}."
    code = read_code(path)
    environments.wrapped.keep(code.requirement, code.wheel())
    needs = f", which needs {', '.join(code.requires)}" if code.requires else ""
    count = f"{count_of(len(code.files), 'file')} of {', '.join(code.modules)}"
    return code.requirement, f"Wrapping {one_line(str(path))}: {label_of(code.requirement)}, {count}{needs}."
