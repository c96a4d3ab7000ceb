"""Questions with Python programs, whose answer is what they print, and with structures of molecules."""

from __future__ import annotations

import contextlib
import io
import math
from collections import Counter

from making.question import Draw, Made, only_best, question


def _printed(source: str) -> str:
    """What a program prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "attachment", "exec"), {"__name__": "__main__"})  # noqa: S102 - a source of this module
    return out.getvalue().strip()


@question(1, ".py", tools="code")
def beehive_model(draw: Draw) -> Made:
    """Run the program. Read the number that it prints."""
    source = f'''"""How many bees live in a hive after some weeks."""

BEES, WEEKS = {draw.number(900, 1500)}, {draw.number(17, 25)}


def week(bees: int, number: int) -> int:
    """The bees after one more week."""
    born = bees * 3 // (7 + number)
    lost = bees // 11 if number % 3 else bees // 5
    return bees + born - lost


bees = BEES
for number in range(WEEKS):
    bees = week(bees, number)
print("bees:", bees)
'''
    text = "Which number does the attached program print when it is run? Give only the number."
    return Made(text, _printed(source).split()[-1], source.encode())


@question(2, ".py", tools="code")
def tide_table(draw: Draw) -> Made:
    """Find where the program does not do what its comment says. Repair it. Run it. Read the number."""
    levels = [draw.number(20, 480) for _ in range(40)]
    rows = "\n".join("    " + " ".join(f"{level}," for level in levels[n : n + 10]) for n in range(0, 40, 10))
    source = f'''"""Counts the high tides of a list of levels.

A high tide is a level that is higher than the one before it and higher than the one after it.
The first and the last level of the list are never high tides.
"""

# fmt: off
LEVELS = [
{rows}
]
# fmt: on


def high_tides(levels: list[int]) -> int:
    """How many levels are high tides."""
    count = 0
    for place in range(2, len(levels) - 1):
        if levels[place] > levels[place - 1] or levels[place] > levels[place + 1]:
            count += 1
    return count


print(high_tides(LEVELS))
'''
    right = source.replace("range(2,", "range(1,").replace("] or levels", "] and levels")
    text = (
        "The attached program does not do what its own documentation says. Which number would it print if its mistakes "
        "were put right, with the same levels? Give only the number."
    )
    assert _printed(right) != _printed(source)
    return Made(text, _printed(right), source.encode())


@question(3, ".py", tools="code")
def garden_paths(draw: Draw) -> Made:
    """See that the program needs too long. Find a way to compute the same quickly. Compute it."""
    ponds = sorted({(draw.number(1, 21), draw.number(1, 21)) for _ in range(12)})
    source = f'''"""Counts the ways through a garden from the gate to the summer house."""

SIZE = 24
PONDS = {{{", ".join(map(str, ponds))}}}


def ways(x: int, y: int) -> int:
    """The ways from the gate at (0, 0) to a place, walking only in the direction of growing x or y."""
    if (x, y) in PONDS or x < 0 or y < 0:
        return 0
    if (x, y) == (0, 0):
        return 1
    return ways(x - 1, y) + ways(x, y - 1)


print(ways(SIZE - 1, SIZE - 1))
'''
    quick = source.replace("\n\ndef ways", "\nfrom functools import cache\n\n@cache\ndef ways")
    text = (
        "The attached program would print a number, but it takes far too long to wait for. Which number is it? Give "
        "only the number, without separators."
    )
    return Made(text, _printed(quick), _wrapped(source).encode())


def _wrapped(source: str) -> str:
    """The set of ponds as a formatter writes it."""
    line = next(line for line in source.splitlines() if line.startswith("PONDS"))
    inside = line.removeprefix("PONDS = {").removesuffix("}")
    rows = "".join(f"    {pond.strip('(')},\n" for pond in inside.replace("), (", ")|(").split("|"))
    return source.replace(line, "PONDS = {\n" + rows.replace("    ", "    (") + "}")


_RESIDUES = ["ALA", "ARG", "ASN", "ASP", "GLU", "GLY", "HIS", "LEU", "LYS", "PHE", "SER", "THR", "TRP", "VAL"]


def _atom(
    number: int, name: str, residue: str, chain: str, place: int, at: tuple[float, float, float], kind: str
) -> str:
    x, y, z = at
    return (
        f"{kind:6}{number:5d}  {name:<3} {residue:>3} {chain}{place:4d}    {x:8.3f}{y:8.3f}{z:8.3f}{1:6.2f}{20:6.2f}"
        f"          {name[0]:>2}"
    )


def _molecule(
    draw: Draw, chains: dict[str, int], waters: int
) -> tuple[list[str], list[tuple[str, str, int, tuple[float, float, float]]]]:
    """The lines of a made-up structure, and of each residue its chain, name, number and place of CA."""
    lines, residues = ["HEADER    MADE-UP STRUCTURE"], []
    number = 0
    for chain, length in chains.items():
        at = (0.0, 0.0, 0.0)
        for place in range(1, length + 1):
            residue = draw.one(_RESIDUES)
            for name in ("N", "CA", "C", "O"):
                number += 1
                at = tuple(round(value + draw.number(-1750, 1750) / 1000, 3) for value in at)
                lines.append(_atom(number, name, residue, chain, place, at, "ATOM"))
                if name == "CA":
                    residues.append((chain, residue, place, at))
        lines.append("TER")
    for place in range(1, waters + 1):
        number += 1
        at = tuple(draw.number(-9000, 40000) / 1000 for _ in range(3))
        lines.append(_atom(number, "O", "HOH", "W", place, at, "HETATM"))
    return [*lines, "END", ""], residues


@question(1, ".pdb", tools="code")
def small_protein(draw: Draw) -> Made:
    """Take the residues of chain B. Count each kind once per residue. Take the most frequent."""
    lines, residues = _molecule(draw, {"A": 24, "B": 33}, draw.number(9, 19))
    counts = Counter(residue for chain, residue, _, _ in residues if chain == "B")
    best = only_best(counts)
    text = (
        "Which kind of residue occurs most often in chain B of the attached structure, counting residues and not "
        "atoms? Answer with its three-letter code."
    )
    return Made(text, best, "\n".join(lines).encode())


@question(2, ".pdb", tools="code")
def folded_chain(draw: Draw) -> Made:
    """Take the CA atoms of chain A. Form their mean place. Take the one that is farthest from it."""
    lines, residues = _molecule(draw, {"A": 40, "B": 12}, 6)
    mine = [(f"{residue}, {place}", at) for chain, residue, place, at in residues if chain == "A"]
    middle = [sum(at[axis] for _, at in mine) / len(mine) for axis in range(3)]
    best = only_best({name: math.dist(at, middle) for name, at in mine})
    text = (
        "Take the CA atoms of chain A of the attached structure and the mean of their coordinates. Which residue's CA "
        "is farthest from this mean? Answer as: three-letter code, residue number"
    )
    return Made(text, best, "\n".join(lines).encode())
