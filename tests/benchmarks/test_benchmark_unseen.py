"""Which requests left a tool in a library of their own is written down and counted."""

from __future__ import annotations

import json
from subprocess import CompletedProcess

import pytest
import unseen_questions

from support.fibonacci import ANSWER, QUESTION, reply, text_of
from support.forked_command import ForkedCommand
from support.openai_server import Step

ROWS = [
    {"id": "A1", "kind": "reusable", "question": QUESTION, "file": None, "answer": ANSWER,
     "again": {"question": QUESTION.replace("57", "60"), "answer": "1548008755920"}},
    {"id": "A2", "kind": "oneoff", "question": "Who is it?", "file": None, "answer": "me", "again": None},
    {"id": "A3", "kind": "oneoff", "question": QUESTION, "file": None, "answer": ANSWER, "again": None},
]  # fmt: skip


def forked(command, *, env, cwd, **_):
    """Like `subprocess.run` of the command."""
    process = ForkedCommand(command[1:], stdin=False, here=cwd, variables=env)
    out, err = process.communicate(timeout=60)
    return CompletedProcess(command, process.returncode, out, err)


@pytest.fixture
def options(tmp_path, monkeypatch, openai_server):
    (tmp_path / "unseen").mkdir()
    (tmp_path / "unseen" / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.setattr(unseen_questions, "HERE", tmp_path / "unseen")
    monkeypatch.setattr(unseen_questions.subprocess, "run", forked)
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    openai_server.default = lambda body: Step(text="you") if "Who is it?" in text_of(body) else reply(body)
    return ["tools", "--base-url", openai_server.url, "--model", "tiny-1", "--out", str(tmp_path / "out.jsonl")]


def test_each_request_has_a_library_of_its_own(options, tmp_path, capsys):
    libraries = tmp_path / "libraries"
    unseen_questions.main([*options, "--libraries", str(libraries)])
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    kept = [[str(libraries / name / "generated_tools" / "nth_fibonacci.py")] for name in ("A1", "A3")]
    assert [line["kept"] for line in lines] == [kept[0], [], [], kept[1]]
    assert [line["right"] for line in lines] == [True, True, False, True]
    assert [line["again"] for line in lines] == [False, True, False, False]
    assert (lines[0]["calls"] > 1, lines[1]["calls"], lines[1]["tools_used"]) == (True, 0, ["nth_fibonacci"])
    told = capsys.readouterr().out
    assert f"reusable: 1 of 1 requests left a tool\n  A1 {kept[0][0]}\n" in told
    assert "second questions: 1 of 1 used it, 1 with one model call or none" in told
    assert f"oneoff: 1 of 2 requests left a tool\n  A3 {kept[1][0]}\n" in told


def test_a_library_that_is_there_is_not_taken_for_an_empty_one(options, tmp_path):
    (tmp_path / "libraries" / "A1").mkdir(parents=True)
    with pytest.raises(FileExistsError):
        unseen_questions.main([*options, "--libraries", str(tmp_path / "libraries")])
