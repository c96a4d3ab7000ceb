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


@geometry(
    "hard",
    "test",
    "How many points with whole-number coordinates lie inside or on the border of the triangle with the "
    "corners {corners:points}, are farther than {radius} from the point {centre:point}, and have "
    "coordinates x and y whose sum is not a multiple of {modulus}?",
    {"corners": [[0, 0], [24, 5], [7, 19]], "radius": 5, "centre": [10, 8], "modulus": 3},
    {"corners": [[-10, -3], [12, 0], [0, 15]], "radius": 6, "centre": [0, 4], "modulus": 2},
    {"corners": [[0, 0], [30, 0], [0, 30]], "radius": 10, "centre": [0, 0], "modulus": 4},
    {"corners": [[2, 1], [9, 17], [20, 6]], "radius": 3, "centre": [9, 9], "modulus": 5},
)
def lattice_points(corners: list[list[int]], radius: int, centre: list[int], modulus: int) -> int:
    def inside(x: int, y: int) -> bool:
        sides = zip(corners, [*corners[1:], corners[0]], strict=True)
        turns = [(x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) for (x1, y1), (x2, y2) in sides]
        return all(t >= 0 for t in turns) or all(t <= 0 for t in turns)

    xs, ys = zip(*corners, strict=True)
    return sum(
        inside(x, y) and (x - centre[0]) ** 2 + (y - centre[1]) ** 2 > radius**2 and (x + y) % modulus != 0
        for x in range(min(xs), max(xs) + 1)
        for y in range(min(ys), max(ys) + 1)
    )


@matrices(
    "medium",
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


@matrices(
    "hard",
    "test",
    "Take the matrix {matrix:json} and carry out these operations one after the other: {operations:json}. "
    "'shift r k' moves the numbers of row r cyclically k places to the right; 'swap c d' exchanges columns "
    "c and d; 'transpose' mirrors the matrix at its main diagonal; 'add r s' adds row r to row s, number by "
    "number, and leaves row r as it is; 'turn' rotates the whole matrix a quarter clockwise. Rows and "
    "columns are counted from 1. What is the sum of the numbers on the main diagonal (top left to bottom "
    "right) at the end?",
    {
        "matrix": [[3, -1, 4], [1, 5, -9], [2, 6, 5]],
        "operations": ["shift 1 1", "add 3 2", "turn", "swap 1 3", "add 1 3", "transpose", "shift 2 2"],
    },
    {"matrix": [[1, 2], [3, 4]], "operations": ["turn", "add 1 2", "transpose", "shift 1 1"]},
    {
        "matrix": [[2, 0, 1, 7], [5, 5, -3, 2], [8, 1, 0, 4], [-6, 3, 9, 1]],
        "operations": ["swap 2 4", "shift 3 3", "add 4 1", "turn", "turn", "add 2 3", "transpose"],
    },
    {
        "matrix": [[10, 20, 30], [40, 50, 60], [70, 80, 90]],
        "operations": ["shift 2 1", "transpose", "add 1 2", "swap 1 2", "turn"],
    },
)
def matrix_diagonal(matrix: list[list[int]], operations: list[str]) -> int:
    rows = [list(row) for row in matrix]
    for operation in operations:
        name, *numbers = operation.split()
        if name == "transpose":
            rows = [list(column) for column in zip(*rows, strict=True)]
        elif name == "turn":
            rows = [list(column) for column in zip(*rows[::-1], strict=True)]
        else:
            first, second = int(numbers[0]) - 1, int(numbers[1]) - 1
            if name == "shift":
                k = (second + 1) % len(rows[first])
                rows[first] = rows[first][-k:] + rows[first][:-k] if k else rows[first]
            elif name == "swap":
                for row in rows:
                    row[first], row[second] = row[second], row[first]
            else:
                rows[second] = [a + b for a, b in zip(rows[first], rows[second], strict=True)]
    return sum(rows[i][i] for i in range(len(rows)))
