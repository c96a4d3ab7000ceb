"""Options that several commands share: one definition each, so that they read the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_INPUT, _OUTPUT, _MODEL, _LIMITS, _SAFETY = "Input", "Output", "Model", "Limits", "Tools and safety"
"""The groups of options in the help of a question."""


def _option(*names: str, group: str, help: str, metavar: str | None = None) -> Any:  # noqa: A002 - typer's own name
    return typer.Option(*names, metavar=metavar, help=help, show_default=False, rich_help_panel=group)


Files = Annotated[
    list[Path] | None, _option("--file", "-f", group=_INPUT, metavar="PATH", help="Attach a file; may be repeated.")
]
Continue = Annotated[bool, _option("--continue", "-c", group=_INPUT, help="Go on with the last conversation.")]
Resume = Annotated[bool, _option("--resume", group=_INPUT, help="Open the last session, or the one whose id follows.")]

ToFile = Annotated[
    Path | None, _option("--output", "-o", group=_OUTPUT, metavar="FILE", help="Write the answer to a file.")
]
AsJson = Annotated[bool, _option("--json", group=_OUTPUT, help="Print one JSON object.")]
JsonStream = Annotated[
    bool, _option("--json-stream", group=_OUTPUT, help="Print JSON lines as it happens; the last is the answer.")
]
Schema = Annotated[
    Path | None, _option("--schema", group=_OUTPUT, metavar="FILE", help="Answer in JSON that fits this JSON Schema.")
]
Quiet = Annotated[bool, _option("-q", "--quiet", group=_OUTPUT, help="Print the answer and errors only.")]
Verbose = Annotated[bool, _option("-v", "--verbose", group=_OUTPUT, help="Show model calls too.")]
Colour = Annotated[
    Literal["auto", "always", "never"],
    _option("--color", group=_OUTPUT, metavar="WHEN", help="Use colour: auto, always or never."),
]
Plain = Annotated[bool, _option("--plain", group=_OUTPUT, help="Write whole sentences, for screen readers.")]

Model = Annotated[
    str | None, _option("--model", "-m", group=_MODEL, metavar="NAME", help="A name, embedded, or scripted:FILE.")
]
BaseUrl = Annotated[
    str | None, _option("--base-url", group=_MODEL, metavar="URL", help="An OpenAI-compatible endpoint.")
]

MaxSteps = Annotated[
    int | None, _option("--max-steps", group=_LIMITS, metavar="N", help="Stop after N steps; one reply is one.")
]
MaxSeconds = Annotated[float | None, _option("--max-seconds", group=_LIMITS, metavar="S", help="Stop after S seconds.")]
MaxCost = Annotated[
    float | None, _option("--max-cost", group=_LIMITS, metavar="USD", help="Stop before this many US dollars.")
]
MaxTokens = Annotated[int | None, _option("--max-tokens", group=_LIMITS, metavar="N", help="Stop after N tokens.")]

ToolsDir = Annotated[
    Path | None, _option("--tools-dir", group=_SAFETY, metavar="DIR", help="Keep created tools in this folder.")
]
Approve = Annotated[
    Literal["ask", "auto", "never"] | None,
    _option("--approve", group=_SAFETY, metavar="MODE", help="Keep a new tool: ask first, auto, or never."),
]
NoCache = Annotated[bool, _option("--no-cache", group=_SAFETY, help="Do not answer from the cache.")]
NoIsolation = Annotated[
    bool, _option("--no-isolation", group=_SAFETY, help="Run tools even where nothing can isolate them.")
]
AllowPrivate = Annotated[
    bool, _option("--allow-private", group=_SAFETY, help="Open pages of this machine and its network too.")
]


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


class Commands(TyperGroup):
    """A group whose help shows what each command does in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a row for each command."""
        shown = [(name, command) for name in self.list_commands(ctx) if not (command := self.commands[name]).hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (command.help or "").partition("\n\n")[0]) for name, command in shown])


def new_app(summary: str, *, cls: type[TyperGroup] = Commands) -> typer.Typer:
    """A group of commands, with plain help and without shell completion: both cost start-up time."""
    return typer.Typer(
        cls=cls,
        help=summary,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def settings(flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings, read when a command needs them: importing them takes longer than the rest of a short command.

    Args:
        flags: Settings from the command line.

    Raises:
        SettingsError: They cannot be read.
    """
    from agent.configuration.settings_sources import read_settings

    return read_settings(flags or {})


_SETTINGS = ("model", "base_url", "max_steps", "max_seconds", "max_cost", "max_tokens", "tools_dir", "seed")
"""Options that are settings of the same name."""


def flags(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as settings; None means not given.

    Args:
        given: The command's own options by name (`typer.Context.params`); those that are no settings are left out.
    """
    without = given.get("without")
    return {
        **{name: given[name] for name in _SETTINGS if name in given},
        "approval": given.get("approve"),
        "isolation": "none" if given.get("no_isolation") else None,
        "allow_private": True if given.get("allow_private") else None,
        "use_cache": False if given.get("no_cache") else None,
        "plain": True if given.get("plain") else None,
        "without": ",".join(without) if without else None,
    }
