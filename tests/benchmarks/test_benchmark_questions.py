"""The committed questions: complete, computed, and right by a second way of computing."""

from __future__ import annotations

import calendar
import inspect
import json
import math
from collections import Counter
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import answers
import pytest
from reference import counting, dates, integers, networks, parsing, samples, shapes, simulations, texts
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
    changed.write_text(answers.rendered().replace('"answer": 2772', '"answer": 2773'), encoding="utf-8")
    monkeypatch.setattr(answers, "FILE", changed)
    assert answers.main(["--check"]) == 1
    assert "--write" in capsys.readouterr().err
    assert answers.main(["--write"]) == 0
    assert answers.main(["--check"]) == 0


def test_difficulties_and_splits_are_balanced():
    assert Counter(r["difficulty"] for r in ROWS) == {"easy": 22, "medium": 22, "hard": 22}
    assert Counter(r["split"] for r in ROWS) == {"dev": 22, "test": 44}
    dev = Counter(r["difficulty"] for r in ROWS if r["split"] == "dev")
    assert min(dev.values()) >= 7
    assert len({r["kind"] for r in ROWS}) >= 15
    assert len({r["kind"] for r in ROWS if r["split"] == "dev"}) >= 12
    assert {r["kind"] for r in ROWS if r["split"] == "test"} == {r["kind"] for r in ROWS}


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
        assert len(set(given)) >= 3

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

    def test_modular_inverse(self):
        for v, answer in each(integers.smallest_multiplier):
            assert pow(v["factor"], -1, v["modulus"]) * v["remainder"] % v["modulus"] == answer

    def test_base_read_back(self):
        for v, answer in each(integers.written_in_base):
            assert int(answer, v["base"]) == v["number"]

    def test_recurrence_by_definition(self):
        for v, answer in each(integers.linear_recurrence):
            terms = [0, v["first"], v["second"]]
            while len(terms) <= v["n"]:
                terms.append(v["p"] * terms[-1] + v["q"] * terms[-2])
            assert terms[v["n"]] == answer

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

    def test_planet_day_number_from_its_date(self):
        for v, (year, month, day) in each(dates.planet_date):
            odd, even = (v["months"] + 1) // 2, v["months"] // 2
            leaps = sum(y % v["leap_every"] == 0 and y % v["skip_every"] != 0 for y in range(1, year))
            before = (year - 1) * (odd * v["odd_days"] + even * v["even_days"]) + leaps
            before += month // 2 * v["odd_days"] + (month - 1) // 2 * v["even_days"]
            assert before + day == v["number"]

    def test_committees_one_by_one(self):
        for v, answer in each(counting.committee_count):
            people = "w" * v["women"] + "m" * v["men"]
            assert sum(c.count("w") >= v["least"] for c in combinations(people, v["size"])) == answer

    def test_ways_to_pay_by_generating_function(self):
        for v, answer in each(counting.ways_to_pay):
            ways = [1] + [0] * v["amount"]
            for coin in v["coins"]:
                ways = [
                    sum(ways[s - coin * k] for k in range(v["most"] + 1) if coin * k <= s)
                    for s in range(v["amount"] + 1)
                ]
            assert ways[-1] == answer

    def test_seatings_as_a_share_of_all_rotations(self):
        for v, answer in each(counting.round_table_seatings):
            if len(v["guests"]) > 7:
                continue
            good = 0
            for seats in permutations(v["guests"]):
                place = {name: i for i, name in enumerate(seats)}

                def adjacent(a, b, place=place):
                    return (place[a] - place[b]) % len(place) in (1, len(place) - 1)

                good += adjacent(*v["together"]) and not any(adjacent(*p) for p in v["apart"])
            assert good == answer * len(v["guests"])

    def test_walks_one_by_one(self):
        for v, answer in each(counting.blocked_walks):
            length, good = v["width"] + v["height"], 0
            for ups in combinations(range(length), v["height"]):
                steps = "".join("U" if i in ups else "R" for i in range(length))
                if "U" * (v["run"] + 1) in steps or "R" * (v["run"] + 1) in steps:
                    continue
                points = [[steps[:i].count("R"), steps[:i].count("U")] for i in range(length + 1)]
                good += not any(point in points for point in v["blocked"])
            assert good == answer

    def test_marbles_in_every_order(self):
        v, answer = each(counting.marbles_win)[1]
        bag = "r" * v["red"] + "b" * v["blue"] + "g" * v["green"]
        wins = 0
        for order in permutations(bag):
            drawn = "".join(order)
            reds = [i for i, colour in enumerate(drawn) if colour == "r"]
            clash = drawn.find("gg")
            wins += clash < 0 or reds[v["need"] - 1] < clash + 1
        assert str(Fraction(wins, math.factorial(len(bag)))) == answer

    def test_rerolls_as_equally_likely_rows(self):
        v, answer = each(counting.reroll_the_lowest)[0]
        good = 0
        for *roll, again in product(range(1, v["sides"] + 1), repeat=v["dice"] + 1):
            if min(roll) <= v["low"]:
                roll[roll.index(min(roll))] = again
            good += sum(roll) == v["target"] or len(set(roll)) == 1
        assert str(Fraction(good, v["sides"] ** (v["dice"] + 1))) == answer

    def test_triangle_by_its_angle(self):
        for v, answer in each(shapes.triangle_area):
            cosine = (v["a"] ** 2 + v["b"] ** 2 - v["c"] ** 2) / (2 * v["a"] * v["b"])
            assert v["a"] * v["b"] * math.sin(math.acos(cosine)) / 2 == pytest.approx(answer, abs=0.0051)

    def test_plot_by_trapezoids(self):
        for v, answer in each(shapes.plot_area):
            closed = [*v["corners"], v["corners"][0]]
            parts = [(x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairwise(closed)]
            assert abs(sum(parts)) == answer

    def test_shortest_way_over_all_orders_of_towns(self):
        for v, answer in each(networks.shortest_way):
            km = {frozenset(road.split("-")): length for road, length in v["roads"].items()}
            inner = set().union(*km) - {v["start"], v["goal"], v["closed"]}
            lengths = []
            for count in range(len(inner) + 1):
                for middle in permutations(inner, count):
                    way = [v["start"], *middle, v["goal"]]
                    legs = [frozenset(leg) for leg in pairwise(way)]
                    if all(leg in km for leg in legs):
                        lengths.append(sum(km[leg] for leg in legs))
            assert min(lengths) == answer

    def test_forecast_by_the_normal_equations(self):
        for v, answer in each(samples.sales_forecast):
            xs, ys, n = v["months"], v["sales"], len(v["months"])
            xy = sum(x * y for x, y in zip(xs, ys, strict=True))
            slope = Fraction(n * xy - sum(xs) * sum(ys), n * sum(x * x for x in xs) - sum(xs) ** 2)
            line = Fraction(sum(ys), n) + slope * (v["ahead"] - Fraction(sum(xs), n))
            assert float(line) == pytest.approx(answer, abs=0.0051)

    def test_card_payoff_in_decimal_money(self):
        import reference.amounts as amounts

        def cents(value):
            return value.quantize(Decimal("0.01"), ROUND_HALF_UP)

        for v, (payments, charged) in each(amounts.card_payoff):
            owed, interest, months = Decimal(v["balance"]), Decimal(0), 0
            while owed:
                monthly = cents(owed * v["rate"] / 1200)
                interest, owed, months = interest + monthly, owed + monthly, months + 1
                owed -= min(owed, max(Decimal(v["minimum"]), cents(owed * v["percent"] / 100)))
                owed += v["fee"] if owed > v["threshold"] else 0
            assert (months, float(interest)) == (payments, charged)

    def test_loan_is_paid_off_by_its_payments(self):
        import reference.amounts as amounts

        for v, payment in each(amounts.loan_payment):
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

    def test_playfair_gives_the_example_of_the_literature(self):
        encrypted = texts.playfair_encrypted("HIDE THE GOLD IN THE TREE STUMP", "PLAYFAIREXAMPLE")
        assert encrypted == "BMODZBXDNABEKUDMUIXMMOUVIF"

    def test_known_values(self):
        assert integers.power_digit_sum(2, 15) == 26
        assert integers.look_and_say_length("1", 5) == 6
        assert integers.palindromic_prime_below(1000) == 929
        assert texts.luhn_missing_digit("7992739871?") == 3
        assert parsing.molar_mass("CuSO4.5H2O", {"Cu": 63.546, "S": 32.06, "O": 15.999, "H": 1.008}) == 249.68
