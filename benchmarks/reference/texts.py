"""Strings and ciphers."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

from reference.question import of_kind, sole_best

string = of_kind("strings")
cipher = of_kind("ciphers")


@string(
    "easy",
    "dev",
    'Which letters occur exactly once in the sentence "{sentence}"? Ignore case and everything that is not '
    "a letter from a to z. Give them in alphabetical order as one lowercase string without separators.",
    {"sentence": "Pack my box with five dozen liquor jugs"},
    {"sentence": "The rain in Spain stays mainly in the plain"},
    {"sentence": "To be, or not to be: that is the question"},
    {"sentence": "We shall fight on the beaches!"},
)
def letters_once(sentence: str) -> str:
    lower = sentence.lower()
    return "".join(c for c in "abcdefghijklmnopqrstuvwxyz" if lower.count(c) == 1)


@string(
    "easy",
    "test",
    'How many vowels (a, e, i, o, u, in small or capital letters) are there in "{sentence}"?',
    {"sentence": "An old oak stood alone above the quiet river"},
    {"sentence": "Extra umbrellas are in the hall"},
    {"sentence": "Why try my gym?"},
    {"sentence": "Every evening Olivia organises unusual outdoor events"},
)
def vowel_count(sentence: str) -> int:
    return sum(c in "aeiou" for c in sentence.lower())


@string(
    "easy",
    "test",
    'Turn the letters of every word in "{sentence}" around, but leave the words in their places.',
    {"sentence": "small boats drift past quiet harbours"},
    {"sentence": "never odd or even"},
    {"sentence": "my neighbour keeps seven bees"},
    {"sentence": "winter is coming"},
)
def words_turned_around(sentence: str) -> str:
    return " ".join(word[::-1] for word in sentence.split())


@string(
    "medium",
    "dev",
    "Compress {text} by run-length encoding: every run of the same letter becomes the letter followed by "
    "the length of the run, but a run of length 1 becomes the letter alone.",
    {"text": "AAAABBBCCDAAEFFFFFFFFFFFF"},
    {"text": "WWWWBWWWW"},
    {"text": "XYZZY"},
    {"text": "GGGGGGGGGGGGGGGTTTACCCC"},
)
def run_lengths(text: str) -> str:
    runs = [(letter, len(list(run))) for letter, run in groupby(text)]
    return "".join(letter + (str(length) if length > 1 else "") for letter, length in runs)


@string(
    "medium",
    "test",
    'Which word occurs most often in this text: "{text}"? Ignore capitals and punctuation, and answer with '
    "the word in small letters.",
    {
        "text": "The cat saw the dog. The dog saw a bird, and the bird saw nothing: birds rarely look, "
        "but the cat and a dog do."
    },
    {"text": "Rain, rain, go away! We want sun; sun today, sun tomorrow, and no rain. Sun!"},
    {"text": "To be or not to be: be brave, be kind, to all."},
    {"text": "Tea? Tea. I drink tea in the morning, coffee at noon, and tea at night. I like it."},
)
def most_frequent_word(text: str) -> str:
    return sole_best(Counter(re.findall("[a-z]+", text.lower())))


@string(
    "hard",
    "dev",
    "A password is accepted only if all of this holds: it has at least {min_length} characters; it contains "
    "a capital letter, a small letter and a digit; no character stands three or more times in a row; and "
    "its digits add up to at most {max_digit_sum}. How many of these passwords are accepted: {candidates}?",
    {
        "candidates": [
            "Summer2024",
            "Bookkeeper1",
            "aaaBcdefg1",
            "Tr0ub4dor3",
            "qwertyuiop1",
            "Zz99Zz99Zz",
            "Green-Tea-21",
        ],
        "min_length": 10,
        "max_digit_sum": 16,
    },
    {
        "candidates": ["Lotto4all", "Kiwi5678", "Bravo777x", "Delta19", "Mango-3-2-1"],
        "min_length": 8,
        "max_digit_sum": 26,
    },
    {
        "candidates": ["Steel12", "eelPie22X", "Wheel99Spin", "Peelings9", "hello7world", "Xyz123abc"],
        "min_length": 8,
        "max_digit_sum": 8,
    },
    {
        "candidates": ["Noooops1Ab", "Rainy5Day6", "Quiet000Sea", "Lamp31x", "nocapital1", "Lamp31xyz"],
        "min_length": 8,
        "max_digit_sum": 10,
    },
)
def accepted_passwords(candidates: list[str], min_length: int, max_digit_sum: int) -> int:
    accepted = 0
    for word in candidates:
        digits = [int(c) for c in word if c.isdigit()]
        upper, lower = any(c.isupper() for c in word), any(c.islower() for c in word)
        triple = any(len(list(run)) >= 3 for _, run in groupby(word))
        long, light = len(word) >= min_length, sum(digits) <= max_digit_sum
        accepted += long and upper and lower and bool(digits) and light and not triple
    return accepted


@string(
    "hard",
    "test",
    'Translate "{sentence}" into Pig Latin, word by word, with these rules. The vowels are a, e, i, o, u. A '
    "word that begins with a vowel gets way at its end. In any other word, all the letters before its first "
    "vowel are moved to its end, followed by ay; but a u directly after a q is not regarded as a vowel and "
    "is moved along with the q.",
    {"sentence": "the queen eats three square apples"},
    {"sentence": "quick students open yellow boxes"},
    {"sentence": "our school requires quiet in spring"},
    {"sentence": "squirrels hide under strong branches"},
)
def pig_latin(sentence: str) -> str:
    words = []
    for word in sentence.split():
        at = 0
        while word[at] not in "aeiou" or word[max(0, at - 1) : at + 1] == "qu":
            at += 1
        words.append(word[at:] + word[:at] + ("ay" if at else "way"))
    return " ".join(words)


def _shifted(text: str, shift: int) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(alphabet[(alphabet.index(c) + shift) % 26] if c in alphabet else c for c in text)


@cipher(
    "easy",
    "test",
    "A message was encrypted by moving every letter {shift} places forward in the alphabet, going on with A "
    'after Z; spaces were left alone. It reads "{message}". What was the original message?',
    {"message": _shifted("MEET ME AT THE OLD BRIDGE", 7), "shift": 7},
    {"message": _shifted("THE PARCEL ARRIVES FRIDAY", 19), "shift": 19},
    {"message": _shifted("JAZZ QUIZ", 3), "shift": 3},
    {"message": _shifted("NOTHING TO SEE HERE", 13), "shift": 13},
)
def caesar_original(message: str, shift: int) -> str:
    return _shifted(message, -shift)


@cipher(
    "medium",
    "test",
    'One digit of the card number "{number}" is unreadable and marked with a question mark. Which digit '
    "must it be for the whole number to pass the Luhn check (from the right, every second digit is doubled, "
    "9 is subtracted from results above 9, and the total must be a multiple of 10)?",
    {"number": "4539 1488 0?43 6467"},
    {"number": "6011 000? 9013 9424"},
    {"number": "3714 496353 9843?"},
    {"number": "?555 5555 5555 4444"},
)
def luhn_missing_digit(number: str) -> int:
    def passes(digits: str) -> bool:
        total = 0
        for place, digit in enumerate(reversed(digits)):
            value = int(digit) * (2 if place % 2 else 1)
            total += value - 9 if value > 9 else value
        return total % 10 == 0

    compact = number.replace(" ", "")
    return next(d for d in range(10) if passes(compact.replace("?", str(d))))


@cipher(
    "hard",
    "test",
    'Encrypt "{message}" by columnar transposition with the keyword {keyword}: leave out the spaces; write '
    "the letters row by row under the letters of the keyword; if the last row is not full, fill it with X; "
    "then read the columns from top to bottom, one after the other in the alphabetical order of their "
    "letters in the keyword. Answer with the capital letters without spaces.",
    {"message": "MEET ME AT THE OLD BRIDGE", "keyword": "ZEBRA"},
    {"message": "SEND MORE PAPER", "keyword": "LION"},
    {"message": "THE PARCEL ARRIVES FRIDAY", "keyword": "SHADOW"},
    {"message": "NOTHING TO SEE HERE", "keyword": "CAT"},
)
def columnar_transposition(message: str, keyword: str) -> str:
    letters = message.replace(" ", "")
    width = len(keyword)
    while len(letters) % width:
        letters += "X"
    encrypted = ""
    for letter in sorted(keyword):
        encrypted += letters[keyword.index(letter) :: width]
    return encrypted
