"""Questions with plain text files."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import permutations

from making.question import Draw, Made, question


@question(1, ".txt", tools="text reader")
def harbour_letter(draw: Draw) -> Made:
    """Count the word, in capital and small letters. Leave out longer words that contain it."""
    sentences = [
        "The harbour lay still.",
        "Harbour bells rang twice.",
        "A harbourmaster keeps his own time.",
        "We walked along the quay to the harbour.",
        "No ship came, and the Harbour stayed empty.",
        "Two harbours on one island are one too many.",
        "Gulls slept on the roofs.",
        "Somebody sang below the window.",
    ]
    story = " ".join(draw.one(sentences) for _ in range(60))
    count = len(re.findall(r"\bharbour\b", story, re.IGNORECASE))
    text = (
        "How many times does the word harbour stand in the attached text, in capital or small letters? Count only the "
        "word itself, not longer words such as harbours. Give only the number."
    )
    return Made(text, count, story.replace(". ", ".\n", 20).encode())


@question(2, ".txt", tools="code")
def gate_log(draw: Draw) -> Made:
    """Follow the tries of each card. Count failures in a row. Keep the cards with three or more."""
    run: dict[str, int] = defaultdict(int)
    bad, lines = set(), []
    for number in range(260):
        card, opened = f"K{draw.number(10, 49)}", draw.number(0, 9) > 3
        hour, minute = divmod(360 + number * 4, 60)
        lines.append(f"{hour:02}:{minute:02}  card {card}  {'opened' if opened else 'refused'}")
        run[card] = 0 if opened else run[card] + 1
        if run[card] >= 3:
            bad.add(card)
    text = (
        "The attached log tells for each try of a card whether the gate opened or refused it. How many different cards "
        "were refused at least three times in a row, looking only at the tries of that card? Give only the number."
    )
    return Made(text, len(bad), ("\n".join(lines) + "\n").encode())


@question(3, ".txt", tools="code")
def lantern_parade(draw: Draw) -> Made:
    """Read the rules. Try the orders of the children. Keep the one that fits all rules."""
    names = ["Anton", "Birte", "Cem", "Dunja", "Enno", "Frida", "Gesa"]
    order = draw.shuffled(names)
    rules: list[tuple[str, str, str]] = []
    found = list(permutations(names))
    while len(found) > 1:
        a, b = draw.some(names, 2)
        distance = order.index(b) - order.index(a)
        kind = "right before" if distance == 1 else "before" if distance > 0 else "not next to"
        if kind == "not next to" and distance == -1:
            continue
        rules.append((a, kind, b))
        fitting = [one for one in found if _fits(one, a, kind, b)]
        if len(fitting) == len(found):
            rules.pop()
        found = fitting
    assert list(found[0]) == order
    lines = ["Seven children walk in a row, one behind the other:", ", ".join(names) + ".", ""]
    lines += [f"{a} walks {'somewhere ' if kind == 'before' else ''}{kind} {b}." for a, kind, b in rules]
    text = (
        "The attached text tells how seven children walk in a row. In which order do they walk, from first to last? "
        "Answer with the names, separated by commas."
    )
    return Made(text, ", ".join(order), ("\n".join(lines) + "\n").encode())


def _fits(order: tuple[str, ...], a: str, kind: str, b: str) -> bool:
    distance = order.index(b) - order.index(a)
    return {"right before": distance == 1, "before": distance > 0, "not next to": abs(distance) > 1}[kind]
