"""Readers behind one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.web.engines.search_engines import ReaderChain
from agent.web.page import Page, Reason, WebProblem

URL = "https://rivers.example/elbe"


class Reader:
    """Gives a page or a problem."""

    def __init__(self, name: str, reason: Reason | None = None, path: Path | None = None) -> None:
        self.name = name
        self.reason, self.path = reason, path
        self.asked = 0
        self.closed = False

    async def read(self, url: str) -> Page:
        self.asked += 1
        if self.reason:
            raise WebProblem(self.reason, f"{self.name} has {self.reason}.", path=self.path)
        return Page(url, "Elbe", "1,094 km", via=self.name, notes=("of the page",))

    async def aclose(self) -> None:
        self.closed = True


async def test_the_next_one_reads_with_a_note() -> None:
    """Why the first one did not read it stands beside the page."""
    readers = [Reader("plain", "captcha"), Reader("firecrawl", "http"), Reader("third")]
    first = ReaderChain(readers)
    page = await first.read(URL)
    assert page.via == "third"
    assert page.notes == ("It is read by third: plain has captcha.", "of the page")
    await first.aclose()
    assert all(reader.closed for reader in readers)


@pytest.mark.parametrize(
    ("reason", "asked"), [("quota", 1), ("bad_key", 1), ("no_key", 1), ("http", 3), ("timeout", 3)]
)
async def test_a_reader_without_credit_is_not_asked_again(reason: Reason, asked: int) -> None:
    """What does not get better is tried once."""
    second = Reader("firecrawl", reason)
    readers = ReaderChain([Reader("plain", "http"), second, Reader("third")])
    for _ in range(3):
        await readers.read(URL)
    assert second.asked == asked


async def test_what_must_not_be_got_round_and_what_is_kept_as_a_file(tmp_path: Path) -> None:
    second = Reader("firecrawl")
    reasons: list[tuple[Reason, Path | None]] = [("leak", None), ("robots", None), ("private_address", None)]
    for reason, path in [*reasons, ("mismatch", tmp_path / "a.bin")]:
        with pytest.raises(WebProblem, match=reason) as caught:
            await ReaderChain([Reader("plain", reason, path), second]).read(URL)
        assert caught.value.path == path
    assert second.asked == 0


async def test_each_reader_is_closed_whatever_comes_of_the_others() -> None:
    class Stuck(Reader):
        async def aclose(self) -> None:
            raise OSError("it is stuck")

    other = Reader("plain")
    with pytest.raises(OSError, match="stuck"):
        await ReaderChain([other, Stuck("firecrawl")]).aclose()
    with pytest.raises(OSError, match="stuck"):
        await ReaderChain([Stuck("firecrawl"), other]).aclose()
    assert other.closed
