"""Commands over runs and sessions with a pipe, a device or a folder in place of a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

RUN = "261121-104055-k3f9"
OTHER = "261121-104056-k3f9"
RECORD = {
    "schema": 1, "run_id": RUN, "question": "Why?", "model": "m", "started": 1.0, "files": [], "configuration": {},
    "status": "failed", "answer": None, "parent": None,
}  # fmt: skip
COMMANDS = {
    "list runs": ("runs", "list"),
    "show a run": ("runs", "show", RUN),
    "replay": ("runs", "replay", RUN),
    "export": ("runs", "export", RUN),
    "trust": ("runs", "trust", RUN, "--yes"),
    "trace": ("traces", "show", RUN),
    "list sessions": ("sessions", "list"),
    "show a session": ("sessions", "show", RUN),
    "statistics": ("stats",),
    "prune": ("runs", "prune", "--keep", "0"),
}


def odd(path: Path, kind: str) -> None:
    """Puts something else in place of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (f"runs/{RUN}/run.json", "pipe"),
        (f"runs/{RUN}/journal.jsonl", "device"),
        (f"runs/{RUN}/trace.html", "folder"),
        (f"sessions/{RUN}.json", "pipe"),
    ],
)
def test_no_command_waits_for_what_is_not_a_file(terminal, place, kind):
    data = terminal.home / "data"
    for run_id in (RUN, OTHER):
        folder = data / "runs" / run_id
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(RECORD | {"run_id": run_id}))
        (folder / "journal.jsonl").write_text("")
        os.utime(folder / "run.json", (1, 1))
    odd(data / place, kind)
    for name, command in COMMANDS.items():
        ended = terminal.call(*command)
        assert ended.code in (0, 1, 2), (name, ended.err)
        assert "Traceback" not in ended.err, name
        assert (ended.out + ended.err).strip(), name
    assert not (data / "runs" / OTHER).exists(), "prune removes the other run"
