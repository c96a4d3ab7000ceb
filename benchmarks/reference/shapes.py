"""Geometry and matrices."""

from __future__ import annotations

import math

from reference.question import of_kind, rounded

geometry = of_kind("geometry")
matrices = of_kind("matrices")


@geometry(
    "easy",
    "test",
    "A triangular garden has sides of {a}, {b} and {c} metres. How many square metres is it, rounded to 2 decimals?",
    {"a": 13, "b": 17, "c": 22},
    {"a": 7, "b": 8, "c": 9},
    {"a": 40, "b": 41, "c": 58},
    {"a": 5, "b": 6, "c": 10},
)
def triangle_area(a: int, b: int, c: int) -> float:
    s = (a + b + c) / 2
    return rounded(math.sqrt(s * (s - a) * (s - b) * (s - c)), 2)


@geometry(
    "medium",
    "test",
    "How many points (x, y) with whole-number coordinates are at least {inner} and at most {outer} away from "
    "the point (0, 0)?",
    {"inner": 7, "outer": 12},
    {"inner": 1, "outer": 5},
    {"inner": 20, "outer": 30},
    {"inner": 10, "outer": 10},
)
def ring_points(inner: int, outer: int) -> int:
    numbers = range(-outer, outer + 1)
    return sum(inner**2 <= x**2 + y**2 <= outer**2 for x in numbers for y in numbers)


@geometry(
    "hard",
    "dev",
    "A plot of land has its corners, in order around it, at {corners:points}, in metres. How many square metres is it?",
    {"corners": [[0, 0], [12, 1], [9, 6], [15, 11], [4, 13], [2, 5]]},
    {"corners": [[1, 1], [8, 2], [6, 9]]},
    {"corners": [[-5, 0], [0, 4], [5, 0], [3, -6], [0, -2], [-3, -6]]},
    {"corners": [[0, 0], [10, 0], [10, 8], [6, 8], [6, 3], [0, 3]]},
)
def plot_area(corners: list[list[int]]) -> float:
    following = [*corners[1:], corners[0]]
    doubled = sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(corners, following, strict=True))
    return abs(doubled) / 2


@matrices(
    "medium",
    "test",
    "Multiply the matrix {a:json} by the matrix {b:json}, in this order. What is the sum of the numbers on "
    "the main diagonal (top left to bottom right) of the product?",
    {"a": [[3, -1, 4], [1, 5, -9], [2, 6, 5]], "b": [[2, 7, 1], [8, 2, -8], [1, 8, 2]]},
    {"a": [[1, 2], [3, 4]], "b": [[5, 6], [7, 8]]},
    {"a": [[2, 0, 1], [-4, 3, 6]], "b": [[1, 9], [5, -2], [7, 3]]},
    {"a": [[10, 20], [30, 40]], "b": [[-1, 4], [2, 3]]},
)
def product_trace(a: list[list[int]], b: list[list[int]]) -> int:
    return sum(a[i][k] * b[k][i] for i in range(len(a)) for k in range(len(b)))


@matrices(
    "hard",
    "dev",
    "I read the numbers of the matrix {matrix:json} in a spiral: along the first row to the right, down the "
    "last column, along the last row to the left, up the first column, and so on inwards. What are the last "
    "{count} numbers that I read, in the order of reading, separated by commas?",
    {"matrix": [[4, 8, 15, 16], [23, 42, 7, 9], [1, 12, 5, 30], [6, 2, 11, 19]], "count": 5},
    {"matrix": [[1, 2, 3], [4, 5, 6], [7, 8, 9]], "count": 3},
    {"matrix": [[10, 20, 30, 40, 50], [60, 70, 80, 90, 15], [25, 35, 45, 55, 65]], "count": 4},
    {"matrix": [[3, 1], [4, 1], [5, 9], [2, 6], [8, 7]], "count": 6},
)
def spiral_end(matrix: list[list[int]], count: int) -> list[int]:
    rows, read = [list(row) for row in matrix], []
    while rows:
        read += rows.pop(0)
        rows = [list(column) for column in zip(*rows, strict=True)][::-1]
    return read[-count:]
