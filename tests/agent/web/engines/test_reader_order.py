"""Readers behind one another."""

from __future__ import annotations

import pytest

from agent.web.engines.search_engines import FirstOf
from agent.web.page import Page, Reason, WebProblem

URL = "https://rivers.example/elbe"


class Reader:
    """Gives a page or a problem."""

    def __init__(self, name: str, reason: Reason | None = None) -> None:
        self.name = name
        self.reason = reason
        self.asked = 0
        self.closed = False

    async def read(self, url: str) -> Page:
        self.asked += 1
        if self.reason:
            raise WebProblem(self.reason, f"{self.name} has {self.reason}.")
        return Page(url, "Elbe", "1,094 km", via=self.name, notes=("of the page",))

    async def aclose(self) -> None:
        self.closed = True


async def test_the_next_one_reads_with_a_note() -> None:
    """What failed before stands beside the page."""
    readers = [Reader("firecrawl", "http"), Reader("plain")]
    first = FirstOf(readers)
    page = await first.read(URL)
    assert page.via == "plain"
    assert page.notes == ("firecrawl did not read it: firecrawl has http.", "of the page")
    await first.aclose()
    assert all(reader.closed for reader in readers)


@pytest.mark.parametrize(
    ("reason", "asked"), [("quota", 1), ("bad_key", 1), ("no_key", 1), ("http", 3), ("timeout", 3)]
)
async def test_a_reader_without_credit_is_not_asked_again(reason: Reason, asked: int) -> None:
    """What does not get better is tried once."""
    first = Reader("firecrawl", reason)
    readers = FirstOf([first, Reader("plain")])
    for _ in range(3):
        await readers.read(URL)
    assert first.asked == asked


@pytest.mark.parametrize("reason", ["leak", "robots"])
async def test_what_must_not_be_got_round(reason: Reason) -> None:
    """A page that may not be read is not read by another reader."""
    second = Reader("plain")
    with pytest.raises(WebProblem, match=reason):
        await FirstOf([Reader("firecrawl", reason), second]).read(URL)
    assert second.asked == 0


async def test_an_address_for_another_reader_is_no_loss() -> None:
    """A reader that is not for such addresses leaves no note."""
    readers = [Reader("firecrawl", "refused_address"), Reader("plain", "refused_address"), Reader("index")]
    assert (await FirstOf(readers).read("file:///pages/a.txt")).notes == ("of the page",)


async def test_all_failed() -> None:
    """The last reader that had to do with it says why."""
    with pytest.raises(WebProblem, match="plain has timeout"):
        await FirstOf(
            [Reader("firecrawl", "quota"), Reader("plain", "timeout"), Reader("index", "refused_address")]
        ).read(URL)
    with pytest.raises(WebProblem, match="firecrawl has private_address"):
        await FirstOf([Reader("firecrawl", "private_address"), Reader("index", "refused_address")]).read(URL)


@pytest.mark.parametrize(
    ("url", "via"),
    [
        ("https://a.example/elbe", "firecrawl"),
        ("https://a.example/elbe.html?as=x.pdf", "firecrawl"),
        ("https://a.example/v2.1/", "firecrawl"),
        ("https://a.example/feed.xml", "firecrawl"),
        ("https://a.example/data/rivers.CSV", "plain"),
        ("https://a.example/paper.pdf?download=1", "plain"),
        ("https://www.youtube.com/watch?v=dQw4w9WgXcQ", "plain"),
        ("http://[broken/a.pdf", "firecrawl"),
    ],
)
async def test_files_go_another_way(url: str, via: str) -> None:
    """Files and videos are read first by who keeps them."""
    firecrawl, plain = Reader("firecrawl"), Reader("plain")
    assert (await FirstOf([firecrawl, plain], for_files=[plain, firecrawl]).read(url)).via == via


async def test_each_reader_is_closed_whatever_comes_of_the_others() -> None:
    class Stuck(Reader):
        async def aclose(self) -> None:
            raise OSError("it is stuck")

    other = Reader("plain")
    with pytest.raises(OSError, match="stuck"):
        await FirstOf([other, Stuck("firecrawl")]).aclose()
    with pytest.raises(OSError, match="stuck"):
        await FirstOf([Stuck("firecrawl"), other]).aclose()
    assert other.closed
