"""Options that several commands share: one definition each, so that they read the same everywhere."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from agent.cli.output import Result

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


def opt(names: str, help: str = "", group: str | None = None, **more: Any) -> Any:  # noqa: A002 - typer's own name
    """An option by its names and what stands for its value, `-o --output FILE`."""
    words = names.split()
    flags = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(flags) :]) or None
    return typer.Option(*flags, metavar=metavar, help=help, show_default=False, rich_help_panel=group, **more)


_INPUT, _OUTPUT, _MODEL, _LIMITS, _SAFETY = "Input", "Output", "Model", "Limits", "Tools and safety"

Files = Annotated[list[Path] | None, opt("-f --file PATH", "Attach a file; may be repeated.", _INPUT)]
Continue = Annotated[bool, opt("-c --continue", "Continue the last conversation.", _INPUT)]
Resume = Annotated[bool, opt("--resume", "Reopen the last session, or the one with this id: --resume [ID].", _INPUT)]

ToFile = Annotated[Path | None, opt("-o --output FILE", "Write the answer to a file.", _OUTPUT)]
AsJson = Annotated[bool, opt("--json", "Print one JSON object.", _OUTPUT)]
JsonStream = Annotated[bool, opt("--json-stream", "Print events as JSON lines; the last is the answer.", _OUTPUT)]
Schema = Annotated[Path | None, opt("--schema FILE", "Answer in JSON that fits this JSON Schema.", _OUTPUT)]
Quiet = Annotated[bool, opt("-q --quiet", "Print the answer and errors only.", _OUTPUT)]
Verbose = Annotated[bool, opt("-v --verbose", "Also show model calls and the confidence in the answer.", _OUTPUT)]
Colour = Annotated[
    Literal["auto", "always", "never"], opt("--color WHEN", "Use colour: auto, always or never.", _OUTPUT)
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most this many.")]

SETTINGS: dict[str, Any] = {
    "plain": Annotated[bool, opt("--plain", "Write whole sentences, for screen readers.", _OUTPUT)],
    "model": Annotated[str | None, opt("-m --model NAME", "Model name, embedded, or scripted:FILE.", _MODEL)],
    "agent": Annotated[str | None, opt("--agent NAME", "Ask a specialist: web, code, files, math or browser.", _MODEL)],
    "base_url": Annotated[str | None, opt("--base-url URL", "An OpenAI-compatible endpoint.", _MODEL)],
    "max_steps": Annotated[int | None, opt("--max-steps N", "Stop after N steps (one model reply each).", _LIMITS)],
    "max_seconds": Annotated[float | None, opt("--max-seconds S", "Stop after S seconds.", _LIMITS)],
    "max_cost": Annotated[
        float | None, opt("--max-cost USD", "Stop before the cost exceeds this many US dollars.", _LIMITS)
    ],
    "max_tokens": Annotated[int | None, opt("--max-tokens N", "Stop after N tokens.", _LIMITS)],
    "tools_dir": Annotated[Path | None, opt("--tools-dir DIR", "Keep created tools in this folder.", _SAFETY)],
    "approval": Annotated[
        Literal["ask", "auto", "never"] | None,
        opt("--approve MODE", "Keep new tools: ask, auto or never.", _SAFETY),
    ],
    "no_cache": Annotated[bool, opt("--no-cache", "Ask again even if the answer is cached.", _SAFETY)],
    "no_isolation": Annotated[bool, opt("--no-isolation", "Run tools even if no sandbox is available.", _SAFETY)],
    "yes": Annotated[bool, opt("-y --yes", "Download missing models and browsers without asking.", _SAFETY)],
    "allow_private": Annotated[
        bool, opt("--allow-private", "Also open pages on this machine and its network.", _SAFETY)
    ],
}
LIMITS = ("max_steps", "max_seconds", "max_cost", "max_tokens")


def flags_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as settings; None means not given."""
    flags = dict(given)
    named = (("no_isolation", "isolation", "none"), ("no_cache", "use_cache", False), ("yes", "download", "always"))
    for option, name, value in named:
        if option in flags:
            flags[name] = value if flags.pop(option) else None
    return {name: None if value is False and name != "use_cache" else value for name, value in flags.items()}


before_command: dict[str, Any] = {}
"""Settings from options that precede a command without these options; `main` sets them."""


def settings(flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings, read when a command needs them: importing them takes longer than the rest of a short command."""
    from agent.configuration.settings_sources import read_settings

    return read_settings({**before_command, **(flags or {})})


def period(text: str | None, option: str) -> float | None:
    """The seconds that an option names as `30d`."""
    from agent.configuration.settings import seconds_of
    from agent.errors import UsageError

    try:
        return None if text is None else seconds_of(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.", remedy=f"For example: {option} 30d") from None


class Grouped(TyperCommand):
    """A command whose help shows examples, and its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples, a section for each group, and one for the rest."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or "Other", []).append(record)
        longest = max(len(option) for records in groups.values() for option, _ in records)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl([(option.ljust(longest), text) for option, text in records])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Nothing: the examples are there already."""


_TYPES = re.compile(r" <[^>]*>| ?\[(?:[\d.e+-]+<=?)?x[<>]=?[\d.e+-]+\]")
"""What typer says of the type and the range of a value."""


class Plain(TyperCommand):
    """A command whose help names arguments and options without the types of their values."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the arguments and the options."""
        for kind in ("argument", "option"):
            params = [each for each in self.get_params(ctx) if each.param_type_name == kind]
            records = [record for each in params if (record := each.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl([(_TYPES.sub("", name), _TYPES.sub("", text)) for name, text in records])


class Commands(TyperGroup):
    """A group whose help shows what each command does in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a row for each command."""
        shown = [(name, command) for name in self.list_commands(ctx) if not (command := self.commands[name]).hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (command.help or "").partition("\n\n")[0]) for name, command in shown])


F = TypeVar("F", bound=Callable[..., Result | None])


class App(typer.Typer):
    """A group of commands, with plain help and without shell completion: both cost start-up time."""

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

    def command(self, name: str | None = None, *, settings: Sequence[str] = (), **more: Any) -> Callable[[F], F]:
        """Makes a function a command.

        One that gives a `Result` has the option `--json`. One with `settings` has their options, and gets what these
        set as its first argument, `flags`.
        """

        def add(function: F) -> F:
            super(App, self).command(name, **{"cls": Plain, **more})(_printing(function, settings))
            return function

        return add


def _printing(function: Callable[..., Result | None], settings: Sequence[str]) -> Callable[..., None]:
    """The function as typer wants it: every option in its signature, and what it gives is printed."""
    signature = inspect.signature(function, eval_str=True)
    has_result = signature.return_annotation is Result

    @functools.wraps(function)
    def command(**given: Any) -> None:
        as_json = has_result and given.pop("as_json")
        flags = [before_command | flags_of({name: given.pop(name) for name in settings})] if settings else []
        if (result := function(*flags, **given)) is not None:
            result.print(as_json)
            if result.code:
                raise typer.Exit(result.code)

    own = [*signature.parameters.values()][1 if settings else 0 :]
    added = {name: SETTINGS[name] for name in settings} | ({"as_json": AsJson} if has_result else {})
    kind = inspect.Parameter.KEYWORD_ONLY
    everything = [parameter.replace(kind=kind) for parameter in own]
    for name, annotation in added.items():
        default = False if annotation.__origin__ is bool else None
        everything.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    command.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]  # read by inspect.signature
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in everything}
    return command
