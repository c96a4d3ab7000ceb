import re
from typing import Literal

IBAN_LENGTHS = dict(
    re.findall(
        "([A-Z]{2})([0-9]{2})",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
        "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
        "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
        "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30",
    )
)
LENGTHS = {"isbn10": 10, "isbn13": 13, "ean8": 8, "ean13": 13, "upca": 12}


def check_digits(
    number: str,
    scheme: Literal["luhn", "isbn10", "isbn13", "ean8", "ean13", "upca", "iban"],
    compute: bool = False,
) -> dict:
    """Checks or computes the check digits of a card number (Luhn), ISBN, EAN (GTIN), UPC or IBAN.

    This finds typing errors. It does not tell whether the card, book, article or account exists.

    Also known as: checksum, mod 10, Luhn algorithm, credit card number, barcode, GTIN, IMEI, bank account number, mod 97, is this ISBN, IBAN or card number valid

    Args:
        number: The number with its check digits or, if `compute` is true, without them. Blanks and hyphens in it are
            ignored. "luhn" takes 1 to 100 digits without the check digit; "isbn10" 9 digits and the check digit 0-9 or
            X (or x) for ten; "isbn13" 13 digits that begin with 978 or 979; "ean8" 8, "ean13" 13 and "upca" 12 digits;
            "iban" two letters of the country, two check digits, and the rest in letters (small ones count as capital)
            and digits, in all as long as the country prescribes. To compute those of an IBAN, leave the two digits
            out: "DE" and the 18 digits that follow.
        scheme: The kind of number.
        compute: Whether the check digits are missing and wanted.

    Returns:
        A dict with "valid", whether the check digits are right (true if `compute`); "check_digits", the right ones as
        text; and "number", the number with the check digits as given (the right ones if `compute`), without blanks and
        hyphens, in capital letters.

    Raises:
        ValueError: If the number is empty, has a character that does not belong into such a number, or has a wrong
            length or beginning; if a country of an IBAN is unknown.

    Examples:
        >>> check_digits("4111 1111 1111 1111", "luhn")
        {'valid': True, 'check_digits': '1', 'number': '4111111111111111'}
        >>> check_digits("0-306-40615-3", "isbn10")
        {'valid': False, 'check_digits': '2', 'number': '0306406153'}
        >>> check_digits("400638133393", "ean13", compute=True)
        {'valid': True, 'check_digits': '1', 'number': '4006381333931'}
        >>> check_digits("GB82 WEST 1234 5698 7654 32", "iban")
        {'valid': True, 'check_digits': '82', 'number': 'GB82WEST12345698765432'}
        >>> check_digits("DE370400440532013000", "iban", compute=True)
        {'valid': True, 'check_digits': '89', 'number': 'DE89370400440532013000'}
        >>> check_digits("hn02516247092028980682123019", "iban")
        {'valid': True, 'check_digits': '02', 'number': 'HN02516247092028980682123019'}
        >>> check_digits("YE75 CBYE 0001 0188 6123 4501 2345 67", "iban")
        {'valid': True, 'check_digits': '75', 'number': 'YE75CBYE0001018861234501234567'}
    """
    text = re.sub(r"[\s-]", "", number).upper()
    if not text:
        raise ValueError("number is empty")
    if not text.isascii():
        raise ValueError(f"{scheme}: {text[:40]!r} has a character beyond ASCII")
    if scheme == "iban":
        return _iban(text, compute)
    body, given = (text, "") if compute else (text[:-1], text[-1])
    _require_form(scheme, text, body, given)
    right = _last_digit(scheme, body)
    return {"valid": compute or given == right, "check_digits": right, "number": body + (given or right)}


def _require_form(scheme: str, text: str, body: str, given: str) -> None:
    wanted = "[0-9X]?" if scheme == "isbn10" else "[0-9]?"
    if not re.fullmatch("[0-9]*", body) or not re.fullmatch(wanted, given):
        raise ValueError(f"{scheme}: {text[:40]!r} has a character that does not belong there")
    if scheme == "luhn":
        if not 1 <= len(body) <= 100:
            raise ValueError(f"luhn: 1 to 100 digits and the check digit are needed, not {len(body)} and it")
    elif len(body) != LENGTHS[scheme] - 1:
        raise ValueError(
            f"{scheme}: {LENGTHS[scheme] - 1} digits and the check digit are needed, not {len(body)} and it"
        )
    if scheme == "isbn13" and not body.startswith(("978", "979")):
        raise ValueError(f"isbn13: must begin with 978 or 979, not {body[:3]}")


def _last_digit(scheme: str, body: str) -> str:
    digits = [int(char) for char in reversed(body)]
    if scheme == "isbn10":
        rest = -sum(weight * digit for weight, digit in enumerate(digits, 2)) % 11
        return "X" if rest == 10 else str(rest)
    if scheme == "luhn":
        doubled = [sum(divmod(2 * digit, 10)) if i % 2 == 0 else digit for i, digit in enumerate(digits)]
        return str(-sum(doubled) % 10)
    return str(-sum(digit * (3 if i % 2 == 0 else 1) for i, digit in enumerate(digits)) % 10)


def _iban(text: str, compute: bool) -> dict:
    country, given, rest = (text[:2], "", text[2:]) if compute else (text[:2], text[2:4], text[4:])
    if country not in IBAN_LENGTHS:
        raise ValueError(f"iban: unknown country {country!r}")
    if not re.fullmatch("[A-Z0-9]*", rest) or not re.fullmatch("[0-9]*", given):
        raise ValueError(f"iban: {text[:40]!r} has a character that does not belong there")
    length = int(IBAN_LENGTHS[country]) - 2 * compute
    if len(text) != length:
        raise ValueError(f"iban: {country} needs {length} characters here, not {len(text)}")
    figures = "".join(str(int(char, 36)) for char in rest + country + "00")
    right = f"{98 - int(figures) % 97:02}"
    return {"valid": compute or given == right, "check_digits": right, "number": country + (given or right) + rest}
