"""Questions that hang, crash or refuse to end, beside honest ones in the same process."""

import asyncio
import time
from pathlib import Path

import pytest

from agent.configuration.settings_sources import read_settings
from agent.gaia.pool import AttemptJob, Patience, Pool
from agent.gaia.worker import Setup
from support import stubborn

PATIENCE = Patience(silence=2.5, stop=1.0)


@pytest.fixture
async def pool():
    found = Pool(
        Setup(read_settings(), hard_seconds=100.0), 1, tell=lambda *_: None, patience=PATIENCE, main=stubborn.work
    )
    yield found
    found.stop()
    await found.aclose()


async def came_to(pool, *questions):
    results = await asyncio.gather(*(pool.do(AttemptJob(q.split()[0], 1, q)) for q in questions))
    return [(r.attempt.status, r.attempt.answer or r.attempt.error) for r in results]


async def test_a_question_that_overstays_is_cancelled_and_its_neighbours_do_not_notice(pool):
    late, honest = await came_to(pool, "late", "sleep 1.5")

    assert late == ("timeout", "it did not end within 100 s of work")
    assert honest == ("ok", "slept")


async def test_what_cannot_be_cancelled_or_blocks_its_process_is_killed_with_its_children_and_neighbours_go_on(
    pool, tmp_path
):
    note = tmp_path / "pid"
    killed, blocking, honest = await came_to(pool, f"child {note}", "block", "sleep 30")

    assert killed == blocking == ("timeout", "its process stopped responding")
    assert honest == ("ok", "went on with sleep")  # from its journal, in another process
    assert _is_dead(note)


async def test_one_that_crashes_its_process_is_an_error_and_the_pool_goes_on(pool):
    crashed, honest = await came_to(pool, "die", "sleep 30")
    after = await came_to(pool, "say hello")

    assert crashed == ("error", "its process ended with signal 11")
    assert honest == ("ok", "went on with sleep")
    assert after == [("ok", "hello")]


async def test_what_is_stopped_is_interrupted_also_when_it_refuses(pool):
    began = time.monotonic()
    asked = asyncio.create_task(came_to(pool, "stay", "sleep 600"))
    await asyncio.sleep(1)
    pool.stop()

    assert [status for status, _ in await asked] == ["interrupted", "interrupted"]
    assert time.monotonic() - began < 20


async def test_nothing_is_begun_after_the_order_to_stop(pool):
    await came_to(pool, "say hello")
    pool.stop()

    assert await came_to(pool, "say hello") == [("interrupted", "")]


async def test_a_listener_that_breaks_ends_the_question_with_an_error():
    def tell(*_):
        raise BrokenPipeError(32, "Broken pipe")

    pool = Pool(Setup(read_settings(), hard_seconds=100.0), 1, tell=tell, patience=PATIENCE, main=stubborn.work)
    async with asyncio.timeout(30):
        [(status, error)] = await came_to(pool, "sleep 600")
        await pool.aclose()

    assert status == "error"
    assert "Broken pipe" in error


def _is_dead(note: Path) -> bool:
    """Whether the process is gone, or waits to be reaped by whoever is its parent now."""
    try:
        stat = Path(f"/proc/{note.read_text()}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
