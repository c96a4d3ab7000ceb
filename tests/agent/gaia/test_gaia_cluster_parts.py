"""The parts of a cluster that need no Ray: slots, files that travel, and what questions share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.consent.hosts import HostGrant, HostGrants
from agent.errors import RunError
from agent.gaia.attempt import Attempt
from agent.gaia.cluster.connection import private_ray_folder
from agent.gaia.cluster.coordinator import Coordinator
from agent.gaia.cluster.file_transfer import Cache, digest_of, read_folder, write_folder
from agent.gaia.cluster.sharing import QuestionChanges, changes, keep, pack, unpack
from agent.gaia.configuration import RunOptions
from agent.learning.gap_records import GapRecord, GapRecords
from agent.resources import environments_of, open_for
from agent.store import databases
from agent.store.tool_records import open_library
from mcp_tools.library.calls import BUG
from mcp_tools.sandbox.protocol import Job, Limits
from mcp_tools.tool import Status, Tool
from support.postgres import PostgresServer
from support.wheels import OFFLINE, write_wheel


async def test_a_slot_goes_to_the_first_who_waits_and_back_when_its_holder_died() -> None:
    coordinator = Coordinator(1)
    await coordinator.acquire("a", "url")
    second, third = (asyncio.create_task(coordinator.acquire(holder, "url")) for holder in ("b", "c"))
    await coordinator.acquire("d", "another url")
    await asyncio.sleep(0)
    assert not second.done()

    await coordinator.leave("a")
    await asyncio.wait_for(second, 1)
    await coordinator.leave("c")  # it died while it waited
    await asyncio.wait({third}, timeout=1)
    assert third.cancelled()
    await coordinator.release("b", "url")
    await coordinator.release("b", "url")  # a late one frees nothing
    await asyncio.wait_for(coordinator.acquire("e", "url"), 1)
    last = asyncio.create_task(coordinator.acquire("f", "url"))
    await asyncio.sleep(0)
    assert not last.done()
    last.cancel()


async def test_a_question_is_told_to_stop_and_not_after_it_ended() -> None:
    coordinator = Coordinator(1)
    waiting = asyncio.create_task(coordinator.stopped("a"))
    await coordinator.stop("a")
    await asyncio.wait_for(waiting, 1)
    ended = asyncio.create_task(coordinator.stopped("b"))
    await asyncio.sleep(0)
    await coordinator.leave("b")
    await asyncio.wait_for(ended, 1)


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "", "a\0b"])
def test_a_node_cannot_write_outside_of_the_folder_of_its_run(name: str, tmp_path: Path) -> None:
    target = tmp_path / "runs" / "run"
    with pytest.raises(RunError, match="not a safe relative path"):
        write_folder(target, {"run.json": b"{}", name: b"x"})
    assert not target.exists()
    assert not (tmp_path / "out").exists()


def test_other_users_reach_neither_the_sockets_nor_the_token_of_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for kept in ("fresh", "of Ray"):
        with private_ray_folder() as folder:
            parent = Path(folder).parent
            modes = [path.stat().st_mode & 0o077 for path in (parent, tmp_path / ".ray")]
            assert (modes, parent.is_relative_to(tmp_path)) == ([0, 0 if kept == "fresh" else 0o055], False)
            token = tmp_path / ".ray" / "auth_token"
            assert not token.exists() or token.stat().st_mode & 0o077 == 0
        assert not parent.exists()
        token.write_text("x")
        token.chmod(0o644)
        token.parent.chmod(0o755)


@pytest.mark.parametrize(
    ("address", "line"), [("", "Starting Ray …"), ("head:6379", "Connecting to Ray at head:6379 …")]
)
async def test_the_user_sees_that_ray_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, line: str
) -> None:
    from agent.gaia.cluster import executor

    def refuse(*_: object) -> None:
        raise RunError("Ray does not start.")

    monkeypatch.setattr(executor, "connect", refuse)
    monkeypatch.setenv("HOME", str(tmp_path))
    options, lines = RunOptions(output=tmp_path / "o.json", ray_address=address), list[str]()
    with pytest.raises(RunError, match="Ray does not start"):
        async with executor.RayExecutor.open(options, read_settings(), 1, 1, lines.append):
            pass
    assert lines == [line]


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
    with pytest.raises(RunError, match="do not match it"):
        cache.put(digest, {"a/b": b"other"})


NUMBER = {"type": "number"}
KEY = "sk-that-stays-at-home-1"


def tool(name: str, factor: int) -> Tool:
    return Tool(
        name=name,
        description="Multiplies a number.",
        input_schema={"type": "object", "properties": {"n": NUMBER}, "required": ["n"]},
        output_schema={"type": "object", "properties": {"result": NUMBER}, "required": ["result"]},
        source=f'def {name}(n: float) -> float:\n    """Multiplies a number."""\n    return {factor} * n\n',
        status=Status.VERIFIED,
    )


@pytest.fixture(params=["files", "postgresql"])
def home_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """The settings of the benchmark's machine, with its records in files or in a database."""
    own = {"ALITA_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": KEY}
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        own["ALITA_DATABASE_URL"] = server.database()
    yield read_settings({"model": "m", "tools_dir": tmp_path / "tools"}, environment=own, current=tmp_path)
    databases.disconnect()


def on_a_node(folder: Path, files: dict[str, bytes]) -> Settings:
    """The settings of a question on a node to which these files were sent."""
    write_folder(folder, files)
    node = read_settings({"model": "m"}, environment={"ALITA_HOME": str(folder / "node")}, current=folder)
    places = {f"{name}_dir": folder / name for name in ("tools", "data", "config", "runs")}
    settings = node.model_copy(update=places | {"gaps_file": folder / "gaps.sqlite"})
    unpack(folder, settings, node.data_dir)
    return settings


def test_a_question_takes_the_library_along_and_brings_its_changes_back(
    home_settings: Settings, tmp_path: Path
) -> None:
    home, library = home_settings, open_library(home_settings)
    library.register(tool("twice", 2))
    library.register(tool("draft", 9), is_draft=True)
    HostGrants(home.data_dir).keep([HostGrant(tool="twice", source="hash", host="api.example.com")])
    lock = home.data_dir / "environments" / "locks" / "0123.toml"
    lock.parent.mkdir(parents=True)
    lock.write_text("lock")
    with closing(GapRecords(home)) as records:
        gap = records.add(GapRecord("lookup", "a card is asked for", "it was guessed", "read the card"), "Which card?")
        records.change(gap.id, status="approved")
    sent = pack(home, with_library=True)
    assert KEY not in repr(sent)

    node = on_a_node(tmp_path / "one", sent)
    there = open_library(node)
    assert [there.trust(name) for name in ("twice", "draft")] == ["verified", "draft"]
    assert HostGrants(node.data_dir).all == HostGrants(home.data_dir).all
    assert (node.data_dir / "environments" / "locks" / "0123.toml").read_text() == "lock"
    with closing(GapRecords(node)) as records:
        (found,) = records.all()
        assert (found.id, found.status, records.origins(found.id)) == (gap.id, "approved", origins(home, gap.id))
        records.note_shown([gap.id], "a-run")
    there.register(tool("twice", 3))  # twice_2
    there.register(tool("half", 1), is_draft=True)
    for n in range(3):
        there.record_call("twice", n < 2, BUG, arguments={"n": n}, question="Which card?")

    library.register(tool("twice", 4))  # another question was faster
    back = changes(node, sent, "a-run")
    attempt = Attempt("t0", run_id="a-run", tools_created=("twice_2",), tools_reused=("twice",))
    said: list[str] = []
    kept = keep(home, sent, back, attempt, "Which card?", said.append)

    assert (kept.tools_created, kept.tools_reused, said) == (("twice_3",), ("twice",), [])
    assert [library.trust(name) for name in ("twice", "twice_2", "twice_3", "half")] == ["verified"] * 3 + ["draft"]
    assert "return 3 * n" in library.get("twice_3").source
    stats = library.stats("twice")
    assert (stats.successes, stats.failures, stats.questions, stats.bugs_lately) == (2, {BUG: 1}, 1, 1)
    with closing(GapRecords(home)) as records:
        assert records.shown_in("a-run") == [gap.id]


def origins(settings: Settings, name: str) -> list[str]:
    with closing(GapRecords(settings)) as records:
        return records.origins(name)


def test_of_two_better_versions_of_a_tool_the_first_is_kept(home_settings: Settings, tmp_path: Path) -> None:
    library = open_library(home_settings)
    library.register(tool("twice", 2))
    sent, said = pack(home_settings, with_library=True), list[str]()
    for number, factor in enumerate((3, 4)):
        node = on_a_node(tmp_path / str(number), sent)
        open_library(node).register(tool("twice", factor), replace=True)
        found = changes(node, sent, "")
        assert set(found.tools) == {"tools/twice.py", "tools/twice.json"}
        keep(home_settings, sent, found, Attempt("t0"), "Which card?", said.append)
    assert "return 3 * n" in library.get("twice").source
    assert said == ["the tool twice is not kept: twice changed in the meantime"]


def test_a_tool_with_files_that_do_not_fit_is_not_kept(home_settings: Settings) -> None:
    made, said = changes_of("twice", b"def twice(): ...", b"{}"), list[str]()
    keep(home_settings, {}, made, Attempt("t0"), "Which card?", said.append)
    assert said
    assert said[0].startswith("the tool twice is not kept: twice.json is invalid")
    assert open_library(home_settings).list() == []


def changes_of(name: str, source: bytes, document: bytes) -> QuestionChanges:
    return QuestionChanges({f"tools/{name}.py": source, f"tools/{name}.json": document}, (name,), (), ())


async def test_packages_are_built_on_a_node_from_their_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node asks nobody, resolves nothing, and builds for all its questions once."""
    wheels = write_wheel(tmp_path / "wheels", "loud-words").parent
    for name, value in {**OFFLINE, "UV_FIND_LINKS": str(wheels)}.items():
        monkeypatch.setenv(name, value)
    own = {"ALITA_HOME": str(tmp_path / "home")}
    home = read_settings({"model": "m", "tools_dir": tmp_path / "tools"}, environment=own, current=tmp_path)
    environments = environments_of(home, lambda _: None)
    environments.allow(await environments.plan(["loud-words"]))
    write_wheel(wheels, "loud-words", "2.0")  # the lock names 1.0

    node = on_a_node(tmp_path / "one", pack(home, with_library=True))
    sandbox = await open_for(node)
    try:
        source = "import loud_words\ndef f(text: str) -> str:\n    return loud_words.shout(text)\n"
        job = Job(source, "f", {"text": "hey"}, packages=("loud-words",), limits=Limits(wall_seconds=30))
        outcome = await sandbox.run(job)
        assert (outcome.value, outcome.problem) == ("HEY", None)
    finally:
        await sandbox.aclose()
    built = tmp_path / "one" / "node" / "data" / "environments" / "built"
    assert len([*built.glob("*/packages/loud_words-1.0.dist-info")]) == 1
