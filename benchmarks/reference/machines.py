"""Simulated machines, by given rules."""

from __future__ import annotations

from reference.question import of_kind

question = of_kind("simulation")


@question(
    "easy",
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
    'A robot stands at (0, 0) and looks north. It gets the commands "{commands}": F and a number means that '
    "many steps forward, B and a number that many steps backward without turning, L a quarter turn to the "
    "left, R a quarter turn to the right. East is positive x, north is positive y. Where does it end up? "
    "Answer with x and y separated by a comma.",
    {"commands": "F10 R F3 L B4 R R F6 L F12 B1"},
    {"commands": "R F5 R F5 L B2"},
    {"commands": "L L F7 R B3 R F20 L L F1"},
    {"commands": "B8 R B8 R B3 L F2"},
)
def robot_position(commands: str) -> list[int]:
    x, y, dx, dy = 0, 0, 0, 1
    for command in commands.split():
        if command == "L":
            dx, dy = -dy, dx
        elif command == "R":
            dx, dy = dy, -dx
        else:
            steps = int(command[1:]) * (1 if command[0] == "F" else -1)
            x, y = x + dx * steps, y + dy * steps
    return [x, y]


@question(
    "medium",
    "test",
    "A ring of {width} cells is numbered from 0 to the last; the neighbours of the first cell are the "
    "second and the last. At the start only the cells {alive} are alive (1), all others dead (0). In each "
    "step all cells change at once by Wolfram's rule {rule}: the new state of a cell is bit number 4*left + "
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
    "dev",
    "A small machine has the registers a, b, c and d, all 0 at the start, and runs this program from its "
    "first line, line after line:\n{program:lines}\nset x n puts the number n into x; add x y adds y to x, "
    "and sub x y subtracts y from x, where y is a number or a register; swap x y exchanges two registers; "
    "jpos x n goes to the line n further down (1 is the next line; further up if n is negative) if x is "
    "greater than 0, otherwise to the next line. The machine stops when it leaves the program. "
    "What is then in register {register}?",
    {
        "program": [
            "set a 1",
            "set c 25",
            "add b a",
            "swap a b",
            "sub c 2",
            "add d c",
            "jpos c -4",
            "sub d a",
        ],
        "register": "d",
    },
    {"program": ["set a 7", "set b 6", "add c a", "sub b 1", "jpos b -2", "add c b"], "register": "c"},
    {
        "program": [
            "set a 40",
            "sub a 7",
            "add b 3",
            "jpos a -2",
            "swap a b",
            "add a b",
            "jpos b 2",
            "add a 100",
        ],
        "register": "a",
    },
    {
        "program": [
            "set d 5",
            "add a d",
            "set c 3",
            "add b a",
            "sub c 1",
            "jpos c -2",
            "sub d 1",
            "jpos d -6",
        ],
        "register": "b",
    },
)
def register_machine(program: list[str], register: str) -> int:
    registers = dict.fromkeys("abcd", 0)
    line = 0

    def value(token: str) -> int:
        return registers[token] if token in registers else int(token)

    while 0 <= line < len(program):
        operation, x, y = program[line].split()
        jump = 1
        if operation == "set":
            registers[x] = int(y)
        elif operation in ("add", "sub"):
            registers[x] += value(y) if operation == "add" else -value(y)
        elif operation == "swap":
            registers[x], registers[y] = registers[y], registers[x]
        elif registers[x] > 0:
            jump = int(y)
        line += jump
    return registers[register]
