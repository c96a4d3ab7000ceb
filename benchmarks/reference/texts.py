"""Strings and ciphers."""

from __future__ import annotations

from itertools import groupby

from reference.question import of_kind

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
    "Sort these words by how many vowels (a, e, i, o, u; count each occurrence) they contain, most vowels "
    "first; words with the same number of vowels in alphabetical order: {words}. Answer with the words "
    "separated by commas.",
    {"words": ["banana", "rhythm", "queue", "apple", "kiwi", "cherry", "education", "fig"]},
    {"words": ["stone", "oasis", "sky", "river", "ocean", "dune"]},
    {"words": ["violin", "cello", "oboe", "drum", "flute", "guitar", "harp"]},
    {"words": ["zebra", "ant", "iguana", "lynx", "eagle"]},
)
def words_by_vowels(words: list[str]) -> list[str]:
    return sorted(words, key=lambda word: (-sum(word.count(v) for v in "aeiou"), word))


@string(
    "hard",
    "dev",
    "The user {user} proposes these passwords: {candidates}. A password is accepted only if all of this "
    "holds: it has at least {min_length} characters; it contains a capital letter, a small letter and a "
    "digit; no character stands three or more times in a row; it does not contain the user name, neither "
    "forwards nor backwards, in any mixture of capitals; and its digits add up to at most {max_digit_sum}. "
    "Which ones are accepted? Answer in the given order, separated by commas.",
    {
        "user": "mira",
        "candidates": [
            "Summer2024",
            "xArim77Blue",
            "Bookkeeper1",
            "aaaBcdefg1",
            "Tr0ub4dor3",
            "qwertyuiop1",
            "Zz99Zz99Zz",
            "MiRaculous1",
            "Green-Tea-21",
        ],
        "min_length": 10,
        "max_digit_sum": 16,
    },
    {
        "user": "otto",
        "candidates": ["Lotto4all", "Kiwi5678", "Bravo777x", "Delta19", "Mango-3-2-1"],
        "min_length": 8,
        "max_digit_sum": 26,
    },
    {
        "user": "lee",
        "candidates": ["Steel12", "eelPie22X", "Wheel8Spin", "Peelings9", "hello7World", "Xyz123abc"],
        "min_length": 7,
        "max_digit_sum": 9,
    },
    {
        "user": "sam",
        "candidates": [
            "Samba2000",
            "Masonry44",
            "Oooops1Ab",
            "Rainy5Day6",
            "N0stalgia8",
            "Quiet000Sea",
            "Lamp31x",
        ],
        "min_length": 8,
        "max_digit_sum": 11,
    },
)
def accepted_passwords(user: str, candidates: list[str], min_length: int, max_digit_sum: int) -> list[str]:
    def accepted(word: str) -> bool:
        kinds = any(c.isupper() for c in word) and any(c.islower() for c in word)
        digits = [int(c) for c in word if c.isdigit()]
        triple = any(len(list(run)) >= 3 for _, run in groupby(word))
        named = user.lower() in word.lower() or user.lower()[::-1] in word.lower()
        return (
            len(word) >= min_length
            and kinds
            and bool(digits)
            and not triple
            and not named
            and sum(digits) <= max_digit_sum
        )

    return [word for word in candidates if accepted(word)]


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
    'Encrypt "{message}" with the Playfair cipher and the keyword {keyword}. The rules: drop spaces and '
    "treat J as I. Fill a 5x5 square row by row with the letters of the keyword without repetitions, then "
    "with the remaining letters of the alphabet in order (without J). Go through the message from left to "
    "right taking two letters at a time; if the two would be equal, put an X after the first and let the "
    "second begin the next pair; if one letter is left over at the end, add an X. Two letters in one row "
    "are each replaced by the letter to their right (after the last column comes the first); two in one "
    "column by the letter below (after the last row comes the first); otherwise each is replaced by the "
    "letter in its own row and in the column of the other. Answer with the encrypted capital letters "
    "without spaces.",
    {"message": "HIDE THE GOLD IN THE TREE STUMP", "keyword": "MONARCHY"},
    {"message": "BALLOON LIFTS AT NOON", "keyword": "LANTERN"},
    {"message": "JUST ONE COPPER KETTLE", "keyword": "WORKSHOP"},
    {"message": "SEND MORE PAPER", "keyword": "JUNGLE"},
)
def playfair_encrypted(message: str, keyword: str) -> str:
    square = "".join(dict.fromkeys(keyword.replace("J", "I") + "ABCDEFGHIKLMNOPQRSTUVWXYZ"))
    letters = [c for c in message.replace("J", "I") if c.isalpha()]
    encrypted = ""
    while letters:
        first = letters.pop(0)
        second = letters.pop(0) if letters and letters[0] != first else "X"
        row_1, column_1 = divmod(square.index(first), 5)
        row_2, column_2 = divmod(square.index(second), 5)
        if row_1 == row_2:
            column_1, column_2 = (column_1 + 1) % 5, (column_2 + 1) % 5
        elif column_1 == column_2:
            row_1, row_2 = (row_1 + 1) % 5, (row_2 + 1) % 5
        else:
            column_1, column_2 = column_2, column_1
        encrypted += square[row_1 * 5 + column_1] + square[row_2 * 5 + column_2]
    return encrypted
