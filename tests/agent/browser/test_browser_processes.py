"""Whatever is killed, nothing of a browser stays."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.browser.operate import DRIVER
from agent.browser.tasks import BrowserOutcome
from agent.web.chromium import sweep
from support.browser import CHROMIUM
from support.browsing import Desk, actions, processes, wait_for

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.timeout(240),
]
_ASKS_FOR_EVER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.browsing import Desk

async def never(*args, **options):
    await asyncio.sleep(600)

asyncio.run(Desk(never).do("What is it?", sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def place(monkeypatch) -> Iterator[Path]:
    """Where the profiles of this test are, and no others."""
    with tempfile.TemporaryDirectory(prefix="ab-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def of_profile(place: Path) -> list[int]:
    return processes(f"{place}/alita-browser-")


def browser_in(place: Path) -> int | None:
    """The browser itself, not one of its parts."""
    for pid in of_profile(place):
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"--user-data-dir" in line and b"--type=" not in line:
            return pid
    return None


def children() -> list[int]:
    """Our own processes that drive a browser."""
    own = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in own if DRIVER.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()]


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


async def gone(place: Path) -> None:
    await wait_for(lambda: not of_profile(place))


async def begun(site, place) -> asyncio.Task[BrowserOutcome]:
    """A task whose browser runs, and whose model would not answer."""

    async def never(*_args, **_options):
        await asyncio.sleep(600)

    task = asyncio.create_task(Desk(never).do("What is it?", site.url + "/harbour"))
    await wait_for(lambda: browser_in(place), 120)
    return task


async def test_a_killed_browser_ends_the_task(site, place):
    async def kill(*_args, **_options):
        if pid := browser_in(place):
            os.kill(pid, signal.SIGKILL)
        return actions({"scroll": {"down": True}})

    outcome = await Desk(kill).do("What is it?", site.url + "/harbour", steps=3, seconds=120)
    assert not outcome.ok
    assert outcome.problem
    await gone(place)
    assert list(place.glob("alita-browser-*")) == []


async def test_a_killed_process_ends_the_task_and_its_browser(site, place):
    task = await begun(site, place)
    os.kill(children()[0], signal.SIGKILL)
    outcome = await task
    assert "process exited" in outcome.problem
    await gone(place)
    assert list(place.glob("alita-browser-*")) == []


async def test_a_killed_alita_takes_its_browser_along_and_the_next_one_cleans_up(site, place):
    tests = str(Path(__file__).parents[2])
    script = place / "alita.py"
    script.write_text(_ASKS_FOR_EVER)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), tests, site.url + "/harbour"),
        env={**os.environ, "OPENAI_API_KEY": "key-in-clear"},
    )
    await wait_for(lambda: browser_in(place), 120)
    assert not any(b"key-in-clear" in environment_of(pid) for pid in of_profile(place))
    process.kill()
    await process.wait()
    await gone(place)
    assert len(list(place.glob("alita-browser-*"))) == 1
    mine = place / f"alita-browser-{os.getpid()}-x"
    mine.mkdir()
    sweep()
    assert list(place.glob("alita-browser-*")) == [mine], "that of a living owner is left alone"


async def test_nothing_stays_of_a_cancelled_task_whose_browser_lost_a_part(site, place):
    task = await begun(site, place)
    os.kill(random.choice(of_profile(place)), signal.SIGKILL)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(place)
    assert list(place.glob("alita-browser-*")) == []
