"""The tables in the documentation match the code, and every command and every rule is described."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent.answer import Answer
from agent.cli.command_registry import COMMANDS
from mcp_tools.checks.check import RULES
from mcp_tools.sandbox.protocol import Limits

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A copy of the documentation that a test may change."""
    return Path(shutil.copytree(DOCS, tmp_path / "docs"))


def generate(docs: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, docs / "generate.py", *options], capture_output=True, text=True, check=False)


def test_the_committed_pages_match_the_code(pages: Path) -> None:
    done = generate(pages, "--check")
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run `make docs` and commit"


def test_a_page_without_a_place_for_its_table_is_an_error(pages: Path) -> None:
    (pages / "cli.md").write_text("# The command line\n")
    done = generate(pages)
    assert done.returncode == 1
    assert "docs/cli.md must have exactly one place for the table 'exit codes'" in done.stderr


def test_every_command_is_documented() -> None:
    text = (DOCS / "cli.md").read_text()
    assert [command.name for command in COMMANDS if f"alita {command.name}" not in text] == []


def test_the_json_example_has_every_field_of_an_answer() -> None:
    text = (DOCS / "cli.md").read_text()
    example = json.loads(re.search(r'^    (\{"schema": 1,.*?\})$', text, re.M | re.S)[1])
    assert example.keys() == Answer("", "answered").as_json().keys()


def test_every_rule_and_every_limit_is_documented() -> None:
    text = (DOCS / "sandbox.md").read_text()
    assert [rule.id for rule in RULES if f"`{rule.id}`" not in text] == []
    assert f"{Limits().result_bytes:,} bytes" in text


def test_links_between_pages_work() -> None:
    for page in [*DOCS.glob("*.md"), *ROOT.glob("*.md")]:
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}, which does not exist"


def test_every_guarantee_names_tests_that_exist() -> None:
    files = (ROOT / "tests").rglob("test_*.py")
    known = {name for path in files for name in re.findall(r"def (test_\w+)", path.read_text())}
    scale = (DOCS / "scale.md").read_text().partition("## Security of a cluster")[2]
    for text in ((DOCS / "security.md").read_text(), (DOCS / "prompt-injection.md").read_text(), scale):
        assert {*re.findall(r"`(test_\w+)`", text)} - known == set()
        guarantees = re.findall(
            r"^- .*?(?=\n- |\n\n|\Z)", re.sub(r"(?s)Not guaranteed:.*?(?=\n#|\Z)", "", text), re.S | re.M
        )
        assert guarantees
        assert [guarantee[:60] for guarantee in guarantees if "`test_" not in guarantee] == []


def test_the_map_is_short_and_names_every_folder() -> None:
    text = (DOCS / "architecture.md").read_text()
    assert len(text.split()) <= 1_500
    folders = [path.parent for package in ("agent", "mcp_tools") for path in (ROOT / "src" / package).glob("*/*.py")]
    assert {folder.name for folder in folders if f"`{folder.name}/`" not in text} == set()


@pytest.mark.parametrize("page", ["architecture.md", "answering.md", "proof.md"])
def test_files_and_functions_in_pages_about_the_code_exist(page: str) -> None:
    top = [ROOT / name for name in ("src", "tests", "docs", "benchmarks")]
    paths = [*top, *(path for folder in top for path in folder.rglob("*"))]
    named = re.findall(r"`((?:[\w.]+/)*[\w.]+(?:\.py|\.md|/))(?:: ([\w.]+))?`", (DOCS / page).read_text())
    assert named
    for name, function in named:
        found = [path for path in paths if f"{path}/".endswith(f"/{name.rstrip('/')}/")]
        assert found, name
        words = function.split(".") if function else []
        assert any(all(word in path.read_text() for word in words) for path in found) if words else True, function
