"""Simulated robots, circles, stacks and cells, by given rules."""

from __future__ import annotations

from reference.question import of_kind, rounded

question = of_kind("simulation")


@question(
    "medium",
    "dev",
    'What is the value of the postfix (reverse Polish) expression "{expression}"? The operators +, - and * '
    "act on the two values before them, the earlier one on the left.",
    {"expression": "5 1 2 + 4 * + 3 - 7 2 - *"},
    {"expression": "8 3 - 6 2 * -"},
    {"expression": "2 3 4 5 6 + * - *"},
    {"expression": "10 4 * 3 3 * + 1 -"},
)
def postfix_value(expression: str) -> int:
    stack: list[int] = []
    for token in expression.split():
        if token in "+-*":
            right, left = stack.pop(), stack.pop()
            stack.append({"+": left + right, "-": left - right, "*": left * right}[token])
        else:
            stack.append(int(token))
    return stack.pop()


@question(
    "medium",
    "dev",
    'A robot gets the commands "{commands}": F and a number means that many metres forward, L a quarter '
    "turn to the left, R a quarter turn to the right. How many metres is the robot away from where it "
    "started, in a straight line, rounded to 2 decimals?",
    {"commands": "F10 R F3 L F4 R R F6 L F12"},
    {"commands": "R F5 R F5 L F2"},
    {"commands": "L L F7 R F3 R F20 L L F1"},
    {"commands": "F8 R F8 R F3 L F2"},
)
def robot_distance(commands: str) -> float:
    place, heading = 0j, 1j
    for command in commands.split():
        if command[0] == "F":
            place += heading * int(command[1:])
        else:
            heading *= 1j if command == "L" else -1j
    return rounded(abs(place), 2)


@question(
    "medium",
    "test",
    "The children {names} stand in a circle in this order. They count around the circle, starting with the "
    "first child as 1; whoever gets the number {step} leaves, and the next child still standing begins "
    "again with 1. Which child is left at the end?",
    {"names": ["Ada", "Bob", "Cy", "Dot", "Eli", "Fay", "Gil", "Hana", "Ian"], "step": 4},
    {"names": ["Kai", "Lea", "Mo", "Nia", "Oz"], "step": 3},
    {"names": ["Uma", "Val", "Wes", "Xia", "Yan", "Zed", "Abe"], "step": 10},
    {"names": ["Red", "Blue", "Green", "Pink"], "step": 2},
)
def last_in_circle(names: list[str], step: int) -> str:
    circle, at = list(names), 0
    while len(circle) > 1:
        at = (at + step - 1) % len(circle)
        circle.pop(at)
    return circle[0]


@question(
    "hard",
    "test",
    "A ring of {width} cells is numbered from 0 to the last; the neighbours of the first cell are the "
    "second and the last. At the start only these cells are alive (1): {alive}; all others are dead (0). In "
    "each step all cells change at once by Wolfram's rule {rule}: the new state of a cell is bit number 4*left + "
    "2*itself + right of the rule number (bit 0 is the lowest). How many cells are alive after {steps} "
    "steps?",
    {"width": 31, "alive": [15], "rule": 30, "steps": 20},
    {"width": 24, "alive": [0, 5, 6], "rule": 110, "steps": 15},
    {"width": 40, "alive": [3, 20], "rule": 90, "steps": 11},
    {"width": 17, "alive": [2, 3, 8, 9, 10], "rule": 54, "steps": 9},
)
def automaton_alive(width: int, alive: list[int], rule: int, steps: int) -> int:
    cells = [int(i in alive) for i in range(width)]
    for _ in range(steps):
        cells = [rule >> (4 * cells[i - 1] + 2 * cells[i] + cells[(i + 1) % width]) & 1 for i in range(width)]
    return sum(cells)


@question(
    "hard",
    "test",
    "Here is the map of a warehouse, where # is a wall and . is floor:\n{rows:lines}\nA robot stands in the "
    "top left corner and gets the moves {moves}: U, D, L, R are one field up, down, left and right. A move "
    "into a wall or off the map is skipped. On how many different fields has the robot stood at the end, "
    "counting the first and the last?",
    {"rows": [".....#", ".##...", "...#..", ".#...."], "moves": "RRRRDRDDLLULUDDLLU"},
    {"rows": ["...", ".#.", "..."], "moves": "RRRDDDLU"},
    {"rows": [".#....", "...##.", ".#....", "....#."], "moves": "DRRURRRRDDDLULLLDDLU"},
    {"rows": [".....", "####.", "....."], "moves": "RRRDRRDDLLULLUR"},
)
def fields_visited(rows: list[str], moves: str) -> int:
    steps = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
    row, column = 0, 0
    visited = {(0, 0)}
    for move in moves:
        down, right = row + steps[move][0], column + steps[move][1]
        if 0 <= down < len(rows) and 0 <= right < len(rows[0]) and rows[down][right] == ".":
            row, column = down, right
            visited.add((row, column))
    return len(visited)
