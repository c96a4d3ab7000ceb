"""Combinatorics and probability, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

from reference.question import of_kind

counting = of_kind("combinatorics")
probability = of_kind("probability")


@counting(
    "easy",
    "test",
    "In how many ways can a coach choose {size} of {players} players, if their order does not matter?",
    {"size": 5, "players": 23},
    {"size": 3, "players": 14},
    {"size": 11, "players": 18},
    {"size": 6, "players": 49},
)
def team_choices(size: int, players: int) -> int:
    return comb(players, size)


@counting(
    "medium",
    "test",
    "In how many ways can I pay exactly {amount} cents with coins of {coins} cents, using as many of each as "
    "I like? The order of the coins does not matter.",
    {"amount": 100, "coins": [5, 10, 20, 50]},
    {"amount": 37, "coins": [1, 3, 7, 12]},
    {"amount": 200, "coins": [1, 2, 5, 10, 20, 50, 100]},
    {"amount": 60, "coins": [4, 6, 10]},
)
def ways_to_pay(amount: int, coins: list[int]) -> int:
    ways = [1] + [0] * amount
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]


@counting(
    "hard",
    "dev",
    "I walk on the points of a grid from (0, 0) to ({width}, {height}); every step goes either one to the "
    "right or one up. I may not step on the points {blocked:points}, but I have to pass through the point "
    "{through:point}. How many different walks are there?",
    {"width": 8, "height": 7, "blocked": [[2, 2], [4, 3], [5, 6]], "through": [4, 4]},
    {"width": 5, "height": 5, "blocked": [[1, 1], [3, 3]], "through": [2, 3]},
    {"width": 10, "height": 6, "blocked": [[3, 0], [6, 4], [7, 2], [2, 5]], "through": [6, 3]},
    {"width": 6, "height": 9, "blocked": [[0, 1], [5, 5]], "through": [3, 2]},
)
def blocked_walks(width: int, height: int, blocked: list[list[int]], through: list[int]) -> int:
    def walks(start: list[int], goal: list[int]) -> int:
        x, y = start
        if x > goal[0] or y > goal[1] or start in blocked:
            return 0
        if start == goal:
            return 1
        return walks([x + 1, y], goal) + walks([x, y + 1], goal)

    return walks([0, 0], through) * walks(through, [width, height])


@probability(
    "easy",
    "dev",
    "I roll two fair dice with {sides} sides each, numbered from 1. What is the probability that their sum "
    "is {total}? Answer as a fraction in lowest terms, such as 5/36.",
    {"sides": 8, "total": 11},
    {"sides": 6, "total": 9},
    {"sides": 12, "total": 10},
    {"sides": 20, "total": 30},
)
def dice_sum(sides: int, total: int) -> str:
    rolls = list(product(range(1, sides + 1), repeat=2))
    return str(Fraction(sum(sum(roll) == total for roll in rolls), len(rolls)))


@probability(
    "hard",
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
