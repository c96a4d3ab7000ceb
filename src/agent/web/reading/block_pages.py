"""Pages that keep their content back: a CAPTCHA, a login, a paywall."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.web.page import Reason, WebProblem
from mcp_tools.text import one_line

_LONGEST = 2500
"""Characters of text that a wall has at most; what has more is content that happens to have one."""
_FEW = 800
"""Characters of text that a CAPTCHA has at most, where only its words show it."""
_CAPTCHA_SOURCE = re.compile(
    r"challenges\.cloudflare\.com|/cdn-cgi/challenge-platform/|cf-chl-|google\.com/recaptcha/|recaptcha/api\.js"
    r"|hcaptcha\.com/|g-recaptcha|h-captcha|cf-turnstile|geo\.captcha-delivery\.com|px-captcha|funcaptcha|arkoselabs",
    re.I,
)
_CAPTCHA_WORDS = re.compile(
    r"(verify|confirm|prove|checking|make sure)\W+(that )?(if )?you('| a)?re (a |not a )?(human|robot|bot)"
    r"|are you a (human|robot)|(not|n't) a robot|unusual traffic|just a moment\.\.\.|attention required"
    r"|complete the captcha|security check|solve (this|the) (captcha|puzzle)|enter the characters you see"
    r"|access to this page has been denied",
    re.I,
)
_CAPTCHA_ALONE = re.compile(
    r"\A\W*just a moment(\.\.\.|…)|(verify|verifying|verifies|confirm|make sure|checking)\W+(that )?(if )?"
    r"you(['’]| a)re (a |not a )?(human|robot|bot)\b|performing security verification|unusual traffic from your"
    r"|complete the captcha|enter the characters you see|access to this page has been denied"
    r"|enable javascript and cookies to continue",
    re.I,
)
_PAYWALL_SOURCE = re.compile(r'"isAccessibleForFree"\s*:\s*"?false|class="[^"]*\bpaywall\b|id="paywall', re.I)
_PAYWALL_WORDS = re.compile(
    r"(subscribe|subscription|become a (member|subscriber)|start your (free )?trial)( \w+){0,6}"
    r" to (continue|keep|read|unlock)|(continue|keep) reading( \w+){0,6} (subscribe|subscription|with a)"
    r"|for subscribers only|subscriber[- ]only|subscribers only|already a (subscriber|member)\?"
    r"|you('ve| have) (reached|read|used)( \w+){0,4} (limit|free articles?)|unlock this (article|story)",
    re.I,
)
_PAYWALL_ALONE = re.compile(
    r"(subscribe|subscription|subscriber|become a member|start your (free )?trial)( \w+){0,6} to "
    r"(continue|keep|unlock|read (the (full|rest|whole|entire)|this) )|(continue|keep) reading( \w+){0,6} "
    r"(subscribe|subscription)|(story|article|content|page) is( only)? for (paying |our )?subscribers"
    r"|you(['’]ve| have) (reached|read|used)( \w+){0,4} (limit|free articles?)|unlock this (article|story)",
    re.I,
)
_LOGIN_WORDS = re.compile(
    r"(log|sign) ?in to (continue|view|see|read|access)|you (must|need to) (log|sign) ?in|please (log|sign) ?in", re.I
)
_MARKS = re.compile(r"\]\[\d+\]|[\[*_#]")
"""Of Markdown: links and emphasis occur within the words."""
_LOGIN_PATH = re.compile(r"/(log|sign)[-_]?in\b|/auth\b|/sso\b", re.I)
_PASSWORD = re.compile(r"<input[^<>]{1,500}?type\s*=\s*[\"']?password", re.I)


_PERSON: tuple[Reason, str, str] = ("captcha", "is behind a CAPTCHA.", "Take another source.")
_SUBSCRIPTION: tuple[Reason, str, str] = (
    "paywall",
    "shows its text to subscribers only.",
    "Take another source, or an archived version.",
)
_LOGIN: tuple[Reason, str, str] = (
    "paywall",
    "wants a login.",
    "Take another source, or browse it with a login that the user gave.",
)


def look_for_wall(html: str, text: str, url: str, *, asked: str = "", status: int = 200) -> None:
    """Raises when a page keeps its content back.

    Args:
        html: Its source.
        text: What there is to read on it.
        url: Where it was.
        asked: The address that led there, where that was another.
        status: With which it came.

    Raises:
        WebProblem: It is behind a CAPTCHA (`captcha`), or a login or a paywall (`paywall`).
    """
    has_password = _PASSWORD.search(html)
    if (
        asked
        and _LOGIN_PATH.search(urlsplit(url).path)
        and not _LOGIN_PATH.search(urlsplit(asked).path)
        and has_password
    ):
        raise _wall(asked, *_LOGIN)
    short = len(text) <= _LONGEST
    refused = status in (401, 402, 403, 429, 503)
    asks, has_widget = bool(_CAPTCHA_WORDS.search(text)), bool(_CAPTCHA_SOURCE.search(html))
    if (refused and (has_widget or asks)) or (short and asks and has_widget):
        raise _wall(url, *_PERSON)
    if _PAYWALL_WORDS.search(text) and (short or _PAYWALL_SOURCE.search(html)):
        raise _wall(url, *_SUBSCRIPTION)
    if short and has_password and (refused or _LOGIN_WORDS.search(text)):
        raise _wall(url, *_LOGIN)


def look_for_wall_in_words(text: str, url: str) -> None:
    """Raises when a text without its source is a wall's: it has words that hardly any content has.

    Args:
        text: What there is to read, as Markdown.
        url: Where it was.

    Raises:
        WebProblem: It is behind a CAPTCHA (`captcha`), or a paywall (`paywall`).
    """
    words = _MARKS.sub("", text)
    if len(words) <= _FEW and _CAPTCHA_ALONE.search(words):
        raise _wall(url, *_PERSON)
    if len(words) <= _LONGEST and _PAYWALL_ALONE.search(words):
        raise _wall(url, *_SUBSCRIPTION)


def _wall(url: str, reason: Reason, what: str, remedy: str) -> WebProblem:
    return WebProblem(reason, f"{one_line(url, 200)} {what}", remedy=remedy)
