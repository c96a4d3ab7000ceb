"""JSON with comments and trailing commas, as editors keep their settings."""

from __future__ import annotations

import json
import re

from mcp_tools.tool import Json

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def load_jsonc(text: str) -> Json:
    """The value of a text.

    Raises:
        ValueError: It is no JSON even without comments and trailing commas, or too deep.
    """
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(_TOKEN.sub(_kept, text) if "//" in text or "/*" in text or "," in text else text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def has_comments(text: str) -> bool:
    """Whether the text is more than JSON: writing it anew would lose something."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return True
    return False


def _kept(match: re.Match[str]) -> str:
    token = match[0]
    return token if token.startswith('"') else " "
