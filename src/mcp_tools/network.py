"""HTTP clients that use the environment's proxies and certificates, with clear errors if those are unusable."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

from mcp_tools.errors import UserError

NETWORK_ERRORS = (ImportError, ValueError, OSError)
"""Exceptions that httpx, httpx2 and ssl raise for invalid proxies or certificates."""
_SCHEMES = ("http", "https", "socks5", "socks5h")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
T = TypeVar("T")


class NetworkError(UserError):
    """An environment variable names a proxy or certificates that cannot be used."""


def network_client(make: Callable[..., T], **options: Any) -> T:
    """Create an httpx or httpx2 client.

    Example:
        >>> with network_client(httpx2.Client, timeout=5.0) as client:
        ...     client.get("https://example.org")

    Raises:
        NetworkError: An environment variable names a proxy or certificates that cannot be used.
    """
    try:
        return make(**options)
    except NETWORK_ERRORS as error:
        raise network_error(error) from None


def network_error(error: Exception) -> NetworkError:
    """Return an error that names the environment variable behind an exception from `make`."""
    found = next(network_problems(), None)
    return found or NetworkError(
        f"The proxy or the certificates that the environment sets cannot be used: {error}",
        remedy=f"Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, {_CERTIFICATES[0]} and {_CERTIFICATES[1]}.",
    )


def network_problems() -> Iterator[NetworkError]:
    """Yield an error for each environment variable with an unusable proxy or certificates.

    Proxy addresses may contain passwords, so only their scheme and host are shown.
    """
    for kind, address in getproxies().items():
        if kind == "no" or not address:
            continue
        name = _variable_name(f"{kind}_proxy")
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            shown, _ = f"{parts.scheme}://{parts.hostname or ''}", parts.port
        except ValueError:
            yield NetworkError(f"{name} is not a valid proxy address.", remedy=f"Correct or unset {name}.")
            continue
        if parts.scheme not in _SCHEMES or not parts.hostname:
            known = "http://, https:// or socks5://"
            yield NetworkError(
                f"{name} names a proxy that cannot be used: {shown}.",
                remedy=f"Use an address that begins with {known}, or unset {name}.",
            )
        elif parts.scheme.startswith("socks") and find_spec("socksio") is None:
            yield NetworkError(
                f"{name} names a SOCKS proxy ({shown}), which requires the package socksio.",
                remedy=f"Run `pip install socksio`, or unset {name}.",
            )
    for name in _CERTIFICATES:
        if (place := os.environ.get(name)) and (wrong := _problem_of(name, Path(place))):
            yield NetworkError(f"{name} is set to {place}, {wrong}.", remedy=f"Correct or unset {name}.")


def _variable_name(name: str) -> str:
    return next((each for each in (name, name.upper()) if os.environ.get(each)), name.upper())


def _problem_of(name: str, place: Path) -> str:
    """Return the problem with a certificate path, or an empty string if there is none."""
    try:
        if not place.exists():
            return "which does not exist"
        if name == "SSL_CERT_DIR":
            return "" if place.is_dir() else "which is not a folder"
        if place.is_dir():
            return "" if name == "REQUESTS_CA_BUNDLE" else "which is a folder"
        ssl.create_default_context(cafile=str(place))
    except ssl.SSLError:
        return "which contains no certificates"
    except OSError as error:
        return f"which cannot be read: {error.strerror}"
    return ""
