"""Decides which addresses may be opened: private ones only if allowed, cloud metadata services never."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, TypeAlias

from agent.configuration.allowed_addresses import read_allowed
from agent.web.page import WebProblem
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    import httpx2

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Returns the IP addresses of a host and port. Raises OSError if there are none."""

# Listed here, since `is_private` of `ipaddress` changed between releases of Python 3.11.
# Sources: IANA's special-purpose registries of IPv4 and IPv6.
_PRIVATE_4 = tuple(
    IPv4Network(one)
    for one in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
_GLOBAL_6 = IPv6Network("2000::/3")  # the only public range of IPv6
_PRIVATE_6 = tuple(IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "3fff::/20"))
_SECRET = tuple(
    IPv4Network(one) if "." in one else IPv6Network(one)
    for one in (
        "169.254.0.0/16",  # metadata service of most clouds
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle
        "fe80::/10",
        "fd00:ec2::/32",  # Amazon
        "fd20:ce::/32",  # Google
    )
)
_WELL_KNOWN_64 = IPv6Network("64:ff9b::/96")
_LOCAL_64 = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = IPv6Network("::/96")
_MAX_URL_CHARS = 8192


class AddressGuard:
    """Decides which IP addresses may be connected to.

    Args:
        allow_private: True if addresses of this machine and its network may be opened.
        allow_addresses: Private addresses that may be opened anyway, as in the setting of the same name.
        resolve: Looks up host names; by default, `system_addresses`.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        allow_addresses: Sequence[str] = (),
        resolve: Resolver | None = None,
    ) -> None:
        self.allow_private = allow_private
        self._allowed = [read_allowed(one) for one in allow_addresses]
        self._resolve = resolve or system_addresses

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the IP addresses of a host that may be connected to. The caller must not look the name up again.

        Args:
            host: A name, or an IP address in any notation, such as `0x7f.1`.
            port: The port.

        Raises:
            WebProblem: The host is unknown (`dns`), or none of its addresses is allowed (`private_address`).
        """
        shown = one_line(host, 100)
        plain = host.strip("[]").rstrip(".")
        try:
            found = _written(plain) or await self._resolve(plain, port)
        except (OSError, UnicodeError) as error:
            cause = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            remedy = "Check the spelling, or use another source."
            raise WebProblem("dns", f"There is no host {shown}: {cause}.", remedy=remedy) from error
        parsed = [ip_address(one.partition("%")[0]) for one in found]
        if not parsed:
            raise WebProblem("dns", f"The host {shown} has no address.")
        if allowed := [one for one in parsed if not self.refuses(one, plain, port)]:
            return [str(one) for one in dict.fromkeys(allowed)]
        named = shown if shown == str(parsed[0]) else f"{shown} ({parsed[0]})"
        if any(is_secret(one) for one in (parsed[0], *_inner(parsed[0]))):
            message = f"{named} is a cloud credentials address, which is never opened."
            raise WebProblem("private_address", message)
        raise WebProblem(
            "private_address",
            f"{named} is an address on this machine or its network, not on the public web.",
            remedy="Use another source; the user may allow this address with the setting allow_addresses, or all such"
            " addresses with --allow-private.",
        )

    async def known_addresses(self, host: str, port: int) -> list[str]:
        """Like `addresses`, but return an empty list for an unknown name, because a proxy may know it.

        Raises:
            WebProblem: None of its addresses is allowed (`private_address`).
        """
        try:
            return await self.addresses(host, port)
        except WebProblem as problem:
            if problem.reason != "dns":
                raise
            return []

    def refuses(self, address: Address, host: str = "", port: int = 0) -> bool:
        """Return True if an address must not be connected to at this port, for a request with this host name."""

        def is_allowed(one: Address) -> bool:
            return self.allow_private or any(entry.covers(one, host, port) for entry in self._allowed)

        return any(is_secret(one) or (is_private(one) and not is_allowed(one)) for one in (address, *_inner(address)))


def _written(host: str) -> list[str]:
    """Return the IP address if `host` is one in any notation: `127.1`, `0x7f000001`, `::1`."""
    with suppress(ValueError):
        return [str(ip_address(host.partition("%")[0]))]
    with suppress(OSError):
        return [str(IPv4Address(socket.inet_aton(host)))]
    return []


async def system_addresses(host: str, port: int) -> list[str]:
    """Look a host up with the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(one[4][0]) for one in found]


def is_private(address: Address) -> bool:
    """Return True if an address is not on the public internet."""
    if isinstance(address, IPv4Address):
        return any(address in network for network in _PRIVATE_4)
    if address.ipv4_mapped is not None or address in _WELL_KNOWN_64:
        return False  # its embedded IPv4 address is checked instead
    return address not in _GLOBAL_6 or any(address in network for network in _PRIVATE_6)


def is_secret(address: Address) -> bool:
    """Return True for addresses of cloud metadata services, which return credentials."""
    return any(address in network for network in _SECRET if network.version == address.version)


def _inner(address: Address) -> list[IPv4Address]:
    """Return every IPv4 address embedded in an IPv6 address."""
    if isinstance(address, IPv4Address):
        return []
    inner = [one for one in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if one is not None]
    is_isatap = (int(address) >> 32) & 0xFDFFFFFF == 0x00005EFE
    if is_isatap or any(address in network for network in (_WELL_KNOWN_64, _LOCAL_64, _COMPATIBLE)):
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return inner


def read_address(url: str) -> httpx2.URL:
    """Parse an http or https address.

    Raises:
        WebProblem: The address has another scheme, is malformed, or has a user name, which could be mistaken for the
            host.
    """
    import httpx2

    def refused(why: str, shown: str = one_line(url.strip(), 200)) -> WebProblem:
        remedy = "Use a URL such as https://example.org/page."
        return WebProblem("refused_address", f"{shown} is not opened: {why}.", remedy=remedy)

    text = url.strip().replace(" ", "%20")
    if len(text) > _MAX_URL_CHARS or printable(text) != text or "\\" in text or len(text.split()) > 1:
        raise refused("it is too long, or contains line ends, backslashes or invisible characters")
    try:
        address = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise refused(one_line(str(error), 200)) from None
    if address.scheme not in ("http", "https"):
        raise refused(f"{address.scheme or 'no scheme'} is neither http nor https")
    if not address.host.strip(".") or any(sign in "[]%<>^|" for sign in address.host):
        raise refused("it has no host")
    if address.userinfo:
        raise refused("it contains a user name", f"{address.scheme}://…@{address.host}")
    if not 0 < (address.port or 80) < 65536:
        raise refused("its port is invalid")
    return address.copy_with(fragment=None)
