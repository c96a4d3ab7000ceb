import unicodedata
from typing import Literal


def find_similar_strings(
    text: str,
    candidates: list[str],
    method: Literal["jaro_winkler", "levenshtein", "tokens"] = "jaro_winkler",
    limit: int = 5,
    min_similarity: float = 0.0,
    ignore_case: bool = True,
) -> list[dict]:
    """Finds the strings in a list that are most similar to a given one, such as names with typing errors.

    Also known as: fuzzy search, fuzzy matching, did you mean, closest match, approximate matching, record linkage, spelling suggestion

    Args:
        text: The string to look for; may be empty.
        candidates: The strings to choose from, at least one.
        method: The measure of similarity, from 0 (nothing in common) to 1 (equal):
            "jaro_winkler" suits names and single words: Jaro similarity plus 0.1 * p * (1 - Jaro), p being the length
            of the common beginning, at most 4;
            "levenshtein" suits codes and phrases: 1 - (the smallest number of characters inserted, deleted or replaced)
            / (the length of the longer string);
            "tokens" suits words in any order: the number of words that both have divided by the number of words that
            either has (Jaccard), each counted once; a word is what stands between white space.
            Two empty strings (without words for "tokens") have 1, an empty and another one 0.
        limit: The largest number of results, 1 or more.
        min_similarity: Less similar candidates are left out, 0 to 1.
        ignore_case: Whether capital and small letters count as equal. Accents count; ways to write them do not (Unicode
            NFC).

    Returns:
        A list of dicts with "candidate" (as given), "index" (its position in the list, from 0) and "similarity"
        (rounded to 6 digits), the most similar first, and those of equal rounded similarity in the order of the list.

    Raises:
        ValueError: If there are no candidates, if `limit` is below 1, or if `min_similarity` is not 0 to 1.

    Examples:
        >>> find_similar_strings("Marhta", ["Bertha", "MARTHA", "Mark"], limit=1)
        [{'candidate': 'MARTHA', 'index': 1, 'similarity': 0.961111}]
        >>> find_similar_strings("kitten", ["sitting", "kitten", "bitten"], "levenshtein")
        [{'candidate': 'kitten', 'index': 1, 'similarity': 1.0}, {'candidate': 'bitten', 'index': 2, 'similarity': 0.833333}, {'candidate': 'sitting', 'index': 0, 'similarity': 0.571429}]
        >>> find_similar_strings("red big car", ["big red car", "a red car red", "boat"], "tokens", min_similarity=0.5)
        [{'candidate': 'big red car', 'index': 0, 'similarity': 1.0}, {'candidate': 'a red car red', 'index': 1, 'similarity': 0.5}]
        >>> find_similar_strings("DIXON", ["Dicksonx", "dixon"], ignore_case=False)
        [{'candidate': 'Dicksonx', 'index': 0, 'similarity': 0.4975}, {'candidate': 'dixon', 'index': 1, 'similarity': 0.0}]
        >>> find_similar_strings("DIXON", ["Dicksonx"])
        [{'candidate': 'Dicksonx', 'index': 0, 'similarity': 0.813333}]
        >>> find_similar_strings("", ["a", ""], "levenshtein")
        [{'candidate': '', 'index': 1, 'similarity': 1.0}, {'candidate': 'a', 'index': 0, 'similarity': 0.0}]
        >>> find_similar_strings(" ", ["a", ""], "tokens")
        [{'candidate': '', 'index': 1, 'similarity': 1.0}, {'candidate': 'a', 'index': 0, 'similarity': 0.0}]
        >>> find_similar_strings("abcdef", ["abcdeg", "abcxyz", "abcdeg"], "levenshtein", limit=2)
        [{'candidate': 'abcdeg', 'index': 0, 'similarity': 0.833333}, {'candidate': 'abcdeg', 'index': 2, 'similarity': 0.833333}]
        >>> find_similar_strings("a", [])
        Traceback (most recent call last):
        ...
        ValueError: candidates is empty
        >>> find_similar_strings("a", ["b"], limit=0)
        Traceback (most recent call last):
        ...
        ValueError: limit must be 1 or more, not 0
        >>> find_similar_strings("a", ["b"], min_similarity=1.5)
        Traceback (most recent call last):
        ...
        ValueError: min_similarity must be 0 to 1, not 1.5
    """
    if not candidates:
        raise ValueError("candidates is empty")
    if limit < 1:
        raise ValueError(f"limit must be 1 or more, not {limit}")
    if not 0 <= min_similarity <= 1:
        raise ValueError(f"min_similarity must be 0 to 1, not {min_similarity}")
    measure = {"jaro_winkler": _jaro_winkler, "levenshtein": _levenshtein, "tokens": _tokens}[method]
    wanted = _plain(text, ignore_case)
    found = []
    for index, candidate in enumerate(candidates):
        similarity = round(measure(wanted, _plain(candidate, ignore_case)), 6)
        if similarity >= min_similarity:
            found.append({"candidate": candidate, "index": index, "similarity": similarity})
    found.sort(key=lambda item: item["similarity"], reverse=True)
    return found[:limit]


def _plain(text: str, ignore_case: bool) -> str:
    return unicodedata.normalize("NFC", text.casefold() if ignore_case else text)


def _tokens(a: str, b: str) -> float:
    left, right = set(a.split()), set(b.split())
    return len(left & right) / len(left | right) if left or right else 1.0


def _levenshtein(a: str, b: str) -> float:
    if a == b:
        return 1.0
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        above = row
        row = [i]
        for j, right in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (left != right)))
    return 1 - row[-1] / max(len(a), len(b))


def _jaro_winkler(a: str, b: str) -> float:
    jaro = _jaro(a, b)
    prefix = 0
    for left, right in zip(a[:4], b[:4]):
        if left != right:
            break
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro)


def _jaro(a: str, b: str) -> float:
    if a == b:
        return 1.0
    window = max(max(len(a), len(b)) // 2 - 1, 0)
    used = [False] * len(b)
    matched = []
    for i, char in enumerate(a):
        for j in range(max(0, i - window), min(len(b), i + window + 1)):
            if not used[j] and b[j] == char:
                used[j] = True
                matched.append(char)
                break
    if not matched:
        return 0.0
    others = [char for j, char in enumerate(b) if used[j]]
    swaps = sum(left != right for left, right in zip(matched, others)) / 2
    count = len(matched)
    return (count / len(a) + count / len(b) + (count - swaps) / count) / 3
