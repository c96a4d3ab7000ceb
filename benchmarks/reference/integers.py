"""Numbers, sequences, bases."""

from __future__ import annotations

import math
from itertools import groupby

from reference.question import of_kind

number = of_kind("numbers")
sequence = of_kind("sequences")
bases = of_kind("bases")


@number(
    "easy",
    "test",
    "What do the decimal digits of {base} to the power {exponent} add up to?",
    {"base": 2, "exponent": 150},
    {"base": 3, "exponent": 97},
    {"base": 7, "exponent": 64},
    {"base": 12, "exponent": 45},
)
def power_digit_sum(base: int, exponent: int) -> int:
    return sum(int(d) for d in str(base**exponent))


@number(
    "easy",
    "test",
    "How many positive divisors does {n} have, counting 1 and the number itself?",
    {"n": 360360},
    {"n": 123456},
    {"n": 99225},
    {"n": 7429},
)
def divisor_count(n: int) -> int:
    return sum(1 for d in range(1, n + 1) if n % d == 0)


@number(
    "easy",
    "dev",
    "What is the sum of all prime numbers below {limit}?",
    {"limit": 1000},
    {"limit": 250},
    {"limit": 5000},
    {"limit": 60},
)
def prime_sum(limit: int) -> int:
    return sum(n for n in range(2, limit) if all(n % d for d in range(2, math.isqrt(n) + 1)))


@number(
    "easy",
    "test",
    "What is the greatest common divisor of {a} and {b}?",
    {"a": 123552, "b": 80784},
    {"a": 1071, "b": 462},
    {"a": 98765, "b": 43210},
    {"a": 7560, "b": 1848},
)
def greatest_common_divisor(a: int, b: int) -> int:
    return math.gcd(a, b)


@number(
    "medium",
    "dev",
    "Several bus lines leave the central station together at {start}. After that, line by line, one leaves "
    "every {intervals} minutes. At what time (HH:MM, 24-hour clock) do all of the lines next leave at the "
    "same minute?",
    {"start": "06:15", "intervals": [12, 18, 20]},
    {"start": "05:40", "intervals": [8, 14, 21]},
    {"start": "07:05", "intervals": [15, 25, 40]},
    {"start": "11:20", "intervals": [9, 16, 30]},
)
def buses_together(start: str, intervals: list[int]) -> str:
    hours, minutes = map(int, start.split(":"))
    at = (hours * 60 + minutes + math.lcm(*intervals)) % 1440
    return f"{at // 60:02}:{at % 60:02}"


@number(
    "medium",
    "test",
    "What is the largest prime number below {limit} that reads the same forwards and backwards?",
    {"limit": 98000},
    {"limit": 75000},
    {"limit": 1000},
    {"limit": 20000},
)
def palindromic_prime_below(limit: int) -> int:
    return next(n for n in range(limit - 1, 1, -1) if str(n) == str(n)[::-1] and _is_prime(n))


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


@number(
    "hard",
    "test",
    "How many whole numbers from {low} to {high}, both included, meet all of these: they are divisible by "
    "exactly one of {divisors}; the sum of their decimal digits is not a multiple of {digit_modulus}; and "
    "the digit {banned} does not occur in them?",
    {"low": 1000, "high": 25000, "divisors": [6, 10, 15], "digit_modulus": 4, "banned": 7},
    {"low": 1, "high": 9999, "divisors": [4, 7], "digit_modulus": 3, "banned": 0},
    {"low": 500, "high": 12345, "divisors": [8, 12, 9, 5], "digit_modulus": 5, "banned": 2},
    {"low": 77, "high": 7777, "divisors": [3, 11, 14], "digit_modulus": 2, "banned": 9},
)
def count_by_conditions(low: int, high: int, divisors: list[int], digit_modulus: int, banned: int) -> int:
    def fits(n: int) -> bool:
        digits = [int(d) for d in str(n)]
        once = sum(n % d == 0 for d in divisors) == 1
        return once and sum(digits) % digit_modulus != 0 and banned not in digits

    return sum(fits(n) for n in range(low, high + 1))


@sequence(
    "easy",
    "test",
    "The first two numbers of a sequence are {first} and {second}; every further number is the sum of the "
    "two before it. What is number {n} of the sequence?",
    {"first": 2, "second": 5, "n": 30},
    {"first": 1, "second": 4, "n": 25},
    {"first": 7, "second": 3, "n": 12},
    {"first": 10, "second": 11, "n": 40},
)
def additive_sequence(first: int, second: int, n: int) -> int:
    a, b = first, second
    for _ in range(n - 1):
        a, b = b, a + b
    return a


@sequence(
    "medium",
    "test",
    "Take a whole number; if it is even, halve it, and if it is odd, multiply it by 3 and add 1; repeat this "
    "until you reach 1. Which starting number below {limit} needs the most steps? If several need equally "
    "many, give the smallest.",
    {"limit": 3000},
    {"limit": 100},
    {"limit": 500},
    {"limit": 10000},
)
def collatz_longest(limit: int) -> int:
    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    return max(range(1, limit), key=steps)


@sequence(
    "hard",
    "dev",
    "Each term of a sequence describes the one before it: read it from left to right and write, for every "
    "run of equal digits, first the length of the run and then the digit, so that 21 becomes 1211. Term 1 "
    "is {seed}. How many digits does term {n} have?",
    {"seed": "1", "n": 25},
    {"seed": "3", "n": 18},
    {"seed": "112", "n": 20},
    {"seed": "2024", "n": 12},
)
def look_and_say_length(seed: str, n: int) -> int:
    term = seed
    for _ in range(n - 1):
        term = "".join(f"{len(list(run))}{digit}" for digit, run in groupby(term))
    return len(term)


@bases(
    "easy",
    "test",
    "How is the decimal number {number} written in base {base}? Use the digits 0-9 and then capital letters "
    "from A, without any prefix.",
    {"number": 987654, "base": 13},
    {"number": 2024, "base": 7},
    {"number": 48879, "base": 16},
    {"number": 31415926, "base": 36},
)
def written_in_base(number: int, base: int) -> str:
    digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % base]
    return digit if number < base else written_in_base(number // base, base) + digit


@bases(
    "easy",
    "dev",
    "Write {a} and {b} in binary and pad the shorter one with zeros on the left. In how many positions do "
    "the two differ?",
    {"a": 48271, "b": 16807},
    {"a": 1000, "b": 512},
    {"a": 123456789, "b": 987654321},
    {"a": 77, "b": 300},
)
def differing_bits(a: int, b: int) -> int:
    return (a ^ b).bit_count()


@bases(
    "medium",
    "test",
    "What is the sum of all positive whole numbers below {limit} that read the same forwards and backwards "
    "both in decimal and in binary (written without leading zeros)?",
    {"limit": 10000},
    {"limit": 100},
    {"limit": 500},
    {"limit": 100000},
)
def double_palindromes(limit: int) -> int:
    def reads_both_ways(text: str) -> bool:
        return text == text[::-1]

    return sum(n for n in range(1, limit) if reads_both_ways(str(n)) and reads_both_ways(f"{n:b}"))
