"""The parts of a cluster that need no Ray: slots, and files that travel."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.errors import RunError
from agent.gaia.cluster.desk import Desk
from agent.gaia.cluster.luggage import Cache, digest_of, read_folder, write_folder


async def test_a_slot_goes_to_the_first_who_waits_and_back_when_its_holder_died() -> None:
    desk = Desk(1)
    await desk.acquire("a", "url")
    second, third = (asyncio.create_task(desk.acquire(holder, "url")) for holder in ("b", "c"))
    await desk.acquire("d", "another url")
    await asyncio.sleep(0)
    assert not second.done()

    await desk.leave("a")
    await asyncio.wait_for(second, 1)
    await desk.leave("c")  # it died while it waited
    await asyncio.wait({third}, timeout=1)
    assert third.cancelled()
    await desk.release("b", "url")
    await desk.release("b", "url")  # a late one frees nothing
    await asyncio.wait_for(desk.acquire("e", "url"), 1)
    last = asyncio.create_task(desk.acquire("f", "url"))
    await asyncio.sleep(0)
    assert not last.done()
    last.cancel()


async def test_a_question_is_told_to_stop_and_not_after_it_ended() -> None:
    desk = Desk(1)
    waiting = asyncio.create_task(desk.stopped("a"))
    await desk.stop("a")
    await asyncio.wait_for(waiting, 1)
    ended = asyncio.create_task(desk.stopped("b"))
    await asyncio.sleep(0)
    await desk.leave("b")
    await asyncio.wait_for(ended, 1)


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "", "a\0b"])
def test_a_node_cannot_write_outside_of_the_folder_of_its_run(name: str, tmp_path: Path) -> None:
    target = tmp_path / "runs" / "run"
    with pytest.raises(RunError, match="not a plain path"):
        write_folder(target, {"run.json": b"{}", name: b"x"})
    assert not target.exists()
    assert not (tmp_path / "out").exists()


def test_a_folder_comes_back_whole_without_links_and_within_its_bound(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "deep").mkdir(parents=True)
    for name, size in {"run.json": 40, "journal.jsonl": 40, "deep/small": 5, "large": 30}.items():
        (folder / name).write_bytes(b"x" * size)
    (folder / "link").symlink_to("/etc/passwd")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("x")
    (folder / "way").symlink_to(tmp_path / "elsewhere")

    files, left_out = read_folder(folder, 100)
    assert (sorted(files), left_out) == (["deep/small", "journal.jsonl", "run.json"], ("large",))
    write_folder(tmp_path / "back", files)
    assert read_folder(tmp_path / "back") == (files, ())
    with pytest.raises(RunError, match="already exists"):
        write_folder(tmp_path / "back", {})


def test_a_cache_believes_only_what_has_its_hash(tmp_path: Path) -> None:
    cache, files = Cache(tmp_path), {"a/b": b"content", "c": b""}
    digest = digest_of(files)
    assert cache.find(digest) is None
    place = cache.put(digest, files)
    assert cache.find(digest) == place
    (place / "c").write_bytes(b"changed")
    assert cache.find(digest) is None
    assert read_folder(cache.put(digest, files))[0] == files
    with pytest.raises(RunError, match="another hash"):
        cache.put(digest, {"a/b": b"other"})
