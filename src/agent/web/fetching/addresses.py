"""What an address must look like before anything is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.web.protocol import WebProblem
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    import httpx2

_LONGEST = 8192


def read_address(url: str) -> httpx2.URL:
    """An address of the web in parts, its fragment left out.

    Raises:
        WebProblem: It is of another scheme, malformed, or holds a user name: what stands before an `@` is made to look
            like a host.
    """
    import httpx2

    text = url.strip().replace(" ", "%20")
    shown = one_line(text, 200)
    if len(text) > _LONGEST or printable(text) != text or "\\" in text or len(text.split()) > 1:
        raise _refused(shown, "it is too long, or has line ends, backslashes or invisible characters in it")
    try:
        address = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise _refused(shown, one_line(str(error), 200)) from None
    if address.scheme not in ("http", "https"):
        raise _refused(shown, f"{address.scheme or 'no scheme'} is neither http nor https")
    if not address.host.strip(".") or any(sign in "[]%<>^|" for sign in address.host):
        raise _refused(shown, "it names no host")
    if address.userinfo:
        raise _refused(f"{address.scheme}://…@{address.host}", "it has a user name in it")
    if not 0 < (address.port or 80) < 65536:
        raise _refused(shown, "it has no possible port")
    return address.copy_with(fragment=None)


def _refused(shown: str, why: str) -> WebProblem:
    return WebProblem(
        "refused_address", f"{shown} is not opened: {why}.", remedy="Give an address such as https://example.org/page."
    )
