"""The hub's questions from the command line to the ledger: with the hub's files, and the true answers nowhere."""

from __future__ import annotations

import json
from pathlib import Path

from support.command import Terminal
from support.gaia_records import CANARY, record
from support.hub_server import COMMIT, TOKEN, HubServer


def test_the_questions_of_the_hub_are_run_and_their_truths_stay_where_they_were_fetched(
    hub: HubServer, tmp_path: Path
) -> None:
    rows = [record("a1"), record("b2", file_name="b2.txt")]
    for number, row in enumerate(rows, 1):
        row["Question"] = f"What is {number} * 100 + {number}?"
    hub.add_table("2023/validation/metadata.parquet", rows)
    terminal = Terminal(tmp_path, tmp_path)
    arguments = ("--model", terminal.script(), "-v", "--output", "out.json")
    variables = {"HOME": str(tmp_path), "HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
    ended = terminal.call("gaia", f"gaia-validation@{COMMIT}", *arguments, **variables)
    assert ended.code == 0, ended.err
    ledger = [json.loads(line) for line in (tmp_path / "out.ledger.jsonl").read_text().splitlines()]
    attempts = {line["task_id"]: line for line in ledger if line["kind"] == "attempt"}
    assert (attempts["a1"]["status"], attempts["a1"]["answer"], attempts["a1"]["correct"]) == ("ok", "101", False)
    assert attempts["b2"]["status"] != "missing-file"
    assert (tmp_path / "home/cache/gaia/files/b2/b2.txt").read_bytes() == b"card b2"
    files = [path for path in tmp_path.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    fetched = tmp_path / "home/cache/gaia/hub"
    assert files
    assert [path for path in files if not path.is_relative_to(fetched)] == []
    assert CANARY not in ended.out + ended.err
    assert TOKEN not in ended.out + ended.err
