import unicodedata

MAX_LENGTH = 1000


def string_similarity(first: str, second: str, ignore_case: bool = False) -> dict:
    """Measures how similar two strings are: Levenshtein, Damerau-Levenshtein, Jaro and Jaro-Winkler.

    Characters are compared one by one after Unicode normalization (NFC), so "é" equals "e" with a combining accent.
    Blanks and punctuation count.

    Also known as: fuzzy matching, edit distance, string distance, name similarity, typo distance

    Args:
        first: One string, at most 1000 characters; may be empty.
        second: The other string, at most 1000 characters; may be empty.
        ignore_case: Whether capital and small letters count as equal (by Unicode case folding).

    Returns:
        A dict with
        "levenshtein_distance": the smallest number of characters inserted, deleted or replaced,
        "levenshtein_similarity": 1 - distance / length of the longer string,
        "damerau_levenshtein_distance": the same with swaps of two adjacent characters as one edit, without restriction
        (characters may be inserted between swapped ones, so "ca" to "abc" takes 2),
        "damerau_levenshtein_similarity": 1 - that distance / length of the longer string,
        "jaro_similarity", and
        "jaro_winkler_similarity": jaro + 0.1 * p * (1 - jaro), where p is the length of the common prefix, at most 4
        (added for any value of jaro).
        Similarities are from 0 (nothing in common) to 1 (equal), rounded to 6 digits. Two empty strings have
        similarity 1; an empty and another string have 0.

    Raises:
        ValueError: If a string is longer than 1000 characters.

    Examples:
        >>> string_similarity("kitten", "sitting")["levenshtein_distance"]
        3
        >>> string_similarity("kitten", "sitting")["levenshtein_similarity"]
        0.571429
        >>> string_similarity("MARTHA", "MARHTA")["damerau_levenshtein_distance"]
        1
        >>> string_similarity("MARTHA", "MARHTA")["jaro_winkler_similarity"]
        0.961111
        >>> string_similarity("ca", "abc")["damerau_levenshtein_distance"]
        2
        >>> string_similarity("DIXON", "Dicksonx", ignore_case=True)
        {'levenshtein_distance': 4, 'levenshtein_similarity': 0.5, 'damerau_levenshtein_distance': 4, 'damerau_levenshtein_similarity': 0.5, 'jaro_similarity': 0.766667, 'jaro_winkler_similarity': 0.813333}
        >>> string_similarity("Pe\u0301ter", "p\u00e9tre")
        {'levenshtein_distance': 3, 'levenshtein_similarity': 0.4, 'damerau_levenshtein_distance': 2, 'damerau_levenshtein_similarity': 0.6, 'jaro_similarity': 0.783333, 'jaro_winkler_similarity': 0.783333}
    """
    a, b = _prepare("first", first, ignore_case), _prepare("second", second, ignore_case)
    longest = max(len(a), len(b))
    plain, swapping = _levenshtein(a, b), _damerau_levenshtein(a, b)
    jaro = _jaro(a, b)
    prefix = 0
    while prefix < min(4, len(a), len(b)) and a[prefix] == b[prefix]:
        prefix += 1
    return {
        "levenshtein_distance": plain,
        "levenshtein_similarity": round(1 - plain / longest, 6) if longest else 1.0,
        "damerau_levenshtein_distance": swapping,
        "damerau_levenshtein_similarity": round(1 - swapping / longest, 6) if longest else 1.0,
        "jaro_similarity": round(jaro, 6),
        "jaro_winkler_similarity": round(jaro + 0.1 * prefix * (1 - jaro), 6),
    }


def _prepare(name: str, text: str, ignore_case: bool) -> str:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{name} has {len(text)} characters; at most {MAX_LENGTH} are accepted")
    return unicodedata.normalize("NFC", text.casefold() if ignore_case else text)


def _levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        above = row
        row = [i]
        for j, right in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (left != right)))
    return row[-1]


def _damerau_levenshtein(a: str, b: str) -> int:
    far = len(a) + len(b)
    # rows and columns 0 are a border that no swap can use; distances start at index 1
    table = [[far] * (len(b) + 2) for _ in range(len(a) + 2)]
    for i in range(len(a) + 1):
        table[i + 1][1] = i
    for j in range(len(b) + 1):
        table[1][j + 1] = j
    last_row: dict[str, int] = {}
    for i, left in enumerate(a, 1):
        last_column = 0
        for j, right in enumerate(b, 1):
            row, column = last_row.get(right, 0), last_column
            if left == right:
                last_column = j
            table[i + 1][j + 1] = min(
                table[i][j] + (left != right),
                table[i + 1][j] + 1,
                table[i][j + 1] + 1,
                table[row][column] + (i - row - 1) + 1 + (j - column - 1),
            )
        last_row[left] = i
    return table[len(a) + 1][len(b) + 1]


def _jaro(a: str, b: str) -> float:
    if a == b:
        return 1.0
    window = max(max(len(a), len(b)) // 2 - 1, 0)
    used = [False] * len(b)
    matched_a = []
    for i, char in enumerate(a):
        for j in range(max(0, i - window), min(len(b), i + window + 1)):
            if not used[j] and b[j] == char:
                used[j] = True
                matched_a.append(char)
                break
    matches = len(matched_a)
    if not matches:
        return 0.0
    matched_b = [char for j, char in enumerate(b) if used[j]]
    swaps = sum(left != right for left, right in zip(matched_a, matched_b)) / 2
    return (matches / len(a) + matches / len(b) + (matches - swaps) / matches) / 3
