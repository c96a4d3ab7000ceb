import re
from fractions import Fraction

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PREFIXES = {2: "0B", 8: "0O", 16: "0X"}
MAX_LENGTH = 4000


def convert_number_base(number: str, from_base: int, to_base: int, max_fraction_digits: int = 100) -> dict:
    """Converts a whole or fractional number from one base (radix) to another, exactly.

    Digits above 9 are the letters A to Z (A is 10, Z is 35). A fraction that does not end in the new base is written
    with its repeating digits in parentheses, so one third in base 10 is "0.(3)". Such a number is also accepted.

    Also known as: radix conversion, base conversion, binary to decimal, hex to decimal, octal, base 36

    Args:
        number: The number in `from_base`: an optional sign, then digits 0-9, A-Z or a-z, with an optional point and
            fraction digits, of which the last ones may be in parentheses because they repeat. At least one digit is
            needed; ".8" and "8." are accepted. The prefixes 0b (base 2), 0o (base 8) and 0x (base 16) are accepted if
            they fit `from_base`. Blanks around the number are ignored. At most 4000 characters.
        from_base: The base of `number`, 2 to 36.
        to_base: The base of the result, 2 to 36.
        max_fraction_digits: The largest number of digits after the point that are worked out, 0 to 10000. Further
            digits are cut off, not rounded.

    Returns:
        A dict with "number", the number in `to_base` with capital letters, without a prefix, a plus sign, leading zeros
        (one zero stands before a point) or a point with nothing after it; and "exact", false if digits were cut off.
        Zero has no minus sign.

    Raises:
        ValueError: If a base is not 2 to 36, if `max_fraction_digits` is not 0 to 10000, if the number is empty or
            too long, is not written as described, or has a digit that is not below `from_base`.

    Examples:
        >>> convert_number_base("ff", 16, 2)
        {'number': '11111111', 'exact': True}
        >>> convert_number_base("-0.1", 3, 10)
        {'number': '-0.(3)', 'exact': True}
        >>> convert_number_base("0.(3)", 10, 3)
        {'number': '0.1', 'exact': True}
        >>> convert_number_base("0.1", 10, 2, max_fraction_digits=3)
        {'number': '0.000', 'exact': False}
    """
    for name, base in (("from_base", from_base), ("to_base", to_base)):
        if not 2 <= base <= 36:
            raise ValueError(f"{name} must be 2 to 36, not {base}")
    if not 0 <= max_fraction_digits <= 10000:
        raise ValueError(f"max_fraction_digits must be 0 to 10000, not {max_fraction_digits}")
    value = _parse(number, from_base)
    sign = "-" if value < 0 else ""
    whole, rest = divmod(abs(value), 1)
    digits, exact = _fraction_digits(rest, to_base, max_fraction_digits)
    text = _whole_digits(int(whole), to_base) + ("." + digits if digits else "")
    if not re.search("[1-9A-Z]", text):
        sign = ""
    return {"number": sign + text, "exact": exact}


def _parse(number: str, base: int) -> Fraction:
    text = number.strip()
    if not text:
        raise ValueError("number is empty")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"number has {len(text)} characters; at most {MAX_LENGTH} are accepted")
    if not text.isascii():
        raise ValueError(f"number may have only a sign, digits 0-9, letters A-Z, a point and parentheses: {number!r}")
    text = text.upper()
    sign = -1 if text[0] == "-" else 1
    text = text[1:] if text[0] in "+-" else text
    if base in PREFIXES and text.startswith(PREFIXES[base]):
        text = text[2:]
    match = re.fullmatch(r"([0-9A-Z]*)(?:\.([0-9A-Z]*)(?:\(([0-9A-Z]+)\))?)?", text)
    if match is None or not any(match.groups()):
        raise ValueError(f"not a number in digits and letters: {number!r}")
    whole, fixed, repeated = (group or "" for group in match.groups())
    for digit in whole + fixed + repeated:
        if DIGITS.index(digit) >= base:
            raise ValueError(f"{digit!r} is not a digit of base {base} in {number!r}")
    value = Fraction(int(whole + fixed or "0", base), base ** len(fixed))
    if repeated:
        value += Fraction(int(repeated, base), base ** len(fixed) * (base ** len(repeated) - 1))
    return sign * value


def _whole_digits(value: int, base: int) -> str:
    found = []
    while value:
        value, digit = divmod(value, base)
        found.append(DIGITS[digit])
    return "".join(reversed(found)) or "0"


def _fraction_digits(rest: Fraction, base: int, limit: int) -> tuple[str, bool]:
    remainder, divisor = rest.numerator, rest.denominator
    seen: dict[int, int] = {}
    found: list[str] = []
    while remainder and remainder not in seen and len(found) < limit:
        seen[remainder] = len(found)
        digit, remainder = divmod(remainder * base, divisor)
        found.append(DIGITS[digit])
    text = "".join(found)
    if not remainder:
        return text, True
    if remainder in seen:
        start = seen[remainder]
        return f"{text[:start]}({text[start:]})", True
    return text, False
