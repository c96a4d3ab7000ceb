"""Numbers, sequences, bits."""

from __future__ import annotations

import math
from itertools import groupby

from reference.question import of_kind

number = of_kind("numbers")
sequence = of_kind("sequences")
bits = of_kind("bits")


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
    "medium",
    "dev",
    "What is the smallest positive whole number x such that {factor} times x leaves the remainder "
    "{remainder} when it is divided by {modulus}?",
    {"factor": 137, "remainder": 5, "modulus": 10007},
    {"factor": 64, "remainder": 11, "modulus": 5003},
    {"factor": 999, "remainder": 1, "modulus": 4096},
    {"factor": 77, "remainder": 30, "modulus": 8192},
)
def smallest_multiplier(factor: int, remainder: int, modulus: int) -> int:
    return next(x for x in range(1, modulus + 1) if factor * x % modulus == remainder)


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
    "A sequence starts with a(1) = {first} and a(2) = {second}; after that a(n) = {p} * a(n-1) + {q} * "
    "a(n-2). What is a({n})?",
    {"first": 2, "second": 5, "p": 3, "q": 2, "n": 16},
    {"first": 1, "second": 1, "p": 2, "q": 5, "n": 12},
    {"first": 4, "second": 0, "p": 1, "q": 3, "n": 20},
    {"first": 7, "second": 3, "p": 4, "q": 1, "n": 10},
)
def linear_recurrence(first: int, second: int, p: int, q: int, n: int) -> int:
    a, b = first, second
    for _ in range(n - 1):
        a, b = b, p * b + q * a
    return a


@sequence(
    "medium",
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


@bits(
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
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    return digits or "0"


@bits(
    "easy",
    "dev",
    "Write {a} and {b} in binary and pad the shorter one with zeros on the left. In how many positions do "
    "the two differ?",
    {"a": 48271, "b": 16807},
    {"a": 1023, "b": 512},
    {"a": 123456789, "b": 987654321},
    {"a": 77, "b": 300},
)
def differing_bits(a: int, b: int) -> int:
    return (a ^ b).bit_count()


@bits(
    "hard",
    "test",
    'Compute this 32-bit hash of the text "{text}". Start with h = {seed}. For each character in turn: '
    "replace h by h XOR the character's ASCII code; multiply h by {multiplier} and keep the lowest 32 bits; "
    "rotate h left by {rotation} bits within 32 bits. Besides, after every {every} characters (that is, "
    "once the count of characters done so far is a multiple of {every}), replace h by h XOR (h shifted "
    "right by 16 bits). Give the final h as exactly 8 lowercase hexadecimal digits.",
    {"text": "invoice-2041.pdf", "seed": 5381, "multiplier": 33, "rotation": 5, "every": 4},
    {"text": "Hello, world!", "seed": 2166136261, "multiplier": 16777619, "rotation": 7, "every": 3},
    {"text": "node_17/temperature", "seed": 17, "multiplier": 65599, "rotation": 11, "every": 5},
    {"text": "aaaaaaaaaa", "seed": 1, "multiplier": 31, "rotation": 3, "every": 2},
)
def text_hash(text: str, seed: int, multiplier: int, rotation: int, every: int) -> str:
    mask = 2**32 - 1
    h = seed
    for count, character in enumerate(text, start=1):
        h = (h ^ ord(character)) * multiplier & mask
        h = (h << rotation | h >> (32 - rotation)) & mask
        if count % every == 0:
            h ^= h >> 16
    return f"{h:08x}"
