"""Options that several commands share: one definition each, so that they read the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JsonStream = Annotated[
    bool, typer.Option("--json-stream", help="Print JSON lines as it happens; the last is the answer.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print the answer and errors only.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show model calls too.")]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME", help="A name, embedded, or scripted:FILE.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint.")]
MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", metavar="N", help="Steps at most; the calls of one reply are one.")
]
MaxSeconds = Annotated[float | None, typer.Option("--max-seconds", metavar="S", help="Seconds at most.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", metavar="USD", help="US dollars at most.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Tokens at most.")]
ToolsDir = Annotated[Path | None, typer.Option("--tools-dir", metavar="DIR", help="Folder of the created tools.")]
NoIsolation = Annotated[bool, typer.Option("--no-isolation", help="Run tools even where nothing can isolate them.")]
AllowPrivate = Annotated[bool, typer.Option("--allow-private", help="Open pages of this machine and its network too.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not answer from the cache.")]

Plain = Annotated[bool, typer.Option("--plain", help="Whole sentences, for screen readers.")]
Approve = Annotated[
    Literal["ask", "auto", "never"] | None,
    typer.Option("--approve", metavar="MODE", help="Keep a new tool: ask first, auto, or never."),
]


def new_app(summary: str, *, cls: type[TyperGroup] | None = None) -> typer.Typer:
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
