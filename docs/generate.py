"""Writes the tables in the documentation that come from the code, and the text of `alita --help`. `make docs` runs it.

`--check` only reports files that are out of date.

A table stands between `<!-- NAME: written by docs/generate.py -->` and `<!-- end -->`. The rest is written by hand.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from typer.core import TyperOption
from typer.main import get_command

from agent import cli
from agent.cli.command_registry import COMMANDS as VERBS
from agent.cli.exits import EXIT_CODES
from agent.cli.interactive.commands import COMMANDS, KEYS
from agent.cli.verbs.ask import app as asking
from agent.configuration.engines import ENGINES
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import NOT_FOR_PROJECTS, variables
from agent.files.kinds import KINDS
from agent.hosts.clients import HOSTS
from mcp_tools.checks.check import RULES
from mcp_tools.definition import LINT_RULES
from mcp_tools.sandbox import protocol
from mcp_tools.sandbox.inside.scratch import QUOTA_BYTES, QUOTA_FILES
from mcp_tools.sandbox.protocol import Limits

DOCS = Path(__file__).parent


def table(*rows: Iterable[str]) -> str:
    """Return a Markdown table; the first row is the head."""
    head, *rest = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join((head, "|---" * len(list(rows[0])) + "|", *rest))


def settings() -> str:
    """Return the table of settings, with defaults and variables."""
    rows = [("setting", "what it is", "default", "variables", "in `alita.toml`")]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, (), "", {}) or name.endswith(("_dir", "_file")) else str(field.default)
        names = ", ".join(f"`{variable}`" for variable in variables(name)) or "—"
        allowed = "no" if name in NOT_FOR_PROJECTS else "yes"
        rows.append((f"`{name}`", field.description or "", default, names, allowed))
    return table(*rows)


def engines() -> str:
    """Each search engine, in order."""
    rows = [("engine", "key", "what it does")]
    for engine in ENGINES:
        own = f", or your own server: `{engine.url.upper()}`" if engine.url else ""
        rows.append((f"`{engine.name}`", f"`{engine.key.upper()}`{own}" if engine.key else "–", engine.about))
    return table(*rows)


def question_options() -> str:
    """Return the table of options for a question."""
    rows = [("option", "what it does")]
    for option in get_command(asking).params:
        if isinstance(option, TyperOption):
            metavar = "" if option.is_flag else f" {option.metavar}"
            rows.append((f"`{', '.join(sorted(option.opts, key=len))}{metavar}`", option.help or ""))
    return table(*rows)


def exit_codes() -> str:
    """Return the table of exit codes."""
    return table(("code", "meaning"), *((str(code), meaning) for code, _, meaning in EXIT_CODES))


def rules() -> str:
    """Return the table of rules for source code."""
    return table(("rule", "what it requires"), *((f"`{r.id}`", r.description) for r in RULES))


def limits() -> str:
    """Return the table of default limits."""
    names = {"wall": "wall time", "cpu": "processor time", "file": "each file in the scratch folder"}
    units = {"mb": "MiB"}
    rows = []
    for field in dataclasses.fields(Limits):
        word, _, unit = field.name.rpartition("_")
        rows.append((names.get(word, word), f"{field.default:,.0f} {units.get(unit, unit)}"))
    rows.append(("the scratch folder", f"{QUOTA_BYTES:,} bytes, {QUOTA_FILES:,} files"))
    return table(("limit of a call", "default"), *rows)


def problems() -> str:
    """Return the table of problem kinds, with their comments in the source."""
    source = inspect.getsource(protocol)
    kinds = re.search(r"ProblemKind = Literal\[\n(.*?)\n\]", source, re.DOTALL)
    assert kinds, "sandbox/protocol.py has no ProblemKind"
    rows = []
    for line in kinds[1].splitlines():
        kind, _, comment = line.strip().partition(",")
        rows.append((f"`{ast.literal_eval(kind)}`", comment.strip().removeprefix("# ")))
    return table(("kind of error", "what happened"), *rows)


def clients() -> str:
    """Return the table of programs that alita can write settings for."""
    rows = []
    for host in HOSTS:
        project = f"`{host.project_file}`" if host.project_file else "—"
        rows.append((f"`{host.name}`", host.title, host.told, project, f"`{host.key}`"))
    return table(("client", "program", "your settings", "a project's", "under"), *rows)


def definition_rules() -> str:
    """Return the table of rules for definitions."""
    return table(
        ("rule", "what it requires", "severity"), *((f"`{r.id}`", r.description, r.severity) for r in LINT_RULES)
    )


def commands() -> str:
    """Return the table of slash commands."""
    return table(("command", "what it does"), *((f"`{c.usage}`", c.summary) for c in COMMANDS))


def keys() -> str:
    """Return the table of keys in the terminal."""
    return table(("key", "what it does"), *KEYS)


def kinds() -> str:
    """The kinds of files with a reader, in groups, and those without one."""
    rows: dict[tuple[str, str, float], list[str]] = {}
    for kind in KINDS.values():
        others = [suffix for suffix in kind.suffixes.split() if suffix != kind.name][:6]
        name = f"`{kind.name}` ({', '.join(others)})" if others else f"`{kind.name}`"
        if kind.open:
            rows.setdefault((kind.group, kind.for_programs, kind.limits.seconds), []).append(name)
    unread = [f"`{kind.name}`" for kind in KINDS.values() if kind.magic + kind.brands and not kind.open]
    unread += [f"`{kind.name}`" for kind in KINDS.values() if kind.ole_stream and not kind.open]
    return table(
        ("group", "kinds (other suffixes)", "programs open", "time limit"),
        *((group, ", ".join(names), given, f"{seconds:,.0f} s") for (group, given, seconds), names in rows.items()),
        ("not read", ", ".join(unread), "the file", ""),
    )


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "cli.md": {"exit codes": exit_codes, "options": question_options},
    "files.md": {"kinds": kinds},
    "configuration.md": {"settings": settings},
    "mcp.md": {"clients": clients, "definition rules": definition_rules},
    "terminal.md": {"keys": keys, "commands": commands},
    "web.md": {"engines": engines},
    "sandbox.md": {"rules": rules, "limits": limits, "problems": problems},
}


def page(name: str) -> str:
    """Return the text of a page with its tables filled."""
    text = (DOCS / name).read_text(encoding="utf-8")
    for title, written in TABLES[name].items():
        block = re.compile(rf"(<!-- {title}: [^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
        rows = written()
        text, places = block.subn(lambda found, rows=rows: f"{found[1]}{rows}\n{found[2]}", text)
        if places != 1:
            raise SystemExit(f"docs/{name} must have exactly one place for the table {title!r}")
    return text


def help_text() -> str:
    """Return the text of `alita --help`: the options of a question, every command, every exit code."""
    command = get_command(asking)
    context = command.make_context("alita", [], resilient_parsing=True, terminal_width=78)
    with context:
        asked = command.get_help(context)
    help_ = asked[asked.rindex("-h, --help") :]
    version = "-V, --version".ljust(help_.index("Show this"))
    longest = max(len(verb.name) for verb in VERBS)
    verbs = "".join(f"  {verb.name:<{longest}}  {verb.summary}\n" for verb in VERBS)
    codes = "".join(f"  {code:>3}  {meaning}\n" for code, _, meaning in EXIT_CODES)
    return (
        f"{asked}\n  {version}Show the version and exit.\n\n"
        f"Commands (run alita COMMAND --help for details):\n{verbs}\nExit codes:\n{codes}"
    )


def main() -> int:
    """Write the files. With `--check`, only return 1 if one is out of date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    options = parser.parse_args()
    wanted = {f"docs/{name}": (DOCS / name, page(name)) for name in TABLES}
    wanted["src/agent/cli/help.txt"] = (Path(cli.__path__[0]) / "help.txt", help_text())
    stale = {name: each for name, each in wanted.items() if each[1] != each[0].read_text(encoding="utf-8")}
    for name, (path, text) in stale.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        print(f"{'out of date' if options.check else 'written'}: {name}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
