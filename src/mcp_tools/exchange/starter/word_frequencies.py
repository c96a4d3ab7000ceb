import re
import unicodedata
from collections import Counter
from typing import Literal

MAX_LENGTH = 5_000_000
ENGLISH = frozenset(
    "a about above after again against all also am an and any are as at be because been before being below between both but by "
    "can could did do does doing down during each few for from further had has have having he her here hers herself him himself "
    "his how i if in into is it its itself just may me might more most must my myself no nor not now of off on once only or "
    "other our ours ourselves out over own same shall she should so some such than that the their theirs them themselves then "
    "there these they this those through to too under until up very was we were what when where which while who whom why will "
    "with would you your yours yourself yourselves "
    "aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he'd he'll he's i'd i'll i'm i've isn't it's let's "
    "mustn't shan't she'd she'll she's shouldn't that's there's they'd they'll they're they've wasn't we'd we'll we're we've "
    "weren't what's where's who's why's won't wouldn't you'd you'll you're you've".split()
)


def word_frequencies(
    text: str,
    ngram_size: int = 1,
    top: int = 20,
    stop_words: Literal["none", "english"] = "none",
    extra_stop_words: list[str] | None = None,
    ignore_case: bool = True,
    min_length: int = 1,
) -> dict:
    """Counts how often words, or sequences of words (n-grams), occur in a text.

    A word is a run of letters and digits of any script, also with single apostrophes or hyphens inside ("don't",
    "well-known",
    "2024"). Curly apostrophes count as straight ones. Scripts without spaces, such as Chinese, are not split into
    words.

    Also known as: word count, most common words, bigrams, trigrams, collocations, keyword frequency, bag of words, term frequency

    Args:
        text: The text, at most 5000000 characters; may be empty.
        ngram_size: The number of adjacent words that are counted together: 1 for words, 2 for pairs (bigrams), up to
            10. Such sequences go across punctuation and line ends.
        top: The largest number of results, 1 or more.
        stop_words: "english" leaves out frequent English words such as "the", "of" and "don't". A sequence is left out
            if one of its words is a stop word; its neighbours do not become adjacent.
        extra_stop_words: Further words to leave out. Stop words apply in capital and small letters alike.
        ignore_case: Whether words that differ by capital letters only are counted together, in small letters.
        min_length: The smallest number of characters of a word, 1 or more; shorter ones are treated like stop words.

    Returns:
        A dict with "total_words" (all words of the text), "counted" (the words or sequences that were not left out),
        "distinct" (how many of them differ) and "top", a list of dicts with "text" (words joined by one blank), "count"
        and "share" (count / counted, rounded to 6 digits), the most frequent first, and those of equal count in the order
        of their first occurrence.

    Raises:
        ValueError: If the text is too long, if `ngram_size` is not 1 to 10, or if `top` or `min_length` is below 1.

    Examples:
        >>> word_frequencies("The cat and the dog.", top=1)["top"]
        [{'text': 'the', 'count': 2, 'share': 0.4}]
        >>> word_frequencies("To be or not to be", ngram_size=2, top=1)
        {'total_words': 6, 'counted': 5, 'distinct': 4, 'top': [{'text': 'to be', 'count': 2, 'share': 0.4}]}
        >>> word_frequencies("The cat and the dog.", stop_words="english")["counted"]
        2
        >>> word_frequencies("Don\u2019t stop, don't! Well-known stops", extra_stop_words=["STOPS"], min_length=5)
        {'total_words': 5, 'counted': 3, 'distinct': 2, 'top': [{'text': "don't", 'count': 2, 'share': 0.666667}, {'text': 'well-known', 'count': 1, 'share': 0.333333}]}
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"text has {len(text)} characters; at most {MAX_LENGTH} are accepted")
    if not 1 <= ngram_size <= 10:
        raise ValueError(f"ngram_size must be 1 to 10, not {ngram_size}")
    for name, value in (("top", top), ("min_length", min_length)):
        if value < 1:
            raise ValueError(f"{name} must be 1 or more, not {value}")
    words = _words(text)
    left_out = {_plain(word).lower() for word in extra_stop_words or []} | (
        ENGLISH if stop_words == "english" else set()
    )
    kept = [len(word) >= min_length and word.lower() not in left_out for word in words]
    shown = [word.lower() for word in words] if ignore_case else words
    counts: Counter[str] = Counter()
    for start in range(len(words) - ngram_size + 1):
        if all(kept[start : start + ngram_size]):
            counts[" ".join(shown[start : start + ngram_size])] += 1
    counted = counts.total()
    return {
        "total_words": len(words),
        "counted": counted,
        "distinct": len(counts),
        "top": [
            {"text": text, "count": count, "share": round(count / counted, 6)}
            for text, count in counts.most_common(top)
        ],
    }


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("\u2019", "'")


def _words(text: str) -> list[str]:
    """Finds the words, with the vowel signs and accents that some scripts write as characters of their own."""
    plain = _plain(text)
    marks = "".join(char for char in set(plain) if unicodedata.category(char).startswith("M"))
    letter = rf"(?:[^\W_][{re.escape(marks)}]*)" if marks else r"[^\W_]"
    return re.findall(rf"{letter}+(?:['-]{letter}+)*", plain)
