"""Combinatorics and probability, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import comb

from reference.question import of_kind

counting = of_kind("combinatorics")
probability = of_kind("probability")


@counting(
    "easy",
    "test",
    "A club has {women} women and {men} men. In how many ways can it choose a committee of {size} people "
    "with at least {least} women in it?",
    {"women": 9, "men": 7, "size": 5, "least": 3},
    {"women": 6, "men": 10, "size": 4, "least": 1},
    {"women": 12, "men": 4, "size": 6, "least": 5},
    {"women": 5, "men": 5, "size": 3, "least": 2},
)
def committee_count(women: int, men: int, size: int, least: int) -> int:
    return sum(comb(women, w) * comb(men, size - w) for w in range(least, size + 1))


@counting(
    "medium",
    "test",
    "In how many ways can I pay exactly {amount} cents with coins of {coins} cents, if I have {most} coins "
    "of each kind? Only how many coins of each kind I use matters, not their order.",
    {"amount": 100, "coins": [1, 2, 5, 10, 20, 50], "most": 6},
    {"amount": 60, "coins": [5, 10, 20], "most": 4},
    {"amount": 37, "coins": [1, 3, 7, 12], "most": 5},
    {"amount": 200, "coins": [10, 20, 25, 50, 100], "most": 10},
)
def ways_to_pay(amount: int, coins: list[int], most: int) -> int:
    if not coins:
        return int(amount == 0)
    return sum(ways_to_pay(amount - coins[0] * used, coins[1:], most) for used in range(most + 1))


@counting(
    "hard",
    "test",
    "{guests} are to sit at a round table with exactly as many chairs. {together:and} insist on sitting "
    "next to each other, while these pairs refuse to be neighbours: {apart:pairs}. How many seatings are "
    "there, if seatings that can be turned into each other by rotation are the same but mirror images are "
    "different?",
    {
        "guests": ["Ana", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal"],
        "together": ["Ana", "Ben"],
        "apart": [["Cleo", "Dan"], ["Eva", "Finn"]],
    },
    {
        "guests": ["Ira", "Jo", "Kim", "Lou", "Max", "Ned"],
        "together": ["Kim", "Ned"],
        "apart": [["Kim", "Lou"], ["Ira", "Jo"]],
    },
    {
        "guests": ["Pia", "Quin", "Rob", "Sue", "Tom", "Uma", "Vic"],
        "together": ["Tom", "Uma"],
        "apart": [["Pia", "Quin"], ["Pia", "Rob"], ["Sue", "Vic"]],
    },
    {
        "guests": ["Amy", "Bo", "Cat", "Del", "Ed", "Flo", "Gil"],
        "together": ["Amy", "Gil"],
        "apart": [["Bo", "Cat"]],
    },
)
def round_table_seatings(guests: list[str], together: list[str], apart: list[list[str]]) -> int:
    first, *others = guests
    count = 0
    for rest in permutations(others):
        seating = [first, *rest]
        neighbours = {frozenset(pair) for pair in zip(seating, [*rest, first], strict=True)}
        count += frozenset(together) in neighbours and not any(frozenset(p) in neighbours for p in apart)
    return count


@counting(
    "hard",
    "dev",
    "I walk on the points of a grid from (0, 0) to ({width}, {height}); every step goes either one to the "
    "right or one up. I may not step on the points {blocked:points}, and I never take more than {run} steps "
    "in a row in the same direction. How many different walks are there?",
    {"width": 8, "height": 7, "blocked": [[2, 2], [4, 3], [5, 6]], "run": 3},
    {"width": 5, "height": 5, "blocked": [[1, 1], [3, 3]], "run": 2},
    {"width": 10, "height": 6, "blocked": [[3, 0], [6, 4], [7, 2], [2, 5]], "run": 4},
    {"width": 6, "height": 9, "blocked": [[0, 1], [5, 5]], "run": 3},
)
def blocked_walks(width: int, height: int, blocked: list[list[int]], run: int) -> int:
    @cache
    def walks(x: int, y: int, direction: str, straight: int) -> int:
        if x > width or y > height or [x, y] in blocked or straight > run:
            return 0
        if (x, y) == (width, height):
            return 1
        right = walks(x + 1, y, "right", straight + 1 if direction == "right" else 1)
        up = walks(x, y + 1, "up", straight + 1 if direction == "up" else 1)
        return right + up

    return walks(0, 0, "", 0)


@probability(
    "medium",
    "test",
    "I roll {dice} fair dice with {sides} sides each, numbered from 1. What is the probability that their "
    "sum is at least {least} and that at least two of them show the same number? Answer as a fraction in "
    "lowest terms, such as 5/36.",
    {"dice": 3, "sides": 6, "least": 12},
    {"dice": 2, "sides": 8, "least": 9},
    {"dice": 4, "sides": 6, "least": 15},
    {"dice": 3, "sides": 10, "least": 20},
)
def sum_with_a_pair(dice: int, sides: int, least: int) -> str:
    rolls = list(product(range(1, sides + 1), repeat=dice))
    good = sum(sum(roll) >= least and len(set(roll)) < dice for roll in rolls)
    return str(Fraction(good, len(rolls)))


@probability(
    "hard",
    "dev",
    "I roll {dice} fair dice with {sides} sides each, numbered from 1. Then, if the lowest die shows {low} "
    "or less, I roll that one die again, once (only one die, even if several share the lowest number), and "
    "the new number counts instead; otherwise I keep them all. What is the probability that the total in "
    "the end is exactly {target} or that all dice show the same number in the end? Answer as a fraction in "
    "lowest terms, such as 5/36.",
    {"dice": 3, "sides": 6, "low": 2, "target": 13},
    {"dice": 2, "sides": 6, "low": 3, "target": 7},
    {"dice": 3, "sides": 8, "low": 4, "target": 20},
    {"dice": 4, "sides": 4, "low": 1, "target": 11},
)
def reroll_the_lowest(dice: int, sides: int, low: int, target: int) -> str:
    good = Fraction(0)
    for roll in product(range(1, sides + 1), repeat=dice):
        *kept, lowest = sorted(roll, reverse=True)
        ends = range(1, sides + 1) if lowest <= low else [lowest]
        for end in ends:
            final = [*kept, end]
            if sum(final) == target or len(set(final)) == 1:
                good += Fraction(1, len(ends))
    return str(good / sides**dice)


@probability(
    "hard",
    "test",
    "A bag holds {red} red, {blue} blue and {green} green marbles. I draw one after the other without "
    "putting any back. I win as soon as I have drawn {need} red ones altogether, and I lose as soon as two "
    "green ones come directly one after the other, or when the bag is empty before I have won. What is the "
    "probability that I win? Answer as a fraction in lowest terms, such as 5/36.",
    {"red": 4, "blue": 3, "green": 4, "need": 3},
    {"red": 2, "blue": 2, "green": 3, "need": 2},
    {"red": 5, "blue": 1, "green": 5, "need": 4},
    {"red": 3, "blue": 6, "green": 2, "need": 3},
)
def marbles_win(red: int, blue: int, green: int, need: int) -> str:
    def win(red: int, blue: int, green: int, need: int, after_green: bool) -> Fraction:
        total = red + blue + green
        if need == 0 or total == 0:
            return Fraction(need == 0)
        chance = Fraction(0)
        if red:
            chance += Fraction(red, total) * win(red - 1, blue, green, need - 1, False)
        if blue:
            chance += Fraction(blue, total) * win(red, blue - 1, green, need, False)
        if green and not after_green:
            chance += Fraction(green, total) * win(red, blue, green - 1, need, True)
        return chance

    return str(win(red, blue, green, need, False))
