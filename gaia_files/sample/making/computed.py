"""Questions without an attachment that need computing and no knowledge of the world."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from itertools import permutations

from making.question import Draw, Made, question


@question(1, tools="code")
def day_after(draw: Draw) -> Made:
    """Add the days to the date. Name the day of the week."""
    start, days = date(2024, 1, 1) + timedelta(days=draw.number(0, 700)), draw.number(900, 9000)
    text = (
        f"A clock is wound on {start.isoformat()} and stops exactly {days} days later. On which day of the week does "
        "it stop? Answer with the English name of the day."
    )
    return Made(text, f"{start + timedelta(days=days):%A}")


@question(1, tools="code")
def digit_sum(draw: Draw) -> Made:
    """Compute the power. Add up its digits."""
    base, power = draw.number(3, 9), draw.number(80, 180)
    text = f"What is the sum of the decimal digits of {base} to the power of {power}? Give only the number."
    return Made(text, sum(map(int, str(base**power))))


@question(1, tools="code")
def twin_primes(draw: Draw) -> Made:
    """List the primes of the range. Count those whose neighbour at distance two is prime as well."""
    low, high = draw.number(1000, 2000), draw.number(6000, 9000)

    def prime(n: int) -> bool:
        return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))

    text = (
        f"How many prime numbers p with {low} <= p <= {high} are there for which p + 2 is also a prime number? Give "
        "only the number."
    )
    return Made(text, sum(prime(n) and prime(n + 2) for n in range(low, high + 1)))


@question(2, tools="code")
def shifted_sentence(draw: Draw) -> Made:
    """Shift the letters back. Choose the shift that gives English. Take the fourth word."""
    words = draw.some(["seven", "herons", "carry", "stones", "under", "morning", "bridges", "quietly", "silver"], 7)
    shift = draw.number(3, 22)
    hidden = " ".join("".join(chr((ord(c) - 97 + shift) % 26 + 97) for c in word) for word in words)
    text = (
        f"In this line every letter was replaced by the letter {shift} places later in the alphabet (after z comes a): "
        f'"{hidden}". What is the fourth word of the original line? Answer with the word in small letters.'
    )
    return Made(text, words[3])


@question(2, tools="code")
def savings_book(draw: Draw) -> Made:
    """Add the deposit of each year. Add the interest and round it to cents. Count the years until the aim."""
    start, yearly, rate, aim = (
        draw.number(8, 30) * 100,
        draw.number(3, 9) * 100,
        draw.number(21, 49),
        draw.number(200, 400) * 100,
    )
    cents, years = start * 100, 0
    while cents < aim * 100:
        cents += yearly * 100
        cents += (cents * rate * 2 + 1000) // 2000
        years += 1
    text = (
        f"A savings book holds {start} euros. At the beginning of each year {yearly} euros are paid in; at the end of "
        f"each year {rate / 10:.1f} percent interest on the whole sum is added, rounded to whole cents. After how many "
        f"years does it hold at least {aim} euros for the first time? Give only the number."
    )
    return Made(text, years)


@question(2, tools="code")
def stamp_ways(draw: Draw) -> Made:
    """Count the ways for each amount. Use the stamps one after another."""
    stamps = sorted(draw.some([4, 7, 10, 15, 22, 35, 60], 5))
    amount = draw.number(180, 320)
    ways = [1] + [0] * amount
    for stamp in stamps:
        for value in range(stamp, amount + 1):
            ways[value] += ways[value - stamp]
    listed = ", ".join(map(str, stamps))
    text = (
        f"A post office sells stamps of {listed} cents. In how many ways can exactly {amount} cents be put on a "
        "parcel, when the order of the stamps does not matter and there are enough stamps of each value? Give only the "
        "number."
    )
    return Made(text, ways[amount])


@question(2, tools="code")
def marble_bag(draw: Draw) -> Made:
    """Count the ways to draw. Divide those that fit by all. Reduce the fraction."""
    red, blue, green = draw.number(4, 8), draw.number(4, 8), draw.number(3, 6)
    total = red + blue + green
    chance = 6 * Fraction(red * blue * green, total * (total - 1) * (total - 2))
    text = (
        f"A bag holds {red} red, {blue} blue and {green} green marbles. Three are drawn without putting any back. What "
        "is the probability that they have three different colours? Answer with a reduced fraction like 3/7."
    )
    return Made(text, f"{chance.numerator}/{chance.denominator}")


@question(3, tools="code")
def letter_sum(_: Draw) -> Made:
    """Try the digits for the letters. Keep the assignment that solves the sum. Read the number of the word."""
    words = ("FERN", "PINE", "FRUIT")
    (answer,) = _solutions(*words)
    text = (
        f"In the sum {words[0]} + {words[1]} = {words[2]} each letter stands for a digit, different letters for "
        f"different digits, and no number begins with 0. Which number is {words[2]}? Give only the number, without "
        "separators."
    )
    return Made(text, answer)


def _solutions(a: str, b: str, c: str) -> list[int]:
    """What the sum can be, at most two of them: column by column from the right."""
    found: list[int] = []

    def column(place: int, carry: int, digits: dict[str, int]) -> None:
        if len(found) > 1:
            return
        if place == len(c):
            if not carry and all(digits[word[0]] for word in (a, b, c)):
                found.append(int("".join(str(digits[letter]) for letter in c)))
            return
        here = [word[-1 - place] for word in (a, b) if place < len(word)]
        free = [letter for letter in dict.fromkeys(here) if letter not in digits]
        left = [digit for digit in range(10) if digit not in digits.values()]
        for choice in permutations(left, len(free)):
            tried = digits | dict(zip(free, choice, strict=True))
            carried, digit = divmod(sum(tried[letter] for letter in here) + carry, 10)
            known = tried.get(c[-1 - place])
            if known == digit or (known is None and digit not in tried.values()):
                column(place + 1, carried, tried | {c[-1 - place]: digit})

    column(0, 0, {})
    return found


@question(3, tools="code")
def snail_race(draw: Draw) -> Made:
    """Follow the snails minute by minute. Apply the rest and the slip. Note when each arrives. Sort."""
    names, speeds = ("Ambra", "Blitz", "Cosmo", "Dotty"), draw.some(range(7, 16), 4)
    snails = {n: (speed, draw.number(4, 9), draw.number(11, 26)) for n, speed in zip(names, speeds, strict=True)}
    length = draw.number(380, 520)
    arrival = {name: _arrival(length, *rule) for name, rule in snails.items()}
    assert len(set(arrival.values())) == len(arrival)
    rules = " ".join(
        f"{name} creeps {speed} cm in a minute, but in every {rest}th minute it rests instead, and at the end of every "
        f"{slip}th minute it slides 9 cm back (not behind the start)."
        for name, (speed, rest, slip) in snails.items()
    )
    text = (
        f"Four snails race over {length} cm, and the minutes are counted from 1. {rules} A snail has arrived at the "
        "end of the first minute in which, after any sliding back, it is at least at the finish. In which order do "
        "they arrive, and after how many minutes does the last one? Answer as: first, second, third, fourth, minutes"
    )
    order = sorted(arrival, key=lambda name: arrival[name])
    return Made(text, ", ".join([*order, str(max(arrival.values()))]))


def _arrival(length: int, speed: int, rest: int, slip: int) -> int:
    place = minute = 0
    while place < length:
        minute += 1
        place += 0 if minute % rest == 0 else speed
        place = max(0, place - 9) if minute % slip == 0 else place
    return minute


@question(3, tools="code")
def tiling_count(draw: Draw) -> Made:
    """Count the ways to lay the first row. Carry what juts out into the next row. Add up over all rows."""
    width, length = 4, draw.number(9, 13)
    text = (
        f"A path of {width} by {length} square fields is to be laid completely with slabs that each cover exactly two "
        "fields next to each other, or exactly one field. In how many ways can this be done? Ways that differ by a "
        "turn or a reflection count as different. Give only the number, without separators."
    )
    return Made(text, slab_ways(width, length))


def slab_ways(width: int, length: int) -> int:
    """In how many ways single and double slabs cover a rectangle."""

    @cache
    def ways(row: int, taken: int) -> int:
        if row == length:
            return int(taken == 0)
        return sum(ways(row + 1, after) for after in _rows(width, taken))

    return ways(0, 0)


def _rows(width: int, taken: int, place: int = 0, after: int = 0) -> list[int]:
    """For each way to fill a row the fields of the next row that are then taken, as bits."""
    if place == width:
        return [after]
    if taken >> place & 1:
        return _rows(width, taken, place + 1, after)
    found = _rows(width, taken, place + 1, after)
    found += _rows(width, taken, place + 1, after | 1 << place)
    if place + 1 < width and not taken >> place + 1 & 1:
        found += _rows(width, taken, place + 2, after)
    return found
