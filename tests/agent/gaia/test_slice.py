"""The benchmark runner with the embedded model, on two of our own questions, one of them about a workbook."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "gaia_files" / "sample"
IDS = ("snack-orders", "digit-sum")
SECONDS = 400


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(len(IDS) * SECONDS + 120)
def test_the_embedded_model_answers_the_slice(one_server: dict[str, str], tmp_path: Path) -> None:
    """All are attempted and recorded, and half of the answers are right: one program is written for each."""
    output = tmp_path / "slice.json"
    command = [sys.executable, "src/gaia_benchmark.py", str(SAMPLE / "questions.jsonl"), "--ids", ",".join(IDS)]
    command += ["--output", str(output), "--max-seconds", str(SECONDS), "--model", "embedded", "--verbose"]
    own = {f"ALITA_{name.upper()}": value for name, value in one_server.items()}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    lines = map(json.loads, output.with_name("slice.ledger.jsonl").read_text(encoding="utf-8").splitlines())
    attempts = {line["task_id"]: line for line in lines if line["kind"] == "attempt"}
    told = {task_id: (line["status"], line["answer"], line["error"]) for task_id, line in attempts.items()}
    assert sorted(attempts) == sorted(IDS), done.stderr
    assert sum(line["correct"] for line in attempts.values()) >= len(IDS) // 2, told
