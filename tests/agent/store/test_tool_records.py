"""Approvals and counts of tools that two machines share over one PostgreSQL database."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.errors import AlitaError
from agent.store import databases, tool_records
from agent.store.tool_records import open_library, open_markers
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.postgres import PASSWORD, PostgresServer

NUMBER = {"type": "number"}


def tool(name: str = "twice") -> Tool:
    return Tool(
        name=name,
        description="Doubles a number.",
        input_schema={"type": "object", "properties": {"n": NUMBER}, "required": ["n"]},
        output_schema={"type": "object", "properties": {"result": NUMBER}, "required": ["result"]},
        source=f'def {name}(n: float) -> float:\n    """Doubles a number."""\n    return 2 * n\n',
        status=Status.VERIFIED,
    )


@pytest.fixture
def machines(tmp_path: Path, postgres: PostgresServer):
    """Two machines with separate homes, one folder of tools and one database."""
    address = postgres.database()

    def machine(name: str) -> Settings:
        own = {"ALITA_HOME": str(tmp_path / name), "ALITA_DATABASE_URL": address}
        return read_settings({"tools_dir": tmp_path / "tools"}, environment=own, current=tmp_path)

    yield machine("one"), machine("two")
    databases.disconnect()


def trusts(library: Library, name: str = "twice") -> str:
    return library.trust(name)


def test_an_approval_on_one_machine_holds_on_the_other(machines):
    one, two = map(open_library, machines)
    one.register(tool(), is_draft=True)
    assert (trusts(one), trusts(two)) == ("draft", "draft")
    before = two.approvals.stamp()
    one.approvals.put("twice", ApprovedHashes.of(one.get("twice")))
    assert two.approvals.stamp() != before
    assert (trusts(one), trusts(two)) == ("verified", "verified")
    two.approvals.quarantine("twice", "it was wrong")
    assert trusts(one) == "quarantined"
    one.approvals.drop("twice")
    assert trusts(two) == "draft"


def written(n: int) -> Tool:
    """A version of `twice` that a run wrote."""
    source = f'def twice(n: float) -> float:\n    """Doubles a number."""\n    return {n} * n / {n} * 2\n'
    return replace(tool(), source=source, provenance={"run": "a run"})


def test_a_draft_that_one_machine_wrote_gives_its_name_to_a_proved_tool_of_another(machines):
    one, two = map(open_library, machines)
    draft = one.register(written(3), is_draft=True)
    assert (trusts(one), trusts(two)) == ("draft", "draft")
    assert two.register(written(4)).name == "twice"
    assert trusts(one) == "verified"
    assert draft.source_hash in [version.source_hash for version in one.versions("twice")]
    one.approvals.drop("twice")
    assert two.register(written(5)).name == "twice_2", "the record of the draft is of another source"


def test_a_draft_that_somebody_approved_keeps_its_name(machines):
    one, two = map(open_library, machines)
    one.register(written(3), is_draft=True)
    two.approve("twice")
    assert one.register(written(4)).name == "twice_2"


def test_the_record_of_a_draft_is_taken_over_from_the_file(machines):
    local = Library(machines[0].tools_dir, machines[0].data_dir)
    local.register(written(3), is_draft=True)
    local.close()
    assert open_library(machines[1]).register(written(4)).name == "twice_2"
    assert trusts(open_library(machines[0])) == "draft"
    assert open_library(machines[1]).register(written(5)).name == "twice"


def test_calls_on_both_machines_are_counted_together(machines):
    one, two = map(open_library, machines)
    one.register(tool())
    for library, question in ((one, "a"), (two, "b"), (one, "c"), (two, "c")):
        library.record_call("twice", True, question=question)
    one.record_call("twice", False, "refused")
    for library in (one, two):
        stats = library.stats("twice")
        assert (stats.calls, stats.successes, stats.refused, stats.questions, stats.bugs_lately) == (5, 4, 1, 3, 0)
        assert trusts(library) == "trusted"
    for number in range(3):
        (one if number % 2 else two).record_call("twice", False, "bug", arguments={"n": number})
    assert (trusts(one), trusts(two)) == ("quarantined", "quarantined")
    one.record_call("twice", True, version="f" * 64)  # of another version
    one._calls.record("twice", True)  # as counted by an alita that did not distinguish versions
    two.approve("twice")
    stats = one.stats("twice")
    assert (stats.calls, stats.earlier, stats.questions, stats.bugs_lately) == (8, 2, 0, 0)


def test_calls_at_once_are_all_counted(machines):
    libraries = [*map(open_library, machines)] * 3
    libraries[0].register(tool())

    def count(library: Library) -> None:
        for _ in range(20):
            library.record_call("twice", True)

    threads = [threading.Thread(target=count, args=(library,)) for library in libraries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert libraries[0].stats("twice").successes == 120


def test_the_files_of_each_machine_are_taken_over_once(machines):
    one, two = machines
    for settings, name in ((one, "twice"), (two, "double")):
        local = Library(settings.tools_dir, settings.data_dir)
        local.register(tool(name))
        for question in "abc":
            local.record_call(name, True, question=question)
        local.close()
    assert trusts(open_library(one)) == "trusted"
    assert (trusts(open_library(two)), trusts(open_library(two), "double")) == ("trusted", "trusted")
    assert trusts(open_library(one), "double") == "trusted"
    open_library(two).approvals.drop("twice")
    databases.disconnect()
    assert trusts(open_library(one)) == "draft", "what was taken back does not come again from the file"
    assert open_library(one).stats("twice").successes == 3


def test_a_damaged_file_of_approvals_is_not_taken_over_until_it_is_whole(machines):
    one, two = machines
    local = Library(one.tools_dir, one.data_dir)
    local.register(tool())
    local.record_call("twice", True, question="a")
    local.close()
    file = one.data_dir / "approvals.json"
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    damage = open_library(one).approvals.read().damage
    assert f"{file} is corrupt, so its approvals cannot be imported into the store" in damage
    assert "Restore an intact copy of the file, or move it away" in damage
    with pytest.raises(AlitaError, match=r"approvals\.json is corrupt"):
        open_library(one).approvals.put("twice", ApprovedHashes.of(tool()))
    assert trusts(open_library(two)) == "draft", "the other machine goes on without it"
    file.write_bytes(whole)
    assert trusts(open_library(one)) == "verified"
    assert open_library(two).stats("twice").successes == 1
    file.write_bytes(b"damaged after that")
    databases.disconnect()
    assert trusts(open_library(one)) == "verified"


def test_a_damaged_file_that_is_moved_away_is_forgotten(machines):
    one, _ = machines
    file = one.data_dir / "approvals.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"{")
    library = open_library(one)
    assert "is corrupt" in library.approvals.read().damage
    file.rename(file.with_suffix(".damaged"))
    library.register(tool())
    assert trusts(library) == "verified"


async def test_a_note_that_one_replica_made_counts_once_for_all(machines, monkeypatch):
    one, two = map(open_markers, machines)
    assert one is not None
    assert two is not None
    await one.put("asked a", 60)
    await one.put("asked b", -1)
    assert [await two.has("asked a"), await two.has("asked b"), await two.take("asked b")] == [True, False, False]
    assert sorted(await asyncio.gather(*(notes.take("asked a") for notes in (one, two) * 3)))[-2:] == [False, True]
    assert not await one.has("asked a")
    monkeypatch.setattr(tool_records, "MAX_MARKERS", 3)
    for number in range(6):
        await one.put(f"note {number}", 60 + number)
    assert [await two.has(f"note {number}") for number in range(6)] == [False] * 3 + [True] * 3


def test_without_the_database_nothing_is_approved_and_calls_go_on(machines, postgres):
    one, _ = machines
    library = open_library(one)
    library.register(tool())
    postgres.stop()
    try:
        found = library.approvals.read()
        assert "cannot be used" in found.damage
        assert PASSWORD not in found.damage
        library.record_call("twice", True)
        assert library.stats("twice").calls == 0
        with pytest.raises(AlitaError, match="cannot be written"):
            library.approvals.put("twice", ApprovedHashes.of(tool()))
    finally:
        postgres.start()
    assert trusts(library) == "verified"
