"""Pages that are gone, as the Internet Archive kept them (Wayback Machine)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from agent.web.address import is_local
from agent.web.guard import is_private
from agent.web.http import Http
from agent.web.page import WebProblem
from agent.web.response import Response

ARCHIVE = "https://archive.org"
_SNAPSHOT = re.compile(r"/web/(\d{4,14})[a-z_]*/")


@dataclass(frozen=True, slots=True)
class Kept:
    """A page from the archive."""

    response: Response
    """With the address that the page had: its links are relative to that."""
    url: str
    """Where the archive keeps it."""
    date: str
    """ISO date of the copy."""


class Archive:
    """The archive's service.

    Args:
        http: Who asks it.
        base: Its address.
    """

    def __init__(self, http: Http, base: str = ARCHIVE) -> None:
        self._http = http
        self._base = base.rstrip("/")

    async def latest(self, url: str) -> Kept | None:
        """The latest copy of a page; None where there is none, or the archive cannot be asked.

        Addresses of private networks are never told to it.
        """
        if await self._is_private(url):
            return None
        today = datetime.now(UTC).strftime("%Y%m%d")  # without it, copies that are there are often not found
        try:
            told = await self._http.ask_json(
                f"{self._base}/wayback/available?url={quote(url, safe='')}&timestamp={today}"
            )
            closest = told["archived_snapshots"]["closest"]
            if not closest["available"] or not str(closest.get("status", "200")).startswith("2"):
                return None
            return await self._fetched(str(closest["url"]), url)
        except (WebProblem, KeyError, TypeError):
            return None

    async def _fetched(self, snapshot: str, url: str) -> Kept | None:
        found = _SNAPSHOT.search(snapshot)
        if found is None:
            return None
        time = found[1]
        plain = snapshot.replace(found[0], f"/web/{time}id_/", 1)  # as it was, without the archive's own frame
        if self._base.startswith("https://"):
            plain = re.sub(r"^http://", "https://", plain)
        response = await self._http.get(plain, robots=False)
        return Kept(replace(response, url=url), snapshot, f"{time[:4]}-{time[4:6]}-{time[6:8]}".strip("-"))

    async def _is_private(self, url: str) -> bool:
        host = (urlsplit(url).hostname or "").rstrip(".")
        if is_local(host):
            return True
        try:
            return any(is_private(ip_address(one)) for one in await self._http.guard.addresses(host, 443))
        except WebProblem as problem:
            return problem.reason != "dns"  # a public host that is gone has no address any more
