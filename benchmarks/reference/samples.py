"""Statistics."""

from __future__ import annotations

from fractions import Fraction
from statistics import linear_regression, median

from reference.question import of_kind, rounded

statistics = of_kind("statistics")


@statistics(
    "easy",
    "test",
    "What is the median of these waiting times: {numbers}? If their count is even, take the mean of the two "
    "in the middle.",
    {"numbers": [14, 3, 27, 8, 19, 22, 5, 31, 12, 9]},
    {"numbers": [75, 20, 110, 42, 60]},
    {"numbers": [100, 98, 102, 95, 99, 104]},
    {"numbers": [41, 17, 17, 60, 33, 52, 8]},
)
def median_time(numbers: list[int]) -> float:
    return median(numbers)


@statistics(
    "medium",
    "test",
    "In the months {months} a shop sold {sales} pieces. Put a straight line through these points by least "
    "squares. How many pieces does the line predict for month {ahead}, rounded to 2 decimals?",
    {"months": [1, 2, 3, 4, 5, 6], "sales": [112, 125, 119, 140, 151, 149], "ahead": 9},
    {"months": [1, 2, 4, 5], "sales": [40, 37, 30, 28], "ahead": 8},
    {"months": [2, 3, 5, 7, 11], "sales": [10, 14, 13, 20, 27], "ahead": 12},
    {"months": [1, 3, 6], "sales": [250, 310, 295], "ahead": 10},
)
def sales_forecast(months: list[int], sales: list[int], ahead: int) -> float:
    slope, intercept = linear_regression(months, sales)
    return rounded(intercept + slope * ahead, 2)


@statistics(
    "hard",
    "test",
    "In a diving contest the judges gave these marks: {marks}. The degrees of difficulty are {difficulty}, "
    "and these numbers of faults were noted (none for the others): {faults}. For each diver, one highest "
    "and one lowest mark are dropped, the rest are added up and multiplied by the difficulty, and {penalty} "
    "points are taken off for each fault. A diver with any mark below {floor}, dropped or not, is out. Of "
    "divers with equal points, the one with the lower difficulty comes first. Who are the first {places}, "
    "best first, separated by commas?",
    {
        "marks": {
            "Kim": [7.5, 8.0, 8.5, 7.0, 8.0],
            "Lars": [9.0, 8.5, 9.0, 4.0, 9.5],
            "Mina": [6.5, 7.0, 7.5, 7.0, 9.0],
            "Noor": [8.0, 8.0, 8.5, 8.5, 8.0],
            "Olek": [8.0, 7.5, 7.5, 8.5, 8.5],
        },
        "difficulty": {"Kim": 3.0, "Lars": 3.2, "Mina": 3.6, "Noor": 2.8, "Olek": 3.2},
        "faults": {"Olek": 2, "Mina": 1},
        "penalty": 3.5,
        "floor": 5.0,
        "places": 3,
    },
    {
        "marks": {
            "Ren": [6.0, 7.0, 8.0, 7.0],
            "Sol": [8.0, 8.0, 9.0, 7.0],
            "Tia": [9.0, 5.0, 7.0, 9.0],
            "Udo": [7.0, 8.0, 7.0, 8.0],
        },
        "difficulty": {"Ren": 3.0, "Sol": 2.5, "Tia": 2.0, "Udo": 2.8},
        "faults": {"Sol": 1},
        "penalty": 2.0,
        "floor": 6.0,
        "places": 2,
    },
    {
        "marks": {
            "Ava": [5.0, 6.0, 7.0, 5.0],
            "Bix": [7.0, 8.0, 9.0, 6.0],
            "Cal": [8.0, 8.0, 8.0, 8.0],
            "Dov": [9.0, 9.0, 3.0, 10.0],
        },
        "difficulty": {"Ava": 4.0, "Bix": 3.0, "Cal": 2.5, "Dov": 2.5},
        "faults": {"Bix": 2, "Cal": 1},
        "penalty": 1.5,
        "floor": 3.0,
        "places": 4,
    },
    {
        "marks": {"Ella": [7.0, 7.0, 7.0], "Fitz": [6.0, 7.0, 8.0], "Gwen": [5.0, 9.0, 9.0]},
        "difficulty": {"Ella": 3.0, "Fitz": 3.5, "Gwen": 2.0},
        "faults": {"Fitz": 1},
        "penalty": 3.5,
        "floor": 5.0,
        "places": 2,
    },
)
def diving_places(
    marks: dict[str, list[float]],
    difficulty: dict[str, float],
    faults: dict[str, int],
    penalty: float,
    floor: float,
    places: int,
) -> list[str]:
    def points(diver: str) -> Fraction:
        kept = sorted(marks[diver])[1:-1]
        exact = Fraction(str(difficulty[diver])) * sum(Fraction(str(mark)) for mark in kept)
        return exact - faults.get(diver, 0) * Fraction(str(penalty))

    def rank(diver: str) -> tuple[Fraction, float]:
        return -points(diver), difficulty[diver]

    still_in = [diver for diver in marks if min(marks[diver]) >= floor]
    if len({rank(diver) for diver in still_in}) < len(still_in):
        raise ValueError("two divers share a place: choose other values")
    return sorted(still_in, key=rank)[:places]
