"""Limits on the code that runs before the first HTTP request of a computed question. They may fall but never rise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import clean
from support.openai_server import OpenAIServer

pytestmark = pytest.mark.xdist_group("structure")
SRC = Path(__file__).parents[2] / "src"
LIMITS = {"functions": 500, "files": 124, "modules": 247, "frames": 23}
SCRIPT = """
import json, os, sys, threading

src, path = sys.argv.pop(1), sys.argv.pop(1)
seen, known = set(), set()

def frames(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back

def report(frame):
    ours = sum(one.f_code.co_filename.startswith(src) for one in frames(frame))
    modules = [name for name in sys.modules if name.split(".")[0] in ("agent", "mcp_tools")]
    files = {name for name, _ in seen}
    found = {"functions": len(seen), "files": len(files), "modules": len(modules), "frames": ours}
    with open(path, "w") as file:
        file.write(json.dumps(found))
    os._exit(0)

def watch(frame, event, argument):
    code = frame.f_code
    if code in known:
        return
    if code.co_name == "handle_async_request" and "httpcore" in code.co_filename:
        report(frame)
    known.add(code)
    if code.co_filename.startswith(src) and not code.co_name.startswith("<"):
        is_class_body = "__module__" in code.co_names and "__qualname__" in code.co_names
        if not is_class_body:
            seen.add((code.co_filename, code.co_qualname))

# A trace function that returns None is called once a function: much cheaper than a profile function.
threading.settrace(watch)
sys.settrace(watch)
from agent.cli.main import main
main()
"""


@pytest.mark.timeout(180)
def test_little_code_runs_before_the_first_request(tmp_path: Path, openai_server: OpenAIServer) -> None:
    script = tmp_path / "watched.py"
    script.write_text(SCRIPT)
    words = ["--base-url", openai_server.url, "--model", "tiny-1", "How many days are 6 weeks of 7 days?"]
    done = subprocess.run(
        [sys.executable, str(script), f"{SRC}/", str(tmp_path / "found.json"), *words],
        env=clean(tmp_path / "home", OPENAI_API_KEY="sk-test"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert (tmp_path / "found.json").exists(), done.stderr
    figures = json.loads((tmp_path / "found.json").read_text())
    assert {name: figure for name, figure in figures.items() if figure > LIMITS[name]} == {}, figures
