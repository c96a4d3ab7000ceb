"""The ledger: nothing that was written is lost, doubled or glued to something else, whatever happens to the process."""

import json
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import RunError
from agent.gaia.attempt import Attempt, AttemptStatus, Begun
from agent.gaia.ledger import Fingerprint, Ledger, read_ledger

MINE = Fingerprint("questions", {"model": "m", "library": "cold"})
TEXT = st.text(max_size=40)
ATTEMPTS = st.builds(
    Attempt,
    task_id=st.text(min_size=1, max_size=20),
    epoch=st.integers(1, 9),
    status=st.sampled_from(get_args(AttemptStatus)),
    level=st.none() | st.integers(1, 3),
    answer=TEXT,
    raw_answer=TEXT,
    correct=st.none() | st.booleans(),
    seconds=st.floats(0, 1e6),
    cost=st.none() | st.floats(0, 1e3),
    routes=st.lists(TEXT, max_size=3).map(tuple),
    leaks=st.lists(TEXT, max_size=2).map(tuple),
    set_apart=st.lists(TEXT, max_size=2).map(tuple),
)


def written(path, *attempts, fingerprint=MINE, **options):
    with Ledger.open(path, fingerprint=fingerprint, **options) as ledger:
        for attempt in attempts:
            ledger.append(attempt)
        return ledger


@settings(max_examples=20)
@given(attempts=st.lists(ATTEMPTS, min_size=1, max_size=4), data=st.data())
def test_cut_anywhere_it_holds_every_whole_line_and_takes_new_ones(tmp_path_factory, attempts, data):
    path = tmp_path_factory.mktemp("ledger") / "l.jsonl"
    written(path, *attempts)
    raw = path.read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    path.write_bytes(raw[:cut])
    whole = max(0, raw[:cut].count(b"\n") - 1)

    ledger = written(path, Attempt("later"))

    assert [a.task_id for a in ledger.attempts] == [a.task_id for a in attempts[:whole]] + ["later"]
    assert read_ledger(path).problems == ()


@pytest.mark.parametrize("damage", [b"\0\0\n", b"[" * 200_000 + b"\n"], ids=["zeros", "far too deep"])
def test_a_damaged_line_in_the_middle_is_told_and_left_where_it_is(tmp_path, damage):
    path = tmp_path / "l.jsonl"
    written(path, Attempt("a"), Attempt("b"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[2])

    ledger = written(path, Attempt("c"))

    assert [a.task_id for a in ledger.attempts] == ["b", "c"]
    assert "line 2 of l.jsonl is not a valid JSON object" in ledger.problems[0]
    assert damage in path.read_bytes()


def test_a_second_runner_is_refused(tmp_path):
    path = tmp_path / "l.jsonl"
    with Ledger.open(path, fingerprint=MINE), pytest.raises(RunError, match="Another benchmark is writing the ledger"):
        Ledger.open(path, fingerprint=MINE)
    written(path, Attempt("a"))  # the first is gone


def test_another_configuration_is_refused_and_the_message_says_what_differs(tmp_path):
    path, other = tmp_path / "l.jsonl", Fingerprint("questions", {"model": "n", "library": "cold"})
    written(path, Attempt("a", fingerprint=MINE.digest))

    with pytest.raises(RunError, match=r'model was "m", and is now "n"') as refused:
        written(path, fingerprint=other)
    assert "--output" in refused.value.remedy
    with pytest.raises(RunError, match="different questions"):
        written(path, fingerprint=replace(MINE, dataset="others"))
    assert len(written(path).attempts) == 1


@pytest.mark.parametrize("content", [b"hello", b"hello\n", b'{"a": 1}\n', b"[1, 2]\n", b'{\n "schema": 1}\n', b"\n\nx"])
def test_a_file_that_is_no_ledger_is_refused_and_not_touched(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)

    with pytest.raises(RunError, match="not a ledger"):
        written(path)
    assert path.read_bytes() == content


def test_a_ledger_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_text(json.dumps({"kind": "header", "ledger": 2, "fingerprint": "x"}) + "\n")

    with pytest.raises(RunError, match="has version 2; this alita"):
        written(path)


def test_a_run_counts_as_begun_until_its_attempt_follows(tmp_path):
    path = tmp_path / "l.jsonl"
    begun = [Begun(task_id, 1, MINE.digest, f"run-{task_id}") for task_id in "ab"]
    with Ledger.open(path, fingerprint=MINE) as ledger:
        for one in begun:
            ledger.begin(one)
        ledger.append(Attempt("a", fingerprint=MINE.digest))

    assert written(path).begun == read_ledger(path).begun == (begun[1],)
    assert read_ledger(path).problems == ()


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("epoch", "0"),
        ("epoch", "1001"),
        ("level", "-1"),
        ("seconds", "NaN"),
        ("seconds", "Infinity"),
        ("seconds", "1e300"),
        ("waited", "-1"),
        ("input_tokens", "-1"),
        ("output_tokens", "9" * 400),
        ("cost", "-Infinity"),
        ("steps", "1e400"),
        ("actions", "NaN"),
    ],
)
def test_a_number_that_cannot_be_is_told_with_its_line_and_not_counted(tmp_path, member, value):
    path = tmp_path / "l.jsonl"
    written(path, Attempt("a"))
    with path.open("a") as file:
        file.write(f'{{"kind": "attempt", "task_id": "b", "{member}": {value}}}\n')

    ledger = written(path, Attempt("c"))

    assert [a.task_id for a in ledger.attempts] == ["a", "c"]
    [problem] = ledger.problems
    assert problem.startswith(f"line 3 of l.jsonl cannot be used: `{member}`: Input should be ")
    assert f", not {json.loads(value)!r}"[:40] in problem
