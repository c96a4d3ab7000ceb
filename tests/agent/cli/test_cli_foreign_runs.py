"""Commands over runs that came from elsewhere, or that are damaged."""

from __future__ import annotations

import json
import os

import pytest

GOOD = "261121-104055-k3f9"
BAD = "261121-104056-k3f9"
WHOLE = {
    "schema": 1, "run_id": GOOD, "question": "Why?", "model": "m", "started": 1.0, "files": [], "configuration": {},
    "status": "failed", "answer": None, "parent": None,
}  # fmt: skip
DAMAGES = {
    "not a number": '"started": NaN',
    "endless": '"started": 1e400',
    "too late": '"started": 1e300',
    "a text": '"started": "soon"',
    "deep": '"configuration": ' + '{"a":' * 5000 + "1" + "}" * 5000,
    "a list": '"configuration": []',
    "no texts": '"configuration": {"model": {"a": 1}}',
    "files": '"files": [1]',
    "a number for a question": '"question": 7',
    "an answer": '"answer": {"answer": 1, "usage": {}, "cost": null}',
    "a parent elsewhere": '"parent": "../../elsewhere"',
}


def put(terminal, run_id, text):
    folder = terminal.home / "data" / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(text)
    return folder


def test_damaged_runs_are_named_and_the_others_are_listed(terminal):
    put(terminal, GOOD, json.dumps(WHOLE))
    bad = [f"261121-1040{number}-k3f9" for number in range(56, 56 + len(DAMAGES))]
    for run_id, damage in zip(bad, DAMAGES.values(), strict=True):
        put(terminal, run_id, json.dumps(WHOLE)[:-1] + f", {damage}}}")
    listed = terminal.call("runs", "list")
    assert listed.code == 0
    assert GOOD in listed.out
    told = listed.out + listed.err
    assert [
        name for run_id, name in zip(bad, DAMAGES, strict=True) if f"{run_id}/run.json is corrupt" not in told
    ] == []
    for run_id in bad:
        assert terminal.call("runs", "show", run_id).code == 2
    for command in (("resume", bad[0]), ("runs", "export", bad[0]), ("stats",)):
        assert terminal.call(*command).code in (0, 1, 2)


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_a_run_file_that_is_no_small_file_is_named(terminal, kind):
    put(terminal, GOOD, json.dumps(WHOLE))
    path = put(terminal, BAD, "") / "run.json"
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 30)
    listed = terminal.call("runs", "list")
    assert (listed.code, GOOD in listed.out) == (0, True)
    assert f"{BAD}/run.json cannot be read" in listed.out + listed.err


def test_a_foreign_run_is_trusted_only_on_demand(terminal):
    """Without a terminal, the command says what would happen and how to allow it."""
    configuration = {"base_url": "http://stranger.example/v1"}
    put(terminal, GOOD, json.dumps(WHOLE | {"configuration": configuration}))
    refused = terminal.call("resume", GOOD)
    assert refused.code == 2
    assert "http://stranger.example/v1" in refused.err
    asked = terminal.call("runs", "trust", GOOD)
    assert (asked.code, "http://stranger.example/v1" in asked.err) == (2, True)
    assert terminal.call("runs", "trust", GOOD, "--yes").code == 0
    assert "already" in terminal.call("runs", "trust", GOOD).out + terminal.call("runs", "trust", GOOD).err
