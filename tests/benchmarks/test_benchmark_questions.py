"""The committed questions: complete, computed, and found again in answers that are known."""

from __future__ import annotations

import ast
import inspect
import json
from collections import Counter
from fractions import Fraction

import answers
import pytest
from reference import integers, simulations, texts
from reference.question import QUESTIONS, rounded, sole_best
from scoring import is_right

ROWS = [json.loads(line) for line in answers.FILE.read_text(encoding="utf-8").splitlines()]


def json_type(value):
    """The JSON type with the types of what is inside; integers and fractional numbers differ."""
    if isinstance(value, list):
        return ("list", frozenset(json_type(v) for v in value))
    if isinstance(value, dict):
        return ("dict", frozenset(json_type(v) for v in value.values()))
    return type(value).__name__


def test_the_committed_file_is_what_the_reference_functions_compute():
    assert answers.main(["--check"]) == 0


def test_a_changed_answer_is_found(tmp_path, monkeypatch, capsys):
    changed = tmp_path / "questions.jsonl"
    changed.write_text(answers.rendered().replace('"answer": 33649', '"answer": 33650'), encoding="utf-8")
    monkeypatch.setattr(answers, "FILE", changed)
    assert answers.main(["--check"]) == 1
    assert "--write" in capsys.readouterr().err
    assert answers.main(["--write"]) == 0
    assert answers.main(["--check"]) == 0


def test_difficulties_and_splits_are_balanced():
    assert Counter(r["difficulty"] for r in ROWS) == {"easy": 22, "medium": 22, "hard": 22}
    assert Counter(r["split"] for r in ROWS) == {"dev": 22, "test": 44}
    dev = Counter(r["difficulty"] for r in ROWS if r["split"] == "dev")
    assert dev == {"easy": 7, "medium": 8, "hard": 7}
    assert len({r["kind"] for r in ROWS}) >= 15
    assert len({r["kind"] for r in ROWS if r["split"] == "dev"}) >= 12
    assert {r["kind"] for r in ROWS if r["split"] == "test"} == {r["kind"] for r in ROWS}


def lines_needed(function):
    """Lines of a reference function with one statement a line, and of the helpers in its file that it calls."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(function)))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    pending, seen, lines = [function.__name__], set(), 0
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            lines += len("\n".join(map(ast.unparse, functions[name].body)).splitlines())
            names = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
            pending += names & functions.keys()
    return lines


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_the_reference_is_as_short_as_its_difficulty_asks(question):
    most = {"easy": 4, "medium": 10, "hard": 20}[question.difficulty]
    assert lines_needed(question.solve) <= most


def test_few_answers_are_lists():
    assert sum(isinstance(r["answer"], list) for r in ROWS) <= 6


def test_ids_and_questions_are_unique():
    asked = [r["question"] for r in ROWS] + [h["question"] for r in ROWS for h in r["held_back"]]
    assert len(set(asked)) == len(asked)
    assert len({r["id"] for r in ROWS}) == len(ROWS) == len(QUESTIONS)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["id"])
class TestEachQuestion:
    def test_held_back_values_have_the_same_names_and_types(self, row):
        assert len(row["held_back"]) == 3
        for held in row["held_back"]:
            assert list(held["values"]) == list(row["values"])
            for name, value in held["values"].items():
                assert json_type(value) == json_type(row["values"][name]), name

    def test_answers_differ_so_that_a_constant_is_found_out(self, row):
        given = [json.dumps(v["answer"]) for v in (row, *row["held_back"])]
        assert len(set(given)) == 4

    def test_every_value_is_a_parameter_and_shown_in_the_question(self, row):
        question = next(q for q in QUESTIONS if q.id == row["id"])
        assert set(inspect.signature(question.solve).parameters) == set(row["values"])
        assert all("{" + name in question.template for name in row["values"])
        changed = {h["question"] for h in row["held_back"]}
        assert row["question"] not in changed

    def test_its_own_answer_scores_as_right_and_the_others_as_wrong(self, row):
        variants = [row, *row["held_back"]]
        for variant in variants:
            answer = variant["answer"]
            shown = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
            assert is_right(shown, answer)
            assert is_right(json.dumps(answer), answer)
            others = [v["answer"] for v in variants if v["answer"] != answer]
            assert not any(is_right(shown, other) for other in others)

    def test_the_answer_is_short(self, row):
        assert all(len(json.dumps(v["answer"])) <= 120 for v in (row, *row["held_back"]))


def test_values_that_leave_the_answer_open_are_refused():
    with pytest.raises(ValueError, match="tie"):
        rounded(2.345, 2)
    with pytest.raises(ValueError, match="tied"):
        sole_best({"a": 1, "b": 1})
    assert rounded(Fraction(1, 3), 2) == 0.33


def test_known_values():
    assert integers.power_digit_sum(2, 15) == 26
    assert integers.look_and_say_length("1", 5) == 6
    assert integers.palindromic_prime_below(1000) == 929
    assert texts.luhn_missing_digit("7992739871?") == 3
    assert integers.double_palindromes(10) == 1 + 3 + 5 + 7 + 9
    assert integers.collatz_longest(30) == 27
    assert texts.columnar_transposition("WE ARE DISCOVERED FLEE AT ONCE", "ZEBRAS")[:5] == "EVLNX"
    assert simulations.postfix_value("3 4 + 2 *") == 14
