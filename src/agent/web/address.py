"""Compares web addresses: canonical forms, hosts and registered domains."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qs, parse_qsl, quote, unquote, urlencode, urlsplit

YOUTUBE = "https://www.youtube.com"
_YOUTUBE_HOSTS = ("youtube.com", "youtube-nocookie.com")
_VIDEO_ID = re.compile(r"[\w-]{11}")
_VIDEO_PATHS = re.compile(r"/(?:shorts|embed|live|v)/([\w-]{11})(?:/|$)")
_TRACKING = re.compile(
    r"(?:utm_\w+|gclid|gbraid|wbraid|dclid|fbclid|msclkid|yclid|igshid|mc_cid|mc_eid|_ga|_gl|mkt_tok|ref_src|cmpid"
    r"|s_cid|vero_id|oly_enc_id|oly_anon_id|spm|at_medium|at_campaign)",
    re.IGNORECASE,
)
_FRONT = re.compile(r"^(?:www\d?|m|mobile|amp)\.(?=[^.]+\.)")
_MOBILE_INSIDE = re.compile(r"^([a-z-]{2,12})\.m\.(?=[^.]+\.)")  # as in en.m.wikipedia.org
_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?)$", re.IGNORECASE)
_LOCAL = (
    ".local", ".internal", ".lan", ".home", ".localhost", ".localdomain", ".corp", ".intranet", ".invalid", ".test",
)  # fmt: skip
_PORTS = {"http": 80, "https": 443}
_PICTURES = re.compile(r"/media/[^/:]+:")  # the picture viewer that MediaWiki opens over an article
_ADDRESS = re.compile(r"https?://[^/?#\s]\S*", re.IGNORECASE)
_IN_TEXT = re.compile(r"https?://(?:\[[0-9a-f:.]+\])?[^\s<>\"'“”‘’`\[\]]+", re.IGNORECASE)
_BEHIND = ".,;:!?*_"  # punctuation that may follow an address in a text


def is_address(text: str) -> bool:
    """Return True if the whole text is an http or https address."""
    text = text.strip()
    return bool(_ADDRESS.fullmatch(text)) and bool(split_address(text).hostname)


def addresses_in(text: str) -> list[str]:
    """Return the addresses in a text without duplicates and without punctuation after them."""
    found = []
    for match in _IN_TEXT.finditer(text):
        url = match[0].rstrip(_BEHIND)
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1].rstrip(_BEHIND)
        if is_address(url):
            found.append(url)
    return list(dict.fromkeys(found))


def canonical(url: str) -> str:
    """Return a form that is equal for all addresses of one page. Use it to compare addresses, not to open them.

    It ignores scheme, `www.`, mobile hosts, default ports, fragments other than routes, tracking parameters, the order
    of parameters and a final slash.

    Example:
        >>> canonical("https://www.a.example/b/?utm_source=x#top")
        'a.example/b'
    """
    parts = split_address(url.strip())
    port = None
    with suppress(ValueError):
        port = parts.port
    path = _INDEX.sub("/", quote(unquote(parts.path), safe="/:@!$&'()*+,;=~-._")).rstrip("/")
    asked = sorted((name, value) for name, value in parse_qsl(parts.query, True) if not _TRACKING.fullmatch(name))
    named = f":{port}" if port is not None and port != _PORTS.get(parts.scheme.lower()) else ""
    route = quote(unquote(route_of(url)), safe="/:@!$&'()*+,;=~-._?").rstrip("/")
    return f"{host_of(url)}{named}{path}" + (f"?{urlencode(asked)}" if asked else "") + (f"#{route}" if route else "")


def links_by_form(addresses: Iterable[str]) -> dict[str, str]:
    """Map each form of a link to the link: unchanged, without its fragment, and `canonical`. The first link wins."""
    found: dict[str, str] = {}
    for link in (links := list(addresses)):
        found.setdefault(link.partition("#")[0], link)
        found.setdefault(canonical(link), link)
    return found | {link: link for link in links}


def route_of(url: str) -> str:
    """Return the fragment if scripts use it to choose what to show (`/tides` in `#/tides`, `!tides`); else empty.

    Servers never see it, so such a page must be opened in a browser.
    """
    fragment = split_address(url.strip()).fragment
    plain = unquote(fragment)
    is_route = plain.startswith(("/", "!")) and plain.strip("/!") and not _PICTURES.match(plain)
    return fragment if is_route else ""


def host_of(url: str) -> str:
    """Return the host in lower case without `www.` or `m.`, or an empty string."""
    host = (split_address(url.strip()).hostname or "").rstrip(".").lower()
    return _MOBILE_INSIDE.sub(r"\1.", _FRONT.sub("", host))


def is_local(host: str) -> bool:
    """Return True if a host name belongs to a local machine or network."""
    return "." not in host or host.endswith(_LOCAL)


def source_of(url: str) -> str:
    """Return the registered domain of an address, such as `bbc.co.uk`, or its IP address."""
    host = host_of(url)
    with suppress(ValueError):
        return str(ip_address(host))
    registered = None
    with suppress(ImportError):  # without the extra `web`, guess the last two parts
        from tld import get_fld

        registered = get_fld(f"https://{host}", fail_silently=True)
    return registered or ".".join(host.split(".")[-2:])


def split_address(url: str) -> SplitResult:
    """Split an address, with or without a scheme. An invalid one has only empty parts."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        _ = parts.hostname
    except ValueError:
        return urlsplit("")
    return parts


def video_id(url: str) -> str:
    """Return the id of a YouTube video; empty for other addresses."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = re.sub(r"^(www|m|music)\.", "", (parts.hostname or "").rstrip("."))
    if host == "youtu.be":
        found = parts.path.lstrip("/").partition("/")[0]
    elif host not in _YOUTUBE_HOSTS:
        return ""
    elif in_path := _VIDEO_PATHS.match(parts.path):
        return in_path[1]
    else:
        found = parse_qs(parts.query).get("v", [""])[0] if parts.path.rstrip("/") == "/watch" else ""
    return found if _VIDEO_ID.fullmatch(found) else ""
