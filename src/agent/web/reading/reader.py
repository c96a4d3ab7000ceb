"""Fetches a page or file, recognises its kind by content, and converts it to Markdown."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from agent.files.contents import FileProblem, ReadLimits
from agent.files.reader_process import ReadingProcesses
from agent.records import from_plain
from agent.web.address import YOUTUBE, is_local, route_of, video_id
from agent.web.filenames import file_name, new_file
from agent.web.guard import is_private, read_address
from agent.web.http import MAX_PAGE_BYTES, Http
from agent.web.page import Page, Reason, WebProblem
from agent.web.reading.renderer import Renderer
from agent.web.reading.videos import read_video
from agent.web.response import PAGE_TYPES, StatusProblem, charset_of, media_type, pieces, too_large
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

    from agent.files.media.speech import Speech
    from agent.web.reading.markdown import Extracted

ARCHIVE = "https://archive.org"
_SNAPSHOT = re.compile(r"/web/(\d{4,14})[a-z_]*/")
_TEXT_KINDS = ("html", "xml", "txt", "md", "source")
_GONE = frozenset({404, 410, 451})
_LIMITS = ReadLimits(seconds=30)  # for one page
_MAX_FILE_BYTES = 200 * 2**20
_MAX_FILE_CHARS = 400_000  # programs can read the rest from the file


class _Fetched(NamedTuple):
    """A response that was saved to disk."""

    path: Path
    url: str  # after redirects
    content_type: str

    @property
    def is_called_page(self) -> bool:
        return media_type(self.content_type) in PAGE_TYPES


class WebReader:
    """Reads pages and files from the web.

    Args:
        http: The HTTP client.
        folder: Folder for downloads. It is created when it is needed.
        chrome: Chromium for rendering; by default, an installed one is searched for.
        youtube: Address of YouTube.
        archive: Address of the Internet Archive.
        note: Receives messages about the browser for the user.
    """

    name = "plain"

    def __init__(
        self,
        http: Http,
        folder: Path,
        *,
        chrome: Path | None = None,
        youtube: str = YOUTUBE,
        archive: str = ARCHIVE,
        note: Callable[[str], None] = lambda _: None,
        speech: Speech | None = None,
        may_download: bool = True,
    ) -> None:
        self._http = http
        self._folder = folder
        self._renderer = Renderer(http.guard, chrome, note, may_download=may_download)
        self._parsers = ReadingProcesses("agent.web.reading.markdown", "agent.files.documents.html", "markdownify")
        self._archive = archive.rstrip("/")
        self._youtube = youtube
        self._speech = speech

    async def read(self, url: str) -> Page:
        """See `PageReader.read`."""
        url, route = str(read_address(url)), route_of(url)
        if video := video_id(url):
            return await read_video(video, self._http, self._youtube)
        self._parsers.prepare()  # while the page is fetched
        try:
            fetched = await self._fetch(url)
        except WebProblem as problem:
            await self._look_behind(problem)
            return await self._archived_page(url, problem)
        return await self._page(fetched, route, asked=url)

    async def aclose(self) -> None:
        """Close connections."""
        try:
            await self._parsers.aclose()
        finally:
            await self._http.aclose()

    async def _fetch(self, url: str, *, robots: bool = True) -> _Fetched:
        """Download an address to a file, completely or not at all."""

        async def take(opened: httpx2.Response) -> _Fetched:
            head = opened.headers
            name = file_name(str(opened.url), head.get("content-disposition", ""))
            with new_file(self._folder, name) as (path, file):
                came = _Fetched(path, str(opened.url), head.get("content-type", ""))
                async for piece in pieces(opened, MAX_PAGE_BYTES if came.is_called_page else _MAX_FILE_BYTES):
                    await asyncio.to_thread(file.write, piece)
            return came

        return await self._http.fetch(url, take, robots=robots)

    async def _page(self, came: _Fetched, route: str = "", *, asked: str = "", draws: bool = True) -> Page:
        from agent.files.detection import kind_of

        kind = await asyncio.to_thread(kind_of, came.path)
        if not (kind == "html" or (kind in _TEXT_KINDS and came.is_called_page)):
            called = f"The server declares it as {media_type(came.content_type)}, but its content is {kind}."
            return await _file_page(came.path, came.url, kind, [called] if came.is_called_page else [], self._speech)
        body = await asyncio.to_thread(came.path.read_bytes)
        came.path.unlink()
        if len(body) > MAX_PAGE_BYTES:
            raise too_large(came.url, MAX_PAGE_BYTES, f"{len(body):,} bytes")
        charset = await asyncio.to_thread(charset_of, body, came.content_type)
        found = await self._extracted(body, charset, came.url, asked=asked)
        if not (found.wants_scripts or route):
            return page_of(found)
        if draws:
            return await self._drawn_page(came.url, route, found)
        return page_of(found, "Content that scripts add is missing, because copies are not rendered.")

    async def _drawn_page(self, url: str, route: str, plain: Extracted) -> Page:
        """Render the page in a browser. Fall back to the plain page if that has text."""
        try:
            drawn = await self._renderer.draw(f"{url}#{route}" if route else url)
            body = drawn.html.encode("utf-8", "replace")
            found = await self._extracted(body, "utf-8", drawn.url, status=drawn.status)
            if drawn.status >= 400:
                message = f"{one_line(drawn.url, 200)} returned status {drawn.status} to the browser."
                raise WebProblem("browser", message)
        except WebProblem as problem:
            if not plain.page.markdown or problem.reason != "browser":
                raise
            note = f"Content that scripts add is missing: {problem.message} {problem.remedy}".strip()
            return page_of(plain, note)
        if found.page.markdown and (route or found.size + found.hidden > plain.size):
            return replace(page_of(found), via="rendered")
        return page_of(plain)

    async def _archived_page(self, url: str, problem: WebProblem) -> Page:
        """Read the Internet Archive's copy of a page that is gone."""
        gone = problem.status in _GONE if isinstance(problem, StatusProblem) else problem.reason == "dns"
        if not gone or await self._is_private(url):  # never send private addresses to the archive
            raise problem
        today = datetime.now(UTC).strftime("%Y%m%d")  # without a timestamp, the archive often finds nothing
        asked = f"{self._archive}/wayback/available?url={quote(url, safe='')}&timestamp={today}"
        try:
            closest = (await self._http.ask_json(asked))["archived_snapshots"]["closest"]
            where = str(closest["url"])
            snapshot = _SNAPSHOT.search(where)
            if not closest["available"] or not str(closest.get("status", "200")).startswith("2") or snapshot is None:
                raise problem
            time = snapshot[1]
            plain = where.replace(snapshot[0], f"/web/{time}id_/", 1)  # `id_`: without the archive's frame
            if self._archive.startswith("https://"):
                plain = re.sub(r"^http://", "https://", plain)
            came = await self._fetch(plain, robots=False)
            # Links are relative to the original. The copy is not rendered, since a browser would open the original.
            copy = await self._page(came._replace(url=url), draws=False)
        except (WebProblem, KeyError, TypeError):
            raise problem from None
        date = f"{time[:4]}-{time[4:6]}-{time[6:8]}".strip("-")
        note = f"The page is not available: {problem.message} This is a copy from {date}."
        return replace(copy, url=where, via="archive", notes=(note, *copy.notes))

    async def _is_private(self, url: str) -> bool:
        host = (urlsplit(url).hostname or "").rstrip(".")
        if is_local(host):
            return True
        try:
            return any(is_private(ip_address(one)) for one in await self._http.guard.addresses(host, 443))
        except WebProblem as problem:
            return problem.reason != "dns"  # a public host that is gone cannot be resolved

    async def _extracted(self, body: bytes, charset: str, url: str, *, asked: str = "", status: int = 200) -> Extracted:
        try:
            found = await extracted(self._parsers, body, charset, url, asked=asked, status=status)
        except FileProblem as problem:
            reason: Reason = "too_large" if problem.reason in ("too_large", "timeout") else "mismatch"
            raise WebProblem(reason, problem.message) from problem
        if found.wall is not None:
            raise WebProblem(**found.wall)
        return found

    async def _look_behind(self, problem: WebProblem) -> None:
        """Raise the problem that an error page describes, such as a CAPTCHA."""
        if not isinstance(problem, StatusProblem):
            return
        response = problem.response
        if "cf-mitigated" in response.headers:
            message = f"{one_line(response.url, 200)} requires a CAPTCHA."
            raise WebProblem("captcha", message) from problem
        if response.charset and response.body:
            try:
                await self._extracted(response.body, response.charset, response.url, status=response.status)
            except WebProblem as wall:
                if wall.reason in ("captcha", "paywall"):
                    raise


async def extracted(
    parsers: ReadingProcesses, body: bytes, charset: str, url: str, *, asked: str = "", status: int = 200
) -> Extracted:
    """Convert an HTML page in a separate process.

    Args:
        parsers: The processes.
        body: Bytes of the page.
        charset: Encoding of the page.
        url: Address of the page.
        asked: The requested address, if it redirected to `url`.
        status: HTTP status.

    Raises:
        FileProblem: The conversion takes too long or too much memory.
    """
    from agent.web.reading.markdown import MAX_HTML_CHARS, Extracted

    # at most four bytes per character, and one more to detect longer pages
    sent = base64.b64encode(body[: 4 * MAX_HTML_CHARS + 4]).decode()
    arguments = {"body": sent, "charset": charset, "url": url, "asked": asked or url, "status": status}
    request = {"name": one_line(url, 200), "kind": "html", "call": "agent.web.reading.markdown:read_page"}
    return from_plain(Extracted, await parsers.ask({**request, "arguments": arguments}, _LIMITS))


def page_of(found: Extracted, *notes: str) -> Page:
    """Return a converted page as a `Page` with notes.

    Raises:
        WebProblem: The page has no text (`no_result`).
    """
    if not found.page.markdown:
        raise WebProblem("no_result", f"{one_line(found.page.url, 200)} contains no text.")
    return replace(found.page, notes=notes)


async def _file_page(path: Path, url: str, kind: str, notes: Sequence[str], speech: Speech | None) -> Page:
    from agent.files.reading import read

    shown = one_line(url, 200)
    try:
        reading = await read(path, to=1_000_000, limit=_MAX_FILE_CHARS, speech=speech)
    except FileProblem as problem:
        reason: Reason = "too_large" if problem.reason in ("too_large", "bomb", "timeout") else "mismatch"
        message = f"{shown}: {problem.message} The file is kept as {path}."
        raise WebProblem(reason, message, remedy=problem.remedy, path=path) from problem
    if not reading.text:
        raise WebProblem("no_result", f"{shown} is {reading.where}.", remedy="Read another page.", path=path)
    more = f"Only a part is shown ({reading.where}). The whole file is {path}."
    notes = (*notes, *reading.lost, *reading.notes, *([more] if reading.more else []))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Page(url, path.name, reading.text, kind=kind, fetched=now, path=path, notes=notes)
