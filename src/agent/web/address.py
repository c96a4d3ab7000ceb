"""Addresses of the web: when two mean the same page, and when two pages come from the same source."""

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
_PICTURES = re.compile(r"/media/[^/:]+:")  # what MediaWiki shows before an article, which stays the same page
_ADDRESS = re.compile(r"https?://[^/?#\s]\S*", re.IGNORECASE)
_IN_TEXT = re.compile(r"https?://(?:\[[0-9a-f:.]+\])?[^\s<>\"'“”‘’`\[\]]+", re.IGNORECASE)
_BEHIND = ".,;:!?*_"  # signs that follow an address in a text, and are not part of its end


def is_address(text: str) -> bool:
    """Return True if a text is the whole address of a page, and not a file's name."""
    text = text.strip()
    return bool(_ADDRESS.fullmatch(text)) and bool(split_address(text).hostname)


def addresses_in(text: str) -> list[str]:
    """The addresses in a text, each once, without the punctuation and the bracket that follow them."""
    found = []
    for match in _IN_TEXT.finditer(text):
        url = match[0].rstrip(_BEHIND)
        while url.endswith(")") and url.count(")") > url.count("("):
            url = url[:-1].rstrip(_BEHIND)
        if is_address(url):
            found.append(url)
    return list(dict.fromkeys(found))


def canonical(url: str) -> str:
    """Return the common form of addresses of one page; for comparing, not for opening.

    Scheme, `www.`, mobile hosts, the usual ports, fragments that are no routes, tracking parameters, the order of
    parameters and a final slash tell nothing.
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
    """Return links by each of their forms: unchanged, without a fragment, and `canonical`; the first one wins."""
    found: dict[str, str] = {}
    for link in (links := list(addresses)):
        found.setdefault(link.partition("#")[0], link)
        found.setdefault(canonical(link), link)
    return found | {link: link for link in links}


def route_of(url: str) -> str:
    """The fragment, where scripts choose by it what a page shows (`/tides` of `#/tides`, `!tides`); else empty.

    Servers never see it: only a browser shows such a page.
    """
    fragment = split_address(url.strip()).fragment
    plain = unquote(fragment)
    is_route = plain.startswith(("/", "!")) and plain.strip("/!") and not _PICTURES.match(plain)
    return fragment if is_route else ""


def host_of(url: str) -> str:
    """Return the host without `www.` and the like, in lower case; empty if there is none."""
    host = (split_address(url.strip()).hostname or "").rstrip(".").lower()
    return _MOBILE_INSIDE.sub(r"\1.", _FRONT.sub("", host))


def is_local(host: str) -> bool:
    """Return True if a host has the name of a local machine or network."""
    return "." not in host or host.endswith(_LOCAL)


def source_of(url: str) -> str:
    """Return the registered domain of a page, as `bbc.co.uk`; an IP address unchanged."""
    host = host_of(url)
    with suppress(ValueError):
        return str(ip_address(host))
    registered = None
    with suppress(ImportError):  # without the extra `web` there is no list of suffixes: two parts are a fair guess
        from tld import get_fld

        registered = get_fld(f"https://{host}", fail_silently=True)
    return registered or ".".join(host.split(".")[-2:])


def split_address(url: str) -> SplitResult:
    """The parts of an address; of one without a scheme too, and of one that cannot be read none."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        _ = parts.hostname
    except ValueError:
        return urlsplit("")
    return parts


def video_id(url: str) -> str:
    """Return the video's id, or "" if the address is not of a YouTube video."""
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
