"""The hub's questions from the command line to the ledger: with the hub's files, and the true answers nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.gaia_records import CANARY, record
from support.hub_server import COMMIT, TOKEN, HubServer

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]


@pytest.mark.slow
def test_the_questions_of_the_hub_are_run_and_their_truths_stay_where_they_were_fetched(
    hub: HubServer, tmp_path: Path
) -> None:
    rows = [record("a1"), record("b2", file_name="b2.txt")]
    for number, row in enumerate(rows, 1):
        row["Question"] = f"What is {number} * 100 + {number}?"
    hub.add_table("2023/validation/metadata.parquet", rows)
    (tmp_path / "none.jsonl").touch()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ALITA_HOME": str(tmp_path / "home")}
    environment |= {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    ended = subprocess.run(
        [*ALITA, "gaia", f"gaia-validation@{COMMIT}", "--model", "scripted:none.jsonl", "-v", "--output", "out.json"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    ledger = [json.loads(line) for line in (tmp_path / "out.ledger.jsonl").read_text().splitlines()]
    attempts = {line["task_id"]: line for line in ledger if line["kind"] == "attempt"}
    assert (attempts["a1"]["status"], attempts["a1"]["answer"], attempts["a1"]["correct"]) == ("ok", "101", False)
    assert attempts["b2"]["status"] != "missing-file"
    assert (tmp_path / "home/cache/gaia/files/b2/b2.txt").read_bytes() == b"card b2"
    files = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    fetched = tmp_path / "home/cache/gaia/hub"
    assert files
    assert [path for path in files if not path.is_relative_to(fetched)] == []
    assert CANARY not in ended.stdout + ended.stderr
    assert TOKEN not in ended.stdout + ended.stderr
