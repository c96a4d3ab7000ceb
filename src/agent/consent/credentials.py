"""Finds credentials in text: values labelled PASSWORD, TOKEN, KEY and so on, in many file formats and languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from agent.consent.encodings import normalized
from mcp_tools.text import words

_STRONG = words("""
    password passwords passwd passphrase passcode passwort kennwort pwd secret secrets credential credentials
    contraseña contraseñas contrasena mdp wachtwoord senha palavra-passe parola lösenord adgangskode passord salasana
    hasło heslo jelszó şifre parolă пароль κωδικός khẩu sandi סיסמה المرور 密码 密碼 口令 パスワード 暗証番号 비밀번호
""")
_WEAK = words("token tokens key keys apikey pass pin auth bearer otp passe clave chiave schlüssel")
_ENDS = (
    *("token", "password", "passwd", "passwort", "kennwort", "secret", "apikey", "pwd", "wachtwoord"),
    *("密码", "密碼", "口令", "パスワード", "비밀번호"),
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ALTERNATIVES = "|".join(sorted(map(re.escape, _STRONG), key=len, reverse=True))
_LABEL = r"([\w.-]{0,60}\w)[\"'`*]*"
_IS = r"(?:=>|->|[:=|\t]|(?<= )(?:is|lautet|ist|est|es|is:)(?= )|(?<=[码碼令])[是为為])"
_QUOTED = r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|`([^`\n]{1,200})`"
_PAIRS = (
    re.compile(rf"{_LABEL}[ \t]*{_IS}[ \t]*[\"'`*]*([^\s\"'`,;|<>]+)"),
    re.compile(rf"{_LABEL}[ \t]*{_IS}[ \t]*(?:{_QUOTED})"),
    re.compile(
        r"^[ \t]*(?:export |[-*] )?([\w .-]*\w)[ \t]*[:=][ \t]*([^\s\"'{}\[\],;|<>][^\"'{}\[\],;|<>\n]{1,200})$", re.M
    ),
    re.compile(rf"^[ \t#*>-]*{_LABEL}[ \t]*[:=]?[ \t]*\n\s*[\"'`*]*([^\s\"'`,;|<>:=]+)[\"'`*]*[ \t]*$", re.M),
    re.compile(rf"{_LABEL}[ \t]*:[ \t]*[|>][+\d-]*[ \t]*\n((?:[ \t]+\S.*(?:\n|$))+)"),
    re.compile(r"<([\w.:-]+)(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<>\]]+)(?:\]\]>)?\s*</"),
    re.compile(r">\s*([\w .-]*\w)\s*:?\s*</[^<>]+>\s*<[^<>]+>\s*([^<>]+)<"),
    re.compile(r"=\s*[\"']([\w .-]*\w)[\"'][^<>]*>\s*([^<>]+)<"),
    re.compile(
        r"\b(?:name|key|id|label|field|type|var|variable)[\"']?\s*[:=]\s*[\"']?([\w .-]*\w)[\"']?[\s,;]+"
        r"[\"'-]?\s*(?:value|val|default|content|data|text|wert)[\"']?\s*[:=]\s*[\"']?([^\n\"',;}<>]+)",
        re.I,
    ),
    re.compile(r"(?<![\w-])--?([\w-]{0,60}\w)[ =][\"']?([^\s\"'-][^\s\"']*)"),
    re.compile(rf"^[ \t]*({_ALTERNATIVES})[ \t]+([^\s\"'`]+)[ \t]*$", re.M),
    re.compile(
        rf"\b(?:login|user|username|machine|account)\b[^\n]{{0,120}}?\b({_ALTERNATIVES})[ \t]+([^\s\"'`:=]+)", re.I
    ),
)
"""Patterns for a label and its value. If a pattern has several value groups, only one of them matches."""
_TURNED = (
    re.compile(
        r"\b(?:value|val|default|content|data|text|wert)[\"']?\s*[:=]\s*[\"']?([^\n\"',;}<>]+)[\"']?[\s,;]+"
        r"[\"'-]?\s*(?:name|key|id|label|field|type|var|variable)[\"']?\s*[:=]\s*[\"']?([\w .-]*\w)",
        re.I,
    ),
    re.compile(
        r"[\"'`“„«]?([^\s\"'`“”„«»]{1,200})[\"'`”“»]?\s+(?:as|is|als|ist|comme|est|como|es|come|è)\s+"
        r"(?:(?:the|your|my|our|a|das|der|dein|ihr|le|la|votre|el|su|tu|il|het)\s+)(?:\w+\s+){0,2}?"
        rf"({_ALTERNATIVES}|mot de passe|pin|token)\b",
        re.I,
    ),
    re.compile(
        rf"\b(?:use|enter|type|take|try)\s+[\"'`“]?([^\s\"'`“”]{{1,200}})[\"'`”]?\s+as\s+({_ALTERNATIVES})\b", re.I
    ),
)
"""Patterns for a value followed by its label."""
_ALONE = (
    re.compile(r"\b\w[\w+.-]{0,20}://[^\s/:@]*:([^\s/@]+)@"),
    re.compile(r"\b(?:sql|mysql|mysqldump|mariadb|sshpass|redis-cli)\b[^\n]{0,200}?\s-[pa]\s?(\S+)"),
    re.compile(r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)\s?[\"']?[^\s:]+:([^\s\"']+)"),
    re.compile(
        rf"\b(?:{_ALTERNATIVES}|mot de passe|pin|token|api key)\b[^.\n:=]{{0,40}}?"
        r"(?:\b(?:is|ist|lautet|est|es|è|é|är|er|jest)\b|[:=])[ \t]*[\"'`*]*([^\s\"'`,;|<>]+)",
        re.I,
    ),
)
"""Patterns for a value without a separate label, such as `curl -u user:PASSWORD`."""
_LONG_RUN = re.compile(r"([\w.+-]{400})[\w.+-]+")
"""Finds runs longer than any label or value, which are cut to save time."""
_CELLS = (r"\t", r"\|", ",", ";", r"\s{2,}")
_INSERTED = re.compile(r"\(([^()]*)\)\s*VALUES\s*((?:\([^()]*\)[\s,]*)+)", re.I)
_NO_VALUE = words("""
    none null true false yes no empty redacted is the a what this that it which where here who was his her
""")
_MAX_PASSPHRASE_WORDS = 8


def credentials_in(text: str) -> tuple[str, ...]:
    """Return the values that are labelled as credentials, passwords first.

    Example:
        >>> credentials_in("PASSWORD=swordfish")
        ('swordfish',)
    """
    strong, weak = credentials_by_strength(text)
    return tuple(dict.fromkeys((*strong, *weak)))


@lru_cache(maxsize=256)
def credentials_by_strength(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values with strong labels such as PASSWORD, and those with weak ones such as KEY."""
    text = _LONG_RUN.sub(r"\1 ", unicodedata.normalize("NFKC", text))
    found = [*_paired(text), *_tabled(text)]
    found += [("password", value) for pattern in _ALONE for value in pattern.findall(text)]
    strong = (part for label, value in found if _is_strong(label) for part in _parts(value, alone=True))
    weak = [value for label, value in found if _is_weak(label) and any(map(str.isdigit, value))]
    weak += [value for label, value in _PAIRS[0].findall(text) if _is_weak(label)]
    return tuple(dict.fromkeys(strong)), tuple(dict.fromkeys(part for one in weak for part in _parts(one, alone=False)))


def _paired(text: str) -> Iterator[tuple[str, str]]:
    for pattern in _PAIRS:
        for label, *values in pattern.findall(text):
            yield label, next(filter(None, values), "")
    for pattern in _TURNED:
        for value, label in pattern.findall(text):
            yield label, value


def _tabled(text: str) -> Iterator[tuple[str, str]]:
    """Yield the label and value of each cell in text tables and SQL inserts."""
    heads: dict[str, list[str]] = {}
    for line in map(str.strip, text.splitlines()):
        may_be_head = _may_be_label(line)
        for cell in _CELLS if heads or may_be_head else ():
            cells = re.split(cell, line.strip("|"))
            if len(cells) == len(names := heads.get(cell, [])):
                pairs = zip(names, cells, strict=True)
                yield from ((name, value) for name, value in pairs if _is_label(name) and not _is_label(value))
            elif len(cells) > 1 and may_be_head and any(map(_is_label, cells)):
                heads[cell] = cells
            else:
                heads.pop(cell, None)
    for names, rows in _INSERTED.findall(text):
        for row in re.findall(r"\(([^()]*)\)", rows):
            yield from zip(names.split(","), row.split(","), strict=False)


def _words_of(label: str) -> set[str]:
    plain = label.strip(" \t\"'`*")
    return {word.casefold() for word in (*_WORDS.findall(plain), *re.split(r"[\W_]+", plain))}


def _is_strong(label: str) -> bool:
    plain = label.strip(" \t\"'`*").casefold()
    return len(plain) <= 60 and (bool(_words_of(label) & _STRONG) or plain.endswith(_ENDS))


def _is_weak(label: str) -> bool:
    return len(label) <= 60 and bool(_words_of(label) & _WEAK) and not _is_strong(label)


def _is_label(label: str) -> bool:
    return _is_strong(label) or _is_weak(label)


def _may_be_label(line: str) -> bool:
    """Return False if the line cannot contain a label."""
    plain = line.casefold()
    return any(word in plain for word in (*_STRONG, *_WEAK))


def _parts(value: str, *, alone: bool) -> Iterator[str]:
    """Yield a value. If it has several words, also yield its lines, pairs of words and, if `alone`, longer words."""
    value = value.strip().strip("\"'`.,;:!?()[]{}*").strip()
    if not normalized(value) or value.casefold() in _NO_VALUE:
        return
    split = value.split()
    if len(split) == 1:
        yield value
    elif "\n" in value:
        for line in value.splitlines():
            yield from _parts(line, alone=alone)
        yield value
    elif len(split) <= _MAX_PASSPHRASE_WORDS:
        yield from (value, *map(" ".join, pairwise(split)))
        yield from (word for word in split if alone and len(normalized(word)) > 3)
