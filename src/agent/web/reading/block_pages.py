"""Recognises pages that block their content with a CAPTCHA, login or paywall."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.web.page import WebProblem
from mcp_tools.text import one_line

_MAX_WALL_CHARS = 2500  # a page with more text has content besides the wall
_MAX_CAPTCHA_CHARS = 800  # for a CAPTCHA that is recognised only by its words
_CAPTCHA_SOURCE = re.compile(
    r"challenges\.cloudflare\.com|/cdn-cgi/challenge-platform/|cf-chl-|google\.com/recaptcha/|recaptcha/api\.js"
    r"|hcaptcha\.com/|g-recaptcha|h-captcha|cf-turnstile|geo\.captcha-delivery\.com|px-captcha|funcaptcha|arkoselabs",
    re.I,
)
_CAPTCHA_WORDS = re.compile(
    r"\A\W*just a moment(\.\.\.|…)|(verify|verifying|verifies|confirm|prove|make sure|checking)\W+(that )?(if )?"
    r"you(['’]| a)re (a |not a )?(human|robot|bot)\b|performing security verification|unusual traffic from your"
    r"|complete the captcha|enter the characters you see|access to this page has been denied"
    r"|enable javascript and cookies to continue",
    re.I,
)
_PAYWALL_SOURCE = re.compile(r'"isAccessibleForFree"\s*:\s*"?false|class="[^"]*\bpaywall\b|id="paywall', re.I)
_PAYWALL_WORDS = re.compile(
    r"(subscribe|subscription|subscriber|become a member|start your (free )?trial)( \w+){0,6} to "
    r"(continue|keep|unlock|read (the (full|rest|whole|entire)|this) )|(continue|keep) reading( \w+){0,6} "
    r"(subscribe|subscription)|(story|article|content|page) is( only)? for (paying |our )?subscribers"
    r"|you(['’]ve| have) (reached|read|used)( \w+){0,4} (limit|free articles?)|unlock this (article|story)",
    re.I,
)
_SUBSCRIBERS = re.compile(r"subscri(be|ber|ption)|member", re.I)
_LOGIN_WORDS = re.compile(
    r"(log|sign) ?in to (continue|view|see|read|access)|you (must|need to) (log|sign) ?in|please (log|sign) ?in", re.I
)
_LOGIN_PATH = re.compile(r"/(log|sign)[-_]?in\b|/auth\b|/sso\b", re.I)
_PASSWORD = re.compile(r"<input[^<>]{1,500}?type\s*=\s*[\"']?password", re.I)
_MARKS = re.compile(r"\]\(link \d+\)|[\[*_#]")
"""Markdown inside words: links and emphasis."""


def wall_of(text: str, url: str, *, html: str = "", asked: str = "", status: int = 200) -> WebProblem | None:
    """Return the problem of a page behind a CAPTCHA (`captcha`), login or paywall (`paywall`); else None.

    Args:
        text: The page as Markdown.
        url: Address of the page.
        html: HTML of the page, if known.
        asked: The requested address, if it redirected to `url`.
        status: HTTP status.
    """
    words = _MARKS.sub("", text)
    is_short = len(words) <= _MAX_WALL_CHARS
    is_refused = status in (401, 402, 403, 429, 503)
    has_password = _PASSWORD.search(html)
    was_led = asked and _LOGIN_PATH.search(urlsplit(url).path) and not _LOGIN_PATH.search(urlsplit(asked).path)
    is_tiny = len(words) <= _MAX_CAPTCHA_CHARS
    asks, has_widget = _CAPTCHA_WORDS.search(words), _CAPTCHA_SOURCE.search(html)
    if has_password and was_led:
        return _wants_login(asked)
    if (is_refused and (has_widget or asks)) or (asks and (is_tiny or (is_short and has_widget))):
        return WebProblem("captcha", f"{one_line(url, 200)} requires a CAPTCHA.")
    if (is_short and _PAYWALL_WORDS.search(words)) or (_PAYWALL_SOURCE.search(html) and _SUBSCRIBERS.search(words)):
        message = f"{one_line(url, 200)} shows its text only to subscribers."
        return WebProblem("paywall", message, remedy="Use another source, or an archived version.")
    if is_short and has_password and (is_refused or _LOGIN_WORDS.search(text)):
        return _wants_login(url)
    return None


def _wants_login(url: str) -> WebProblem:
    remedy = "Use another source, or browse it with a login that the user gave."
    return WebProblem("paywall", f"{one_line(url, 200)} requires a login.", remedy=remedy)
