"""The setting `allow_addresses`: private addresses that may be opened."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_PORTS = {"http": 80, "https": 443}


class AllowedAddress(NamedTuple):
    """One entry: a network or a host name, with or without a port."""

    network: IPv4Network | IPv6Network | None
    name: str
    port: int | None

    def covers(self, address: IPv4Address | IPv6Address, host: str, port: int) -> bool:
        """Return True if the entry allows this address or requested host, at this port."""
        if self.port not in (None, port):
            return False
        return address in self.network if self.network is not None else self.name == host.lower()


def read_allowed(text: str) -> AllowedAddress:
    """Parse an entry: `intranet.example`, `10.0.0.5`, `10.0.0.5:8080`, `10.1.0.0/16` or `http://127.0.0.1:8000`.

    Raises:
        ValueError: The entry has none of these forms.
    """
    scheme, mark, rest = text.lower().rpartition("://")
    with suppress(ValueError):
        if not mark:
            return AllowedAddress(ip_network(text), "", None)
    if scheme not in ("", *_PORTS) or (not mark and "/" in text):
        raise ValueError(f"{text} is not a host, a network such as 10.1.0.0/16, or an http URL")
    try:
        parts = urlsplit(f"//{rest}")
        host, port = (parts.hostname or "").rstrip(".").encode("idna").decode(), parts.port or _PORTS.get(scheme)
    except ValueError as error:
        raise ValueError(f"{text} is not a valid URL: {error}") from None
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in rest:
        raise ValueError(f"{text} must contain only a host and a port, without a path or user name")
    with suppress(ValueError):
        return AllowedAddress(ip_network(host), "", port)
    with suppress(OSError):
        plain = socket.inet_ntoa(socket.inet_aton(host))
        raise ValueError(f"{text} is an unusual form of the address {plain}; use {plain} instead")
    if not _NAME.fullmatch(host):
        raise ValueError(f"{text} is not a valid host name")
    return AllowedAddress(None, host, port)
