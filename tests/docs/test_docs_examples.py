"""The Python example in the documentation runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.openai_server import OpenAIServer

PAGE = Path(__file__).parents[2] / "docs" / "sessions.md"


def test_the_example_of_a_conversation_runs(tmp_path: Path, openai_server: OpenAIServer) -> None:
    example = re.search(r"<!-- example: run by a test -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "sales.csv").write_text("region,amount\nnorth,3\nsouth,9\n")
    for text in ("South, with 9.", "3", "Drei."):
        openai_server.answer(text)
    names = {"ALITA_HOME": str(tmp_path / "home"), "ALITA_MODEL": "tiny-1", "ALITA_BASE_URL": openai_server.url}
    environment = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "test-key", **names}
    done = subprocess.run(
        [sys.executable, "-c", example[1]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "3"
    assert lines[-1].startswith("RunFinished(")
    assert "Drei." in lines[-1]
    sent = [str(message["content"]) for message in openai_server.requests[-1]["messages"]]
    assert any("south,9" in text for text in sent)
    assert "South, with 9." in sent
