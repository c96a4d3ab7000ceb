"""The benchmark runner with the embedded model, on one of our own questions, which is about a workbook."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "gaia_files" / "sample"
ID = "snack-orders"
SECONDS = 400


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
def test_the_embedded_model_answers_a_question(one_server: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "slice.json"
    command = [sys.executable, "src/gaia_benchmark.py", str(SAMPLE / "questions.jsonl"), "--ids", ID]
    command += ["--output", str(output), "--max-seconds", str(SECONDS), "--model", "embedded", "--verbose"]
    own = {f"ALITA_{name.upper()}": value for name, value in one_server.items()}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    lines = map(json.loads, output.with_name("slice.ledger.jsonl").read_text(encoding="utf-8").splitlines())
    [attempt] = [line for line in lines if line["kind"] == "attempt"]
    assert (attempt["task_id"], attempt["correct"]) == (ID, True), (attempt, done.stderr)
