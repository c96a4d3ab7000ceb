"""The web from the command line: the answer alone on stdout, its sources below it, private pages only when allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.fibonacci import decide, write_script
from support.site.server import Site

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]
QUESTION = "When was the Grey Point lighthouse first lit?"


@pytest.fixture
def ask(tmp_path: Path, site: Site) -> Any:
    """Asks with an index of the site's pages and a model that plays lines."""
    pages = tmp_path / "pages.txt"
    pages.write_text(f"{site.url}/lighthouse\n{site.url}/ferry\n")
    script = write_script(
        tmp_path / "script.jsonl",
        [
            decide("answer", answer="1874 [1]", when='<data source="search">'),
            decide("search", query="lighthouse lit"),
        ],
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"ALITA_ENGINES": "index", "ALITA_WEB_INDEX": str(pages)}
        return subprocess.run(
            [*ALITA, "--model", script, *arguments, QUESTION],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=50,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run


def test_the_answer_stands_alone_on_stdout_and_its_sources_below_the_account(ask, site):
    ended = ask("--allow-private")
    assert (ended.returncode, ended.stdout) == (0, "1874\n"), ended.stderr
    below = ended.stderr.splitlines()[-3:]
    assert below[:2] == ["Sources:", f"  [1] Grey Point lighthouse — {site.url}/lighthouse"]
    assert "lit for the first time on 9 October 1874" in below[2]


def test_json_has_the_sources_and_quiet_shows_none(ask, site):
    told = json.loads(ask("--allow-private", "--json", "--no-cache").stdout)
    assert [(source["number"], source["url"]) for source in told["sources"]] == [(1, f"{site.url}/lighthouse")]
    quiet = ask("--allow-private", "-q", "--no-cache")
    assert (quiet.stdout, quiet.stderr) == ("1874\n", "")


def test_without_leave_no_private_page_is_opened(ask, site):
    ended = ask("--no-cache")
    assert "127.0.0.1 is" in ended.stderr
    assert site.paths() == []
