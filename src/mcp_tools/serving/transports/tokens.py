"""The bearer token of the HTTP server: where it comes from, and whether a request holds it."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

from mcp_tools.errors import UsageError

_SHORTEST = 16
_HOW_TO_MAKE = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


def read_token(text: str, file: Path | None) -> str:
    """The token that was given; empty when none was.

    Raises:
        UsageError: The file cannot be read or holds none, or the token is too short or holds what no header can.
    """
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The token file {file} cannot be read: {error}.") from None
        if not text.strip():
            raise UsageError(f"The token file {file} is empty.", remedy=_HOW_TO_MAKE)
    token = text.strip()
    if token and (len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(
            f"A token has at least {_SHORTEST} printable ASCII characters and no space.",
            remedy=_HOW_TO_MAKE,
        )
    return token


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def holds_token(header: bytes, token: str) -> bool:
    """Whether an Authorization header holds the token; takes the same time for every wrong one."""
    scheme, _, given = header.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token.encode())
