"""`python src/gaia_benchmark.py` as a user runs it."""

import json
import os
import signal
import sys
import time

import pytest

from agent.gaia.ledger import read_ledger
from support.benchmarks import answers, asked, called, command, finished, forked, question_file

CANARY = "CANARY-7f3a-the-true-answer"


@pytest.fixture
def server(openai_server):
    openai_server.default = lambda body: answers(asked(body))
    return openai_server


def test_true_answers_and_annotations_reach_nothing_but_the_score(tmp_path, server):
    """Neither a prompt nor a file that is written, nor the environment or the command line of a child."""
    program = "import os, sys\nprint(dict(os.environ), sys.argv, open('/proc/self/environ').read())"
    server.answer(tool=("run_python", {"code": program}))
    members = {
        "Final answer": CANARY,
        "Annotator Metadata": {"Steps": CANARY, "Tools": CANARY},
        "file_name": "card.txt",
    }
    questions = question_file(tmp_path, 2, **members)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "card.txt").write_text("A card.")

    arguments = [questions, "--attached_files_dir", "files", "--output", "out.json", "--submission", "sub.jsonl", "-v"]
    code, out, err = finished(forked(*arguments, "--concurrency", 1, folder=tmp_path, url=server.url))

    assert code == 0, err
    assert "0 right of 2" in out
    assert CANARY not in out + err
    assert CANARY not in json.dumps(server.requests) + json.dumps(server.headers)
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != questions]
    assert {"out.json", "out.ledger.jsonl", "sub.jsonl", "journal.jsonl"} <= {path.name for path in written}
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []


def test_a_submission_file_alone_is_gone_on_with_and_details_and_traces_are_written(tmp_path, server):
    """Of its lines, answers are kept; what is damaged, unknown, doubled or an error is told and asked again."""
    server.answer(tool=("run_python", {"code": "print(6 * 7)"})).answer("It is so.\nFINAL ANSWER: 1")
    server.default = lambda body: answers("wrong")
    questions = question_file(tmp_path, 4)
    before = "".join(
        f"{line}\n"
        for line in (
            '{"task_id": "t0", "model_answer": "0"}',
            '{"task_id": "t1", "model_answer": "ERROR: timeout"}',
            '{"task_id": "t0", "model_answer": "second"}',
            '{"task_id": "gone", "model_answer": "x"}',
            '{"task_id": "t2", "model_a',
            '{"task_id": "t3", "model_answer": "wrong too", "reasoning_trace": "mine"}',
        )
    )
    (tmp_path / "mine.jsonl").write_text(before)
    base = [questions, "--submission", "mine.jsonl", "--concurrency", 1]
    refused = called(*base, folder=tmp_path, url=server.url)
    assert refused.code == 2
    assert "or keep its answers: --resume" in " ".join(refused.err.split())

    more = ["--resume", "--with-traces", "--details", "details.jsonl"]
    done = called(*base, *more, folder=tmp_path, url=server.url)
    assert done.code == 0, done.err
    assert len(server.requests) == 3  # t1 twice, t2 once
    for told in (
        "Line 2 of mine.jsonl has no valid answer to 't1': 'ERROR: timeout'.",
        "Line 3 of mine.jsonl answers 't0' a second time; the first answer is kept.",
        "Line 4 of mine.jsonl answers 'gone', which is not a known question.",
        "Line 5 of mine.jsonl does not have the form",
        "The old mine.jsonl is kept as mine.jsonl.before.",
        "2 answers of mine.jsonl kept; 2 questions left to ask.",
    ):
        assert told in done.err
    assert "2 right of 4" in done.out
    assert (tmp_path / "mine.jsonl.before").read_text() == before
    rows = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    assert rows == [
        {"task_id": "t0", "model_answer": "0"},
        {"task_id": "t1", "model_answer": "1", "reasoning_trace": "1. run_code: print(6 * 7) → 42"},
        {"task_id": "t2", "model_answer": "wrong"},
        {"task_id": "t3", "model_answer": "wrong too"},
    ]
    details = [json.loads(line) for line in (tmp_path / "details.jsonl").read_text().splitlines()]
    assert [line["task_id"] for line in details] == ["t0", "t1", "t2", "t3"]
    assert [line["is_correct"] for line in details] == [True, True, False, False]
    told = {
        name: details[1][name] for name in ("question", "model_answer", "expected_answer", "full_response", "steps")
    }
    assert told == {
        "question": "Which card is number 1?",
        "model_answer": "1",
        "expected_answer": "1",
        "full_response": "It is so.\nFINAL ANSWER: 1",
        "steps": [{"action": "run_code", "input": "print(6 * 7)", "finding": "42"}],
    }

    again = called(*base, *more, folder=tmp_path, url=server.url)
    assert (again.code, len(server.requests)) == (0, 3), again.err
    assert "2 right of 4" in again.out


def test_the_documented_command_ends_at_a_limit_and_goes_on_with_resume(tmp_path, server):
    questions = question_file(tmp_path, 3)
    base = [questions, "--submission", "mine.jsonl", "--concurrency", 1]
    ended = called(*base, "--total-tokens", 20, folder=tmp_path, url=server.url)
    accuracy = json.loads((tmp_path / "mine.results.json").read_text())["accuracy"]
    assert (ended.code, accuracy) == (124, 2 / 3), ended.err
    assert "[2/3]" in ended.err
    assert "2 right of 3, 66.7 % of all selected" in ended.out

    done = called(*base, "--resume", "--verbose", folder=tmp_path, url=server.url)
    assert done.code == 0, done.err
    assert "3 right of 3, 100.0 % of all selected" in done.out
    assert "t2: answer\n" in done.err
    rows = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    assert rows == [{"task_id": f"t{i}", "model_answer": str(i)} for i in range(3)]
    results = json.loads((tmp_path / "mine.results.json").read_text())
    assert (results["right"], results["selected"], results["accuracy"]) == (3, 3, 1.0)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "none.jsonl cannot be read"),
        (["{q}", "--ids", "zz"], "no question 'zz'"),
        (["{q}", "--library", "read-only", "--tools-dir", "nowhere"], "nowhere is not a folder"),
        (["{q}", "--without", "thinking"], "thinking is not one of search, browse, create"),
        (["{q}", "--submission", "no/where/s.jsonl"], "no/where is not a folder"),
        (["{q}", "--with-traces"], "--with-traces needs --submission"),
        (["{q}", "--details", "{q}"], "is used for both the questions and --details"),
        (["{q}", "--attached_files_dir", "gone"], "gone is not a folder"),
    ],
)
def test_bad_usage_is_told_at_once(tmp_path, arguments, message, capsys, monkeypatch):
    from agent.cli import main

    questions = question_file(tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gaia-benchmark", *(a.format(q=questions) for a in arguments), "--model", "m"])
    with pytest.raises(SystemExit) as ended:
        main.main_of("gaia", "gaia-benchmark")

    assert ended.value.code in (1, 2)
    assert message in capsys.readouterr().err.replace("\n", " ")
    assert not list(tmp_path.glob("*.ledger.jsonl"))


def test_killed_and_then_stopped_by_ctrl_c_it_goes_on_and_pays_for_nothing_twice(tmp_path, server):
    questions = question_file(tmp_path, 3)
    server.answer(tool=("run_python", {"code": "print(6 * 7)"})).hang(20)
    base = [questions, "--output", "o.json", "--details", "details.jsonl", "--resume", "--concurrency", 1]
    process = forked(*base, folder=tmp_path, url=server.url)
    while len(server.requests) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    (begun,) = read_ledger(tmp_path / "o.ledger.jsonl").begun
    paid = len(server.requests) - 1  # the last one was not answered

    server.default = lambda body: answers(asked(body), delay=60 if asked(body) == "1" else 0)
    process = command(*base, folder=tmp_path, url=server.url, start_new_session=True)
    while len(server.requests) < paid + 3 and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None  # the question under way goes on
    os.killpg(process.pid, signal.SIGINT)
    code, out, err = finished(process, 20)

    assert code == 130
    assert "Press Ctrl-C again to stop immediately" in err
    assert "Continue with the same command and --resume." in out
    first, second = read_ledger(tmp_path / "o.ledger.jsonl").attempts
    assert (first.run_id, first.status, second.status) == (begun.run_id, "ok", "interrupted")
    assert first.input_tokens == 10 * (paid + 1)  # those of both processes
    assert first.seconds > 0
    details = [json.loads(line) for line in (tmp_path / "details.jsonl").read_text().splitlines()]
    assert [(line["task_id"], line["status"]) for line in details] == [("t0", "ok"), ("t1", "interrupted")]

    server.default = lambda body: answers(asked(body))
    done = called(*base, folder=tmp_path, url=server.url)
    assert "3 right of 3" in done.out, done.err


def test_resume_without_a_ledger_says_that_nothing_is_continued(tmp_path, server):
    questions = question_file(tmp_path, 2)
    first = called(questions, "--submission", "one.jsonl", folder=tmp_path, url=server.url)
    again = called(questions, "--submission", "two.jsonl", "--resume", folder=tmp_path, url=server.url)
    assert "so this is a new benchmark" not in first.err
    assert "There is no ledger two.results.ledger.jsonl, so this is a new benchmark." in again.err
    other = ["--submission", "three.jsonl", "--output", "one.results.json", "--resume"]
    called(questions, *other, folder=tmp_path, url=server.url)
    assert len((tmp_path / "three.jsonl").read_text().splitlines()) == 2
    assert len(server.requests) == 4, "the answers of the ledger are kept"
