"""The committed questions: complete, computed, and right by a second way of computing."""

from __future__ import annotations

import ast
import calendar
import inspect
import json
import math
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations, product

import answers
import pytest
from reference import counting, dates, integers, money, networks, parsing, samples, shapes, simulations, texts
from reference.question import QUESTIONS, rounded, sole_best
from scoring import is_right

ROWS = [json.loads(line) for line in answers.FILE.read_text(encoding="utf-8").splitlines()]


def each(function):
    """The four (values, answer) pairs of the question that this function answers."""
    row = next(r for r in ROWS if r["id"] == function.__name__.replace("_", "-"))
    return [(row["values"], row["answer"]), *((h["values"], h["answer"]) for h in row["held_back"])]


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


class TestASecondWay:
    """The reference answers again, by formula where they enumerate, and by enumeration where they calculate."""

    def test_divisors_from_the_prime_factors(self):
        for values, answer in each(integers.divisor_count):
            n, count, p = values["n"], 1, 2
            while n > 1:
                power = 0
                while n % p == 0:
                    n, power = n // p, power + 1
                count, p = count * (power + 1), p + 1
            assert count == answer

    def test_base_read_back(self):
        for v, answer in each(integers.written_in_base):
            assert int(answer, v["base"]) == v["number"]

    def test_weekday_by_zellers_rule(self):
        for v, answer in each(dates.weekday_of_date):
            year, month, day = map(int, v["day"].split("-"))
            if month < 3:
                year, month = year - 1, month + 12
            h = (day + 13 * (month + 1) // 5 + year % 100 + year % 100 // 4 + year // 400 + 5 * (year // 100)) % 7
            assert ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"][h] == answer

    def test_weekday_of_a_day_month_by_month(self):
        for v, answer in each(dates.day_on_weekday):
            months = product(range(v["first_year"], v["last_year"] + 1), range(1, 13))
            fits = [
                calendar.day_name[calendar.weekday(y, m, v["day"])] == v["weekday"]
                for y, m in months
                if v["day"] <= calendar.monthrange(y, m)[1]
            ]
            assert sum(fits) == answer

    def test_lease_by_counting_days(self):
        for v, answer in each(dates.lease_days):
            day, days = date.fromisoformat(v["start"]), 1
            while day.isoformat() != v["end"]:
                day, days = day + timedelta(days=1), days + 1
            assert days == answer

    def test_triangle_by_its_angle(self):
        for v, answer in each(shapes.triangle_area):
            cosine = (v["a"] ** 2 + v["b"] ** 2 - v["c"] ** 2) / (2 * v["a"] * v["b"])
            assert v["a"] * v["b"] * math.sin(math.acos(cosine)) / 2 == pytest.approx(answer, abs=0.0051)

    def test_forecast_by_the_normal_equations(self):
        for v, answer in each(samples.sales_forecast):
            xs, ys, n = v["months"], v["sales"], len(v["months"])
            xy = sum(x * y for x, y in zip(xs, ys, strict=True))
            slope = Fraction(n * xy - sum(xs) * sum(ys), n * sum(x * x for x in xs) - sum(xs) ** 2)
            line = Fraction(sum(ys), n) + slope * (v["ahead"] - Fraction(sum(xs), n))
            assert float(line) == pytest.approx(answer, abs=0.0051)

    def test_loan_is_paid_off_by_its_payments(self):
        for v, payment in each(money.loan_payment):
            owed = Fraction(v["loan"])
            for _ in range(v["months"]):
                owed = owed * (1 + Fraction(str(v["rate"])) / 1200) - Fraction(str(payment))
            assert abs(owed) < v["months"] * 0.01

    def test_circle_by_removing_from_the_front(self):
        for v, answer in each(simulations.last_in_circle):
            circle = list(v["names"])
            while len(circle) > 1:
                for _ in range(v["step"] - 1):
                    circle.append(circle.pop(0))
                circle.pop(0)
            assert circle == [answer]

    def test_roman_numerals_of_the_years(self):
        for v, answer in each(parsing.roman_year):
            pairs = zip(
                [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1],
                ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"],
                strict=True,
            )
            numeral, rest = "", answer
            for worth, letters in pairs:
                numeral, rest = numeral + letters * (rest // worth), rest % worth
            assert numeral == v["numeral"]

    def test_primes_by_the_sieve(self):
        for v, answer in each(integers.prime_sum):
            left = set(range(2, v["limit"]))
            for n in range(2, v["limit"]):
                left -= set(range(2 * n, v["limit"], n))
            assert sum(left) == answer

    def test_divisor_by_euclid(self):
        for v, answer in each(integers.greatest_common_divisor):
            a, b = v["a"], v["b"]
            while b:
                a, b = b, a % b
            assert a == answer

    def test_additive_sequence_by_definition(self):
        for v, answer in each(integers.additive_sequence):
            terms = [v["first"], v["second"]]
            while len(terms) < v["n"]:
                terms.append(terms[-1] + terms[-2])
            assert terms[v["n"] - 1] == answer

    def test_weekdays_by_whole_weeks(self):
        for v, answer in each(dates.weekdays_between):
            start, end = date.fromisoformat(v["start"]), date.fromisoformat(v["end"])
            weeks, rest = divmod((end - start).days + 1, 7)
            assert weeks * 5 + sum((start.weekday() + i) % 7 < 5 for i in range(rest)) == answer

    def test_teams_one_by_one(self):
        for v, answer in each(counting.team_choices):
            if answer < 50_000:
                assert sum(1 for _ in combinations(range(v["players"]), v["size"])) == answer

    def test_ways_to_pay_coin_by_coin(self):
        def ways(amount, coins):
            if not coins:
                return int(amount == 0)
            return sum(ways(amount - used, coins[:-1]) for used in range(0, amount + 1, coins[-1]))

        for v, answer in each(counting.ways_to_pay):
            assert ways(v["amount"], v["coins"]) == answer

    def test_dice_sum_by_formula(self):
        for v, answer in each(counting.dice_sum):
            assert Fraction(v["sides"] - abs(v["total"] - v["sides"] - 1), v["sides"] ** 2) == Fraction(answer)

    def test_ring_column_by_column(self):
        def disc(square):
            edge = math.isqrt(square)
            return sum(2 * math.isqrt(square - x * x) + 1 for x in range(-edge, edge + 1))

        for v, answer in each(shapes.ring_points):
            assert disc(v["outer"] ** 2) - disc(v["inner"] ** 2 - 1) == answer

    def test_trace_from_the_whole_product(self):
        for v, answer in each(shapes.product_trace):
            columns = list(zip(*v["b"], strict=True))
            whole = [[sum(p * q for p, q in zip(row, col, strict=True)) for col in columns] for row in v["a"]]
            assert sum(whole[i][i] for i in range(len(whole))) == answer

    def test_reachable_towns_by_following_the_roads(self):
        def follow(town, seen):
            seen.add(town)
            for road in v["roads"]:
                if town in road.split("-"):
                    other = road.replace(town, "").strip("-")
                    if other not in seen:
                        follow(other, seen)
            return seen

        for v, answer in each(networks.reachable_towns):
            assert len(follow(v["start"], set()) - {v["start"]}) == answer

    def test_shared_minutes_one_by_one(self):
        for v, answer in each(networks.shared_free_minutes):
            clock = [f"{h:02}:{m:02}" for h in range(24) for m in range(60)]
            ann, ben = v["ann"].split("-"), v["ben"].split("-")
            assert sum(ann[0] <= t < ann[1] and ben[0] <= t < ben[1] for t in clock) == answer

    def test_robot_by_compass(self):
        for v, answer in each(simulations.robot_distance):
            metres, facing = Counter(), 0
            for command in v["commands"].split():
                if command in ("L", "R"):
                    facing = (facing + (1 if command == "R" else 3)) % 4
                else:
                    metres["NESW"[facing]] += int(command[1:])
            assert math.hypot(metres["N"] - metres["S"], metres["E"] - metres["W"]) == pytest.approx(answer, abs=0.0051)

    def test_known_values(self):
        assert integers.power_digit_sum(2, 15) == 26
        assert integers.look_and_say_length("1", 5) == 6
        assert integers.palindromic_prime_below(1000) == 929
        assert texts.luhn_missing_digit("7992739871?") == 3
        assert integers.double_palindromes(10) == 1 + 3 + 5 + 7 + 9
        assert integers.collatz_longest(30) == 27
        assert texts.columnar_transposition("WE ARE DISCOVERED FLEE AT ONCE", "ZEBRAS")[:5] == "EVLNX"
        assert simulations.postfix_value("3 4 + 2 *") == 14
