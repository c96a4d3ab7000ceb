"""Shell completion. `alita completion bash|zsh|fish` prints a script that calls alita each time you press Tab."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import typer
from typer.completion import get_completion_inspect_parameters, shell_complete
from typer.core import TyperGroup
from typer.main import get_command

from agent.cli import options
from agent.cli.command_registry import COMMANDS, load

app = options.App("Prints a shell's completion script; `source <(alita completion bash)` loads it.")

VARIABLE = "_ALITA_COMPLETE"
"""Environment variable in which the shell passes its request. It is checked by `main`."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""Matches names that are safe to offer. A shell might expand or execute other names."""


@app.command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Prints a shell's completion script; `source <(alita completion bash)` loads it."""
    complete(f"source_{shell}")


class _Verbs(TyperGroup):
    """The whole command line. A command's module is only imported when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return get_command(load(cmd_name)) if cmd_name in self.list_commands(ctx) else None


def complete(instruction: str) -> None:
    """Print a shell's completion script (`source_zsh`) or completions for its command line (`complete_zsh`)."""
    get_completion_inspect_parameters()  # registers the shells that Typer supports
    question = get_command(load("ask"))
    options_of_it = [each for each in question.params if each.param_type_name == "option"]
    sys.exit(shell_complete(_Verbs(name="alita", params=options_of_it), {}, "alita", VARIABLE, instruction))


def tool_names(incomplete: str) -> list[str]:
    """Return the tool names that start with this prefix."""
    from mcp_tools.library.tool_files import stamps

    return _beginning(incomplete, stamps(options.settings().tools_dir))


def run_ids(incomplete: str) -> list[str]:
    """Return the run ids that start with this prefix."""
    folder = options.settings().runs_dir
    return _beginning(incomplete, (path.name for path in folder.iterdir()) if folder.is_dir() else ())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
