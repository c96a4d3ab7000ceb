"""The `alita` command. Only the module of the invoked command is imported, so that short commands start fast."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import re
import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

from agent.cli import exits
from agent.cli.command_registry import COMMANDS_BY_NAME, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_tools.errors import AlitaError


_MEANT = {
    **dict.fromkeys(("version", "ver"), "alita --version"),
    **dict.fromkeys(("login", "logout", "auth", "key"), "alita keys set"),
    **dict.fromkeys(("logs", "log", "history", "list", "ls"), "alita runs list"),
    **dict.fromkeys(("chat", "repl", "shell", "start", "new", "session"), "alita"),
    **dict.fromkeys(("continue", "undo", "retry"), "alita -c"),
    **dict.fromkeys(("settings", "setup", "init", "configure"), "alita config show"),
    **dict.fromkeys(("status", "check", "install", "update", "upgrade"), "alita doctor"),
    **dict.fromkeys(("exit", "quit", "stop"), "alita --help"),
}
"""Commands that users know from other programs, with the closest alita command."""
_BAD_VALUE = re.compile(r"Invalid value for (?P<names>'[^:]*'): (?P<why>.*)", re.DOTALL)
_NOT_A_NUMBER = re.compile(r"Input should be a valid (?P<kind>integer|number), unable to parse")
_HELP = ("-h", "--help")
Before = dict[str, tuple[str, Any]]
"""Options before a command, as (flag, value) by parameter name; see `Invocation.before`."""


def main() -> None:
    """Run this process's command line and exit."""
    with _exiting(sys.argv[1:]) as arguments:
        first = arguments[0] if arguments else ""
        if asked := os.environ.get("_ALITA_COMPLETE"):
            from agent.cli.verbs.completion import complete

            complete(asked)
        elif not {"--version", "-V"}.isdisjoint(takewhile(_is_option, arguments)):
            from importlib.metadata import version

            print(f"alita {version('alita')}")
        elif (
            (first in _HELP and COMMANDS_BY_NAME.keys().isdisjoint(arguments))
            or arguments == ["help"]
            or (not arguments and _is_alone())
        ):
            from pathlib import Path

            # rendered by `docs/generate.py`, because building the help takes ten times as long as printing it
            print(Path(__file__).with_name("help.txt").read_text(encoding="utf-8"), end="")
        else:
            _run(arguments)


def _run(arguments: list[str]) -> None:
    """Run the named command, or ask the words as a question if no command is named."""
    before: Before = {}
    words, is_question = arguments, False
    if arguments and _is_option(arguments[0]):
        with plain_misuse("alita", arguments):
            before, words = _options_before(arguments)
        is_question = "--" in arguments[: len(arguments) - len(words)]
    elif arguments[:1] == ["help"] and len(arguments) == 2 and arguments[1] in COMMANDS_BY_NAME:
        words = [arguments[1], "--help"]
    verb = words[0] if words else ""
    if verb in COMMANDS_BY_NAME and not is_question:
        if words is not arguments:
            arguments[:] = [*words, *(flag for flag, _ in before.values())]
        _call(verb, words[1:], f"alita {verb}", before)
    if verb and not is_question:
        _refuse_misspelt(verb, words[1:])
    _call("ask", arguments, "alita")


def _options_before(arguments: list[str]) -> tuple[Before, list[str]]:
    """Parse leading options, and return them with the remaining words."""
    from typer.main import get_command

    question: Any = get_command(load("ask"))
    parser = question.make_parser(question.context_class(question))
    parser.allow_interspersed_args = False
    given, _, _ = parser.parse_args(list(arguments))
    words = list(given["question"] or ())
    leading = arguments[: len(arguments) - len(words)]
    if words and given.get("help"):
        words, leading = [*words, "--help"], [word for word in leading if word not in _HELP]
    context = question.make_context("alita", [word for word in leading if word != "--"])
    before: Before = {}
    for param in question.params:
        if words and context.get_parameter_source(param.name).name == "COMMANDLINE":
            flag = next((flag for flag in param.opts if any(word.startswith(flag) for word in leading)), param.opts[0])
            before[param.name] = flag, context.params[param.name]
    return before, words


def main_of(verb: str, name: str) -> None:
    """Run one command as a separate program and exit."""
    with _exiting(sys.argv[1:]) as arguments:
        _call(verb, arguments, name)


@contextlib.contextmanager
def _exiting(arguments: list[str]) -> Iterator[list[str]]:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # this stream was closed by the parent process
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # replaces characters that the terminal cannot display
            stream.reconfigure(errors="replace")
    code: object = 0
    try:
        try:
            yield arguments
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    except Exception as error:
        from mcp_tools.errors import AlitaError

        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EPIPE}:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # buffered output is discarded
            if error.errno == errno.EPIPE:  # the process that reads our output has exited
                exits.leave(1)
            error = AlitaError("The disk is full.", remedy="Free some space. `alita runs show` prints the last answer.")
        if not isinstance(error, AlitaError):
            raise
        code = _fail(error, arguments)
    exits.leave(code)


def _is_option(word: object) -> bool:
    return str(word).startswith("-")


def _is_alone() -> bool:
    """Return True if there is neither a terminal for a session nor input from a pipe."""
    return sys.stdin.isatty() and not sys.stdout.isatty() and not sys.stderr.isatty()


def _call(verb: str, arguments: list[str], name: str, before: Before | None = None) -> NoReturn:
    gc.set_threshold(50_000, 20, 20)  # garbage collection during imports would take a tenth of the start-up time
    from typer.main import get_command

    from agent.cli.options import Invocation, invoked
    from agent.cli.output import choose_color
    from mcp_tools.errors import UsageError, os_errors_as

    with os_errors_as(UsageError, "The current folder cannot be used", "Change to another folder with cd."):
        os.getcwd()  # noqa: PTH109 - `Path` is not imported for it
    app: Any = get_command(load(verb))
    before, commands = before or {}, getattr(app, "commands", {})
    with plain_misuse(name, arguments):
        if arguments and _is_option(arguments[0]) and not commands.keys().isdisjoint(arguments):
            more, words = _options_before(arguments)
            if words[:1] and words[0] in commands:
                before, arguments = {**before, **more}, words
        choose_color(before.get("color", ("", "auto"))[1])
        with invoked(Invocation(before)):
            code = app(arguments, prog_name=name, standalone_mode=False)
    sys.exit(code if isinstance(code, int) else 0)


@contextlib.contextmanager
def plain_misuse(name: str, arguments: Sequence[str]) -> Iterator[None]:
    """Turn parser errors into a `UsageError`."""
    from typer import Abort
    from typer.exceptions import TyperException

    from mcp_tools.errors import UsageError

    try:
        yield
    except Abort:
        raise KeyboardInterrupt from None
    except TyperException as misuse:
        context: Any = getattr(misuse, "ctx", None)
        message, path = misuse.format_message(), (context.command_path if context else "") or name
        if context and message == context.get_help():
            print(message, file=sys.stderr)
            sys.exit(exits.BAD_USAGE)
        near = getattr(misuse, "possibilities", None)  # options with similar names, the most similar first
        message, hint = (str(misuse), f"Did you mean {near[0]}? ") if near else (_plainer(message, arguments), "")
        raise UsageError(
            message if message.endswith((".", "?")) else f"{message}.", remedy=f"{hint}For help, run: {path} --help"
        ) from None


def _plainer(said: str, arguments: Sequence[str]) -> str:
    """Rephrase the parser's message about an invalid value, and add the value."""
    if (bad := _BAD_VALUE.fullmatch(said)) is None:
        return said
    names = re.split("[' /]+", bad["names"].strip("'"))
    name = max(names, key=len)
    if (kind := _NOT_A_NUMBER.search(bad["why"])) is None:
        why = bad["why"].removeprefix("Value error, ").replace("Input should be", "it must be")
        return f"{name}: {why}"
    wanted = "a whole number" if kind["kind"] == "integer" else "a number"
    value = next((given for name, given in zip(arguments, [*arguments[1:], ""], strict=True) if name in names), "")
    value = value or next((word.partition("=")[2] for word in arguments if word.partition("=")[0] in names), "")
    return f"{name} needs {wanted}, got {value!r}."


def _refuse_misspelt(word: str, rest: list[str]) -> None:
    """Raise an error for likely typos such as `alita tool list`, because asking them as questions would cost money."""
    if " " in word or word.startswith("-"):
        return
    meant = _MEANT.get(word, "") if len(rest) <= 1 else ""
    if rest or not meant:
        from difflib import get_close_matches

        near = get_close_matches(word, COMMANDS_BY_NAME, n=1, cutoff=0.8)
        meant = f"alita {' '.join([near[0], *rest])}" if near else meant
    if meant:
        from mcp_tools.errors import UsageError

        raise UsageError(
            f"There is no command {word!r}.",
            remedy=f'Did you mean: {meant}\n       To ask it as a question: alita ask "{word} …"',
        )


def _fail(error: AlitaError, arguments: list[str]) -> int:
    from agent.cli.output import error_json, error_text, print_json, print_note

    print_note(error_text(error))
    if arguments and arguments[0] in COMMANDS_BY_NAME.keys() - {"ask", "resume"}:
        if "--json" in arguments:
            print_json({"ok": False, "error": error_json(error)})
    elif "--json" in arguments or "--json-stream" in arguments:
        from agent.answer import Answer
        from agent.events import RunFinished

        answer, streams = Answer("", "failed", error=error.message), "--json-stream" in arguments
        print_json(RunFinished(answer).as_json() if streams else answer.as_json(), line=streams)
    return error.exit_code
