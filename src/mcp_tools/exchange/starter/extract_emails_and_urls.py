import re
from typing import Literal

EMAIL = re.compile(
    r"(?<![\w.%+@-])[A-Za-z0-9_%+-]+(?:\.[A-Za-z0-9_%+-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?![\w@-]|\.[^\W_])"
)
URL = re.compile(r"(?<![\w@/.-])((?:https?|ftp)://|www\.)[^\s<>\"`{}|\\^]+", re.IGNORECASE)
SITE = re.compile(r"(?:[a-z]+://)?[^/?#]*", re.IGNORECASE)


def extract_emails_and_urls(
    text: str, kind: Literal["both", "email", "url"] = "both", unique: bool = True
) -> list[dict]:
    """Extracts the e-mail addresses and web addresses (URLs) that stand in a text.

    - An e-mail address has ASCII letters, digits and _ % + -, with single points between them, before the "@", and
      after it two or more labels of ASCII letters, digits and inner hyphens, with points between them, the last label
      of two or more letters. It must not go on at either end: no letter, digit, _ or - of any script and no @ stands
      next to it, no % + or point before it, and no point with a letter or digit behind it follows.
    - A URL begins with http://, https://, ftp:// or www. (in upper or lower case), not directly after a letter, digit
      or one of _ @ / . - and goes on up to white space or one of < > " ` { } | \\ ^. From its end, the characters . , ;
      : ! ? ' * are taken off, and so is a bracket ) or ] as long as the URL has fewer opening than closing ones of its
      kind. Something must be left after the beginning. E-mail addresses inside a URL are not listed.

    Also known as: find links, find e-mail addresses, URL extraction, scrape contacts, hyperlinks, linkify, web addresses

    Args:
        text: Any text, such as a message, a page or a log; may be empty.
        kind: The addresses to find: "email", "url" or "both".
        unique: Whether an address that was found before is left out. In this, capital letters count as small ones in
            all of an e-mail address, and in the scheme and host of a URL.

    Returns:
        A list of dicts in the order of the text, each with "kind" ("email" or "url"), "value" (the address as it stands
        in the text) and "start" (the position of its first character, from 0).

    Raises:
        ValueError: If `kind` is none of "both", "email" and "url".

    Examples:
        >>> extract_emails_and_urls("Write to ann@example.org.")
        [{'kind': 'email', 'value': 'ann@example.org', 'start': 9}]
        >>> extract_emails_and_urls("(see https://en.wikipedia.org/wiki/Ada_(name))")
        [{'kind': 'url', 'value': 'https://en.wikipedia.org/wiki/Ada_(name)', 'start': 5}]
        >>> extract_emails_and_urls("Bob@A.org, bob@a.ORG and www.a.org!", "email")
        [{'kind': 'email', 'value': 'Bob@A.org', 'start': 0}]
        >>> extract_emails_and_urls("Bob@A.org, bob@a.ORG", unique=False)
        [{'kind': 'email', 'value': 'Bob@A.org', 'start': 0}, {'kind': 'email', 'value': 'bob@a.ORG', 'start': 11}]
        >>> extract_emails_and_urls("me@a.org: is it www.a.org?", "url")
        [{'kind': 'url', 'value': 'www.a.org', 'start': 16}]
        >>> extract_emails_and_urls("www.a.org me@a.org")
        [{'kind': 'url', 'value': 'www.a.org', 'start': 0}, {'kind': 'email', 'value': 'me@a.org', 'start': 10}]
        >>> extract_emails_and_urls("HTTP://A.org/X http://a.org/X http://a.org/x")
        [{'kind': 'url', 'value': 'HTTP://A.org/X', 'start': 0}, {'kind': 'url', 'value': 'http://a.org/x', 'start': 30}]
        >>> extract_emails_and_urls("a@b, a..b@c.de, x@y.z, http://, www., no@way.c0m, a@b.de.c, -x@-y.de")
        []
        >>> extract_emails_and_urls("ftp://me@host.org/a mailto:a.b+c@d-e.co.uk [www.x.org/[1]]")
        [{'kind': 'url', 'value': 'ftp://me@host.org/a', 'start': 0}, {'kind': 'email', 'value': 'a.b+c@d-e.co.uk', 'start': 27}, {'kind': 'url', 'value': 'www.x.org/[1]', 'start': 44}]
        >>> extract_emails_and_urls("Write to a@b.co._x or c@d.org.")
        [{'kind': 'email', 'value': 'a@b.co', 'start': 9}, {'kind': 'email', 'value': 'c@d.org', 'start': 22}]
        >>> extract_emails_and_urls("")
        []
    """
    if kind not in ("both", "email", "url"):
        raise ValueError(f"kind must be both, email or url, not {kind!r}")
    urls = _urls(text)
    found = [{"kind": "url", "value": value, "start": start} for start, value in urls] if kind != "email" else []
    if kind != "url":
        inside = {place for start, value in urls for place in range(start, start + len(value))}
        for match in EMAIL.finditer(text):
            if match.start() not in inside:
                found.append({"kind": "email", "value": match.group(), "start": match.start()})
    found.sort(key=lambda item: item["start"])
    if not unique:
        return found
    kept: dict[str, dict] = {}
    for item in found:
        kept.setdefault(_identity(item["kind"], item["value"]), item)
    return list(kept.values())


def _urls(text: str) -> list[tuple[int, str]]:
    found = []
    for match in URL.finditer(text):
        value = match.group()
        while value and (value[-1] in ".,;:!?'*" or _unpaired(value)):
            value = value[:-1]
        if len(value) > len(match[1]):
            found.append((match.start(), value))
    return found


def _unpaired(value: str) -> bool:
    opening = {")": "(", "]": "["}.get(value[-1])
    return opening is not None and value.count(opening) < value.count(value[-1])


def _identity(kind: str, value: str) -> str:
    if kind == "email":
        return value.lower()
    site = SITE.match(value)
    end = site.end() if site else 0
    return value[:end].lower() + value[end:]
