"""Statistics."""

from __future__ import annotations

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
    "My result in a course is worked out like this: of the homework marks {marks} the lowest one is dropped "
    "(only one, even if it occurs twice) and the others are averaged; this average counts {weight} percent, "
    "and the exam mark of {exam} counts the remaining percent; finally {penalty} points are taken off for "
    "each of my {missed} missed classes, but the result never falls below 0. What is my result, rounded to "
    "2 decimals?",
    {"marks": [71, 85, 90, 64, 78], "weight": 40, "exam": 82, "penalty": 1.5, "missed": 3},
    {"marks": [95, 55, 55, 70], "weight": 25, "exam": 67, "penalty": 2.0, "missed": 1},
    {"marks": [20, 35, 10, 28], "weight": 50, "exam": 18, "penalty": 5.5, "missed": 5},
    {"marks": [100, 88, 93, 97, 91, 79, 85], "weight": 35, "exam": 74, "penalty": 0.5, "missed": 4},
)
def course_result(marks: list[int], weight: int, exam: int, penalty: float, missed: int) -> float:
    kept = sorted(marks)[1:]
    average = sum(kept) / len(kept)
    weighted = average * weight / 100 + exam * (100 - weight) / 100
    return rounded(max(0.0, weighted - penalty * missed), 2)
