import re

SYMBOLS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip


def convert_roman_numeral(value: str) -> dict:
    """Converts a Roman numeral to a number, or a number from 1 to 3999 to a Roman numeral.

    Only the standard form is accepted: at most three equal symbols in a row, and the pairs IV, IX, XL, XC, CD and CM.
    So IIII, VX and IC are refused.

    Also known as: Roman numbers, Latin numerals, int to roman, roman to int

    Args:
        value: A Roman numeral in upper or lower case (not mixed with digits), such as "MCMXCIV" or "mcmxciv", or
            a whole number from 1 to 3999 in the digits 0-9, such as "1994"; its leading zeros are ignored. Blanks
            around it are ignored.

    Returns:
        A dict with "number", the whole number from 1 to 3999, and "roman", the numeral in capital letters.

    Raises:
        ValueError: If the value is empty, is neither a whole number in the digits 0-9 nor made of the letters I, V, X,
            L, C, D and M, if a number is below 1 or above 3999, or if a numeral is not in the standard form.

    Examples:
        >>> convert_roman_numeral("xlii")
        {'number': 42, 'roman': 'XLII'}
        >>> convert_roman_numeral("2024")
        {'number': 2024, 'roman': 'MMXXIV'}
        >>> convert_roman_numeral("3999")
        {'number': 3999, 'roman': 'MMMCMXCIX'}
    """
    text = value.strip()
    if not text:
        raise ValueError("value is empty")
    if re.fullmatch(r"-?[0-9]+", text):
        shortened = text.lstrip("0")
        if text.startswith("-") or not shortened or len(shortened) > 4 or int(shortened) > 3999:
            raise ValueError(f"a Roman numeral stands for 1 to 3999, not {text[:20]}")
        number = int(shortened)
        return {"number": number, "roman": _to_roman(number)}
    if not re.fullmatch(r"[IVXLCDMivxlcdm]+", text):
        raise ValueError(f"neither a Roman numeral nor a whole number in digits: {text[:40]!r}")
    numeral = text.upper()
    number = _from_roman(numeral)
    if number > 3999 or _to_roman(number) != numeral:
        raise ValueError(f"not a Roman numeral in the standard form: {text[:40]!r}")
    return {"number": number, "roman": numeral}


def _to_roman(number: int) -> str:
    parts = []
    for worth, symbol in SYMBOLS:
        count, number = divmod(number, worth)
        parts.append(symbol * count)
    return "".join(parts)


def _from_roman(numeral: str) -> int:
    worths = {symbol: worth for worth, symbol in SYMBOLS}
    total = 0
    for symbol, following in zip(numeral, numeral[1:] + " "):
        worth = worths[symbol]
        total += -worth if worth < worths.get(following, 0) else worth
    return total
