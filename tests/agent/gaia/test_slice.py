"""The benchmark runner with the embedded model, on a slice of our own questions: csv, xlsx, py, one without a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "gaia_files" / "sample"
SECONDS = 400


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(4 * SECONDS + 120)
def test_the_embedded_model_answers_the_slice(weights_path: Path, tmp_path: Path) -> None:
    """All are attempted and recorded, and half of the answers are right: one program is written for each."""
    ids = json.loads((SAMPLE / "ci.json").read_bytes())
    output = tmp_path / "slice.json"
    command = [sys.executable, "src/gaia_benchmark.py", str(SAMPLE / "questions.jsonl"), "--ids", ",".join(ids)]
    command += ["--output", str(output), "--max-seconds", str(SECONDS), "--model", "embedded", "--verbose"]
    own = {"ALITA_MODELS_DIR": str(weights_path.parent), "ALITA_MODEL_IDLE_SECONDS": "60"}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    lines = map(json.loads, output.with_name("slice.ledger.jsonl").read_text(encoding="utf-8").splitlines())
    attempts = {line["task_id"]: line for line in lines if line["kind"] == "attempt"}
    told = {task_id: (line["status"], line["answer"], line["error"]) for task_id, line in attempts.items()}
    assert sorted(attempts) == sorted(ids), done.stderr
    assert sum(line["correct"] for line in attempts.values()) >= len(ids) // 2, told
