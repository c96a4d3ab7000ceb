"""The tables in the documentation are those of the code; a table that is not is written anew, and the test fails."""

import re
from pathlib import Path

from agent.cli.exits import EXIT_CODES
from agent.cli.main import COMMANDS
from agent.layers import NOT_FOR_PROJECTS, variables
from agent.settings import Settings

DOCS = Path(__file__).parents[3] / "docs"


def require_table(name: str, rows: list[str], page: Path) -> None:
    text = page.read_text()
    block = re.compile(rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
    assert block.search(text), f"{page.name} has no place for the table {name!r}"
    wanted = block.sub(lambda found: found[1] + "\n".join(rows) + "\n" + found[2], text)
    if wanted != text:
        page.write_text(wanted)
    assert wanted == text, f"{page.name} was out of date and has been written anew: commit it"


def test_the_table_of_exit_codes():
    rows = ["| code | meaning |", "|--:|---|", *(f"| {code} | {meaning} |" for code, _, meaning in EXIT_CODES)]
    require_table("exit codes", rows, DOCS / "cli.md")


def test_the_table_of_settings():
    rows = ["| setting | what it is | default | variables | in a project's file |", "|---|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, (), "") or name.endswith("_dir") else str(field.default)
        names = ", ".join(f"`{variable}`" for variable in variables(name))
        allowed = "no" if name in NOT_FOR_PROJECTS else "yes"
        rows.append(f"| `{name}` | {field.description} | {default} | {names} | {allowed} |")
    require_table("settings", rows, DOCS / "configuration.md")


def test_every_command_is_documented():
    text = (DOCS / "cli.md").read_text()
    assert all(f"alita {command.name}" in text for command in COMMANDS)
