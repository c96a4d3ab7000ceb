"""Runs as the page lists, shows and replays them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.alita import Alita
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.page import runs_tab as runs
from agent.page.visitors import Visitors
from agent.page.visits import Visits
from support.fibonacci import decide, write_script

ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture
async def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Settings, str]:
    """Settings, and the run of a question."""
    monkeypatch.setenv("ALITA_TOOLS_DIR", str(tmp_path / "tools"))
    script = write_script(tmp_path / "script.jsonl", [decide("answer", answer=f"It is grey. {ATTACK}")])
    settings = read_settings({"model": script})
    async with Alita.open(settings) as alita:
        answer = await alita.ask(f"Which colour has the harbour wall? {ATTACK}")
    return settings, answer.run_id


async def test_a_run_is_found_shown_and_replayed_and_nothing_in_it_is_markup(asked: tuple[Settings, str]) -> None:
    settings, run_id = asked
    for words in ("", "harbour", "grey"):
        ((label, found),), _ = runs.found(settings, words, None)
        assert (found, "answered · Which colour" in label) == (run_id, True)
    assert runs.found(settings, "submarine", None) == ([], "No runs were found.")
    shown = runs.described(settings, run_id)
    again = await runs.replayed(settings, run_id)
    assert "<img" not in shown + again
    assert "step 1" in shown
    assert "It is grey." in again


async def test_two_runs_are_compared_and_nothing_in_them_is_markup(asked: tuple[Settings, str], tmp_path: Path) -> None:
    settings, run_id = asked
    script = write_script(tmp_path / "other.jsonl", [decide("answer", answer=f"It is blue. {ATTACK}")])
    async with Alita.open(read_settings({"model": script})) as alita:
        other = (await alita.ask(f"Which colour has the boat? {ATTACK}")).run_id
    compared = runs.compared(settings, run_id, other)
    assert "<img" not in compared
    for part in ("It is grey.", "It is blue.", f'<span class="bad">--- {run_id}</span>', "▸ reply: It is blue."):
        assert part in compared, compared
    assert '<tr class="differs"><th>question</th>' in compared
    assert "The steps of both runs are the same." in runs.compared(settings, run_id, run_id)
    assert "Select the run" in runs.compared(settings, run_id, None)
    assert 'class="bad"' in runs.compared(settings, run_id, ATTACK)


async def test_a_key_with_an_invisible_character_inside_is_not_shown(
    asked: tuple[Settings, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, other = asked
    key = "my-very-own-endpoint-key"
    async with Alita.open(settings) as alita:
        run_id = (await alita.ask(f"Which colour has {key[:7]}\u200b{key[7:]}?")).run_id
    monkeypatch.setenv("OPENAI_API_KEY", key)
    keyed = read_settings({"model": settings.model})
    shown = runs.described(keyed, run_id), runs.compared(keyed, run_id, other), str(runs.found(keyed, "", None))
    assert [(key in each, "[redacted]" in each) for each in shown] == [(False, True)] * 3


@pytest.mark.parametrize("run_id", ["absent", "../../etc", ATTACK])
async def test_a_run_that_is_not_there_is_told(asked: tuple[Settings, str], run_id: str) -> None:
    shown = runs.described(asked[0], run_id) + await runs.replayed(asked[0], run_id)
    assert shown.count('class="bad"') == 2
    assert "<img" not in shown


async def test_visitors_of_a_page_that_is_open_to_others_see_their_own_runs(asked: tuple[Settings, str]) -> None:
    settings, run_id = asked
    visitors = Visitors()
    first, second = (visitors.by_cookie[visitors.admit()] for _ in range(2))
    assert visitors.owns(first, "tab-of-first")
    assert visitors.owns(second, "tab-of-second")
    first.runs.add(run_id)
    shared = Visits(settings, visitors, Path(), is_local=False)
    assert [found for _, found in runs.found(settings, "", shared.seen_by("tab-of-first"))[0]] == [run_id]
    for stranger in ("tab-of-second", "tab-of-nobody", None):
        assert runs.found(settings, "harbour", shared.seen_by(stranger))[0] == []
    assert Visits(settings, visitors, Path(), is_local=True).seen_by("tab-of-second") is None
