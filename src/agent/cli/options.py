"""Options shared by several commands, and the base classes of all commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from agent.cli.output import Result, print_note

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


def opt(names: str, help: str = "", group: str | None = None, **more: Any) -> Any:  # noqa: A002 - typer's own name
    """Define an option, given its names and placeholder as in `-o --output FILE`."""
    words = names.split()
    flags = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(flags) :]) or None
    return typer.Option(*flags, metavar=metavar, help=help, show_default=False, rich_help_panel=group, **more)


_INPUT, _OUTPUT, _MODEL, _LIMITS, _SAFETY = "Input", "Output", "Model", "Limits", "Tools and safety"

Files = Annotated[list[Path] | None, opt("-f --file PATH", "Attach a file; may be repeated.", _INPUT)]
FolderOf = Annotated[Path | None, opt("--folder DIR", "Let programs read a folder.", _INPUT)]
Write = Annotated[
    bool, opt("--write", "Let programs change a copy of the folder; you decide which changes to apply.", _INPUT)
]
Continue = Annotated[bool, opt("-c --continue", "Continue the last conversation.", _INPUT)]
Resume = Annotated[bool, opt("--resume", "Reopen the last session, or the one with this id: --resume [ID].", _INPUT)]

ToFile = Annotated[Path | None, opt("-o --output FILE", "Write the answer to a file.", _OUTPUT)]
OutputsTo = Annotated[Path | None, opt("--out DIR", "Copy the files that programs make to a folder.", _OUTPUT)]
AsJson = Annotated[bool, opt("--json", "Print one JSON object.", _OUTPUT)]
JsonStream = Annotated[bool, opt("--json-stream", "Print events as JSON lines; the last is the answer.", _OUTPUT)]
Schema = Annotated[Path | None, opt("--schema FILE", "Answer in JSON that fits this JSON Schema.", _OUTPUT)]
Quiet = Annotated[bool, opt("-q --quiet", "Print the answer and errors only.", _OUTPUT)]
Verbose = Annotated[bool, opt("-v --verbose", "Also show model calls and the confidence in the answer.", _OUTPUT)]
Colour = Annotated[
    Literal["auto", "always", "never"], opt("--color WHEN", "Use colour: auto, always or never.", _OUTPUT)
]
MaxRows = Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most this many entries.")]

Model = Annotated[str | None, opt("-m --model NAME", "Model name, embedded, or scripted:FILE.", _MODEL)]
BaseUrl = Annotated[str | None, opt("--base-url URL", "An OpenAI-compatible endpoint.", _MODEL)]
ToolsDir = Annotated[Path | None, opt("--tools-dir DIR", "Keep created tools in this folder.", _SAFETY)]
NoIsolation = Annotated[bool, opt("--no-isolation", "Run tools even if no sandbox is available.", _SAFETY)]
_Approval = Literal["ask", "auto", "never"]

_NAMED = {"no_isolation": ("isolation", "none"), "no_cache": ("use_cache", False), "yes": ("download", "always")}
"""Options whose setting has a different name, with the setting's name and value."""
SETTINGS: dict[str, Any] = {
    "plain": Annotated[bool, opt("--plain", "Print whole sentences, for screen readers.", _OUTPUT)],
    "model": Model,
    "agent": Annotated[str | None, opt("--agent NAME", "Ask a specialist: web, code, files, math or browser.", _MODEL)],
    "base_url": BaseUrl,
    "max_steps": Annotated[int | None, opt("--max-steps N", "Stop after N steps (one model reply each).", _LIMITS)],
    "max_seconds": Annotated[float | None, opt("--max-seconds S", "Stop after S seconds.", _LIMITS)],
    "max_cost": Annotated[
        float | None, opt("--max-cost USD", "Stop before the cost exceeds this many US dollars.", _LIMITS)
    ],
    "max_tokens": Annotated[int | None, opt("--max-tokens N", "Stop after N tokens.", _LIMITS)],
    "tools_dir": ToolsDir,
    "approval": Annotated[_Approval | None, opt("--approve MODE", "Keep new tools: ask, auto or never.", _SAFETY)],
    "no_cache": Annotated[bool, opt("--no-cache", "Ask again even if the answer is cached.", _SAFETY)],
    "no_isolation": NoIsolation,
    "yes": Annotated[bool, opt("-y --yes", "Download missing models and browsers without asking.", _SAFETY)],
    "allow_private": Annotated[
        bool, opt("--allow-private", "Also open pages on this machine and its network.", _SAFETY)
    ],
}
"""Options that are settings."""
LIMITS = "max_steps max_seconds max_cost max_tokens"
_EVERYWHERE = {*SETTINGS, "quiet", "verbose", "color"}
"""Options that may precede any command."""


class Invocation(NamedTuple):
    """The context of a command: the options before it, and the session that runs it."""

    before: Mapping[str, tuple[str, Any]] = {}
    """Options before the command, as (flag, value) by parameter name."""
    flags: Mapping[str, Any] = {}
    """Settings of the session that runs the command."""
    results: list[Result] | None = None
    """If set, the command's result is appended here instead of being printed."""


_invocation: ContextVar[Invocation] = ContextVar("invocation", default=Invocation())  # noqa: B039 - it is immutable
_warned: set[str] = set()
"""Warnings about settings that this process has printed."""
_flags: ContextVar[Mapping[str, Any]] = ContextVar("flags", default={})  # noqa: B039 - nothing changes it


@contextmanager
def invoked(invocation: Invocation) -> Iterator[None]:
    """Apply an invocation to commands that run in the `with` block."""
    token = _invocation.set(invocation)
    try:
        yield
    finally:
        _invocation.reset(token)


def flags() -> dict[str, Any]:
    """Return the settings that were given as options of the running command."""
    return dict(_flags.get())


def settings(**more: Any) -> Settings:
    """Read the settings. The import is local because it dominates the start-up time of short commands."""
    from agent.configuration.settings_sources import ignored_variables, read_settings

    found = read_settings({**_flags.get(), **more})
    for warning in ignored_variables(os.environ, found):
        if warning not in _warned:
            _warned.add(warning)
            print_note(warning)
    return found


def _flags_of(given: Mapping[str, Any]) -> dict[str, Any]:
    is_given = {name: value is not None and value is not False for name, value in given.items()}
    found = {name: value for name, value in given.items() if name in SETTINGS and is_given[name]}
    return dict(_NAMED.get(name, (name, value)) for name, value in found.items())


def period(text: str | None, option: str) -> float | None:
    """Convert an option's period, such as `30d`, to seconds."""
    from agent.configuration.settings import seconds_of
    from agent.errors import UsageError

    try:
        return None if text is None else seconds_of(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.", remedy=f"For example: {option} 30d") from None


_TYPES = re.compile(r" <[^>]*>| ?\[(?:[\d.e+-]+<=?)?x[<>]=?[\d.e+-]+\]")
"""Matches the types and ranges of values that Typer prints."""


class Command(TyperCommand):
    """A command that prints the `Result` of its function and accepts options before the command's name.

    The help omits value types. If a command has examples, its options are grouped.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Treat options before the command as the command's own."""
        before, own = _invocation.get().before, set[str]()
        for name, (flag, _) in before.items():
            if any(param.name == name and flag in param.opts for param in self.params):
                own.add(name)
            elif name not in _EVERYWHERE:
                from agent.errors import UsageError

                path = ctx.command_path
                as_question = f"To ask “{path.partition(' ')[2]} …” as a question, put -- before the text."
                raise UsageError(f"{path} has no option {flag}.", remedy=f"{path} --help\n       {as_question}")
        ctx.default_map = {name: value for name, (_, value) in before.items() if name in own}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Call the function and return the exit code."""
        invocation = _invocation.get()
        before = {name: value for name, (_, value) in invocation.before.items()}
        token = _flags.set({**invocation.flags, **_flags_of({**before, **ctx.params})})
        try:
            result = super().invoke(ctx)
        finally:
            _flags.reset(token)
        if not isinstance(result, Result):
            return result
        if invocation.results is None:
            result.print(ctx.params["as_json"], quiet="quiet" in before)
        else:
            invocation.results.append(result)
        return result.code

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, arguments and options."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                group = getattr(param, "rich_help_panel", None) or "Other" if self.epilog else "Options"
                name = "Arguments" if param.param_type_name == "argument" else group
                groups.setdefault(name, []).append((_TYPES.sub("", record[0]), _TYPES.sub("", record[1])))
        longest = max(len(option) for records in groups.values() for option, _ in records) if self.epilog else 0
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl([(option.ljust(longest), text) for option, text in records])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write nothing, because `format_options` writes the examples."""


class Commands(TyperGroup):
    """A command group whose help shows the full summary of each command."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a row for each command."""
        shown = [(name, command) for name in self.list_commands(ctx) if not (command := self.commands[name]).hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (command.help or "").partition("\n\n")[0]) for name, command in shown])


F = TypeVar("F", bound=Callable[..., Result | None])


class App(typer.Typer):
    """A command group without Typer's rich help and completion, which slow down the start."""

    def __init__(self, summary: str, *, cls: type[TyperGroup] = Commands) -> None:
        super().__init__(
            cls=cls,
            help=summary,
            add_completion=False,
            no_args_is_help=True,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def command(self, name: str | None = None, *, settings: str = "", **more: Any) -> Callable[[F], F]:
        """Register a function as a command. If it returns a `Result`, it must accept `as_json: AsJson = False`.

        Args:
            name: Name of the command (default: that of the function).
            settings: Names of the `SETTINGS` that are options of the command, separated by spaces. They follow its own.
                The function accepts them as `**_`, and reads their values with `flags` or `settings`.
            **more: Other arguments of Typer.
        """
        register = super().command(name, **{"cls": Command, **more})

        def add(function: F) -> F:
            if settings:
                *own, _ = signature(function, eval_str=True).parameters.values()
                added = [
                    Parameter(one, Parameter.KEYWORD_ONLY, default=None, annotation=SETTINGS[one])
                    for one in settings.split()
                ]
                vars(function)["__signature__"] = Signature([*own, *added])
            return register(function)

        return add
