import math
import re
import unicodedata

MAX_LENGTH = 1_000_000
WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
SENTENCE_END = re.compile("[.!?\u2026]+(?=[\\s\"')\\]\u2019\u201d]|$)")
SILENT_ENDING = re.compile(
    "(?:[^aeiouyl]|[aeiouylr]l)e$|(?:[^aeiouylcghsxz]|[aeiouylr]l)es$|(?:[^aeiouyldt]|[aeiouylr]l)ed$"
)


def english_readability(text: str) -> dict:
    """Rates how hard an English text is to read: Flesch reading ease, Flesch-Kincaid, Gunning fog, SMOG and others.

    The counts follow simple rules, so other programs may differ a little:
    - A word is a run of letters, with apostrophes or hyphens between letters: "don't" and "well-known" are one word
      each. Numbers are no words.
    - A sentence ends at one or more of . ! ? … before white space, a closing quote or bracket, or the end of the text.
      "3.14" ends no sentence; "Dr. Who" ends one. Parts without a word are not counted; words after the last end are a
      sentence.
    - The syllables of a word are its runs of the letters a, e, i, o, u, y, at least one. An ending -e, -es or -ed after
      a consonant is silent and not counted (hope, hopes, hoped, whale: 1), except after an l that follows a consonant
      other than l and r (table, tables, titled: 2), -es after c, g, h, s, x or z (boxes: 2), and -ed after d or t
      (wanted: 2). Parts between hyphens count by themselves; apostrophes are left out first.

    Also known as: reading level, reading ease, grade level, Flesch-Kincaid, fog index, text difficulty

    Args:
        text: The English text, with at least one word, at most 1000000 characters.

    Returns:
        A dict with the counts "sentences" (S), "words" (W), "syllables" (Y), "letters" (L, without hyphens and
        apostrophes) and "complex_words" (C, of three or more syllables), and the scores, rounded to 4 digits:
        "flesch_reading_ease" = 206.835 - 1.015 * W / S - 84.6 * Y / W (higher is easier; 60 to 70 is plain English),
        "flesch_kincaid_grade" = 0.39 * W / S + 11.8 * Y / W - 15.59,
        "gunning_fog" = 0.4 * (W / S + 100 * C / W),
        "smog" = 1.043 * sqrt(30 * C / S) + 3.1291 (meant for texts of 30 sentences or more),
        "coleman_liau" = 5.88 * L / W - 29.6 * S / W - 15.8,
        "automated_readability_index" = 4.71 * L / W + 0.5 * W / S - 21.43.
        All scores but the first are years of school in the United States.

    Raises:
        ValueError: If the text has no word, or if it is longer than 1000000 characters.

    Examples:
        >>> english_readability("We wanted a table. Hoped!")["syllables"]
        7
        >>> english_readability("We wanted a table. Hoped!")["flesch_reading_ease"]
        85.8575
        >>> english_readability("The cat sat on the mat.")["flesch_kincaid_grade"]
        -1.45
        >>> english_readability("A beautiful day")["complex_words"]
        1
        >>> english_readability("We wanted 3 boxed tables. Dr. Who, don't!")
        {'sentences': 3, 'words': 7, 'syllables': 9, 'letters': 28, 'complex_words': 0, 'flesch_reading_ease': 95.6952, 'flesch_kincaid_grade': 0.4914, 'gunning_fog': 0.9333, 'smog': 3.1291, 'coleman_liau': -4.9657, 'automated_readability_index': -1.4233}
        >>> english_readability("Well-known hopes (and whales)? Titled boxes... hop\u2026")
        {'sentences': 3, 'words': 7, 'syllables': 10, 'letters': 37, 'complex_words': 0, 'flesch_reading_ease': 83.6095, 'flesch_kincaid_grade': 2.1771, 'gunning_fog': 0.9333, 'smog': 3.1291, 'coleman_liau': 2.5943, 'automated_readability_index': 4.6324}
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"text has {len(text)} characters; at most {MAX_LENGTH} are accepted")
    text = unicodedata.normalize("NFC", text)
    words = WORD.findall(text)
    if not words:
        raise ValueError("text has no word")
    sentences = sum(WORD.search(part) is not None for part in SENTENCE_END.split(text))
    counts = [_syllables(word) for word in words]
    word_count, syllables = len(words), sum(counts)
    letters = sum(char.isalpha() for word in words for char in word)
    complex_words = sum(count >= 3 for count in counts)
    length, weight, size = word_count / sentences, syllables / word_count, letters / word_count
    scores = {
        "flesch_reading_ease": 206.835 - 1.015 * length - 84.6 * weight,
        "flesch_kincaid_grade": 0.39 * length + 11.8 * weight - 15.59,
        "gunning_fog": 0.4 * (length + 100 * complex_words / word_count),
        "smog": 1.043 * math.sqrt(30 * complex_words / sentences) + 3.1291,
        "coleman_liau": 5.88 * size - 29.6 * sentences / word_count - 15.8,
        "automated_readability_index": 4.71 * size + 0.5 * length - 21.43,
    }
    return {
        "sentences": sentences,
        "words": word_count,
        "syllables": syllables,
        "letters": letters,
        "complex_words": complex_words,
    } | {name: round(score, 4) for name, score in scores.items()}


def _syllables(word: str) -> int:
    return sum(_part_syllables(part) for part in word.lower().split("-"))


def _part_syllables(part: str) -> int:
    """Counts the syllables between two hyphens; an accent keeps a last e from being silent."""
    plain = unicodedata.normalize("NFD", part.replace("'", "").replace("\u2019", ""))
    count = len(re.findall("[aeiouy]+", plain))
    if SILENT_ENDING.search(plain):
        count -= 1
    return max(count, 1)
