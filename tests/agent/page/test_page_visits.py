"""Conversations of the page: kept in the store, and each for its visitor alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent.configuration.settings_sources import read_settings
from agent.consent.hosts import HostToReach
from agent.consent.questions import CallProposal, PackagesToInstall, ToolToApprove, UserReply
from agent.page import visits as page_visits
from agent.page.approvals import described, scopes_of
from agent.page.visitors import Visitor, Visitors
from agent.page.visits import Visit, Visits
from agent.store.sessions import delete_session, list_sessions
from support.fibonacci import decide, write_script

ATTACK = "<img src=x onerror=alert(1)>"
TOOL = ToolToApprove("one", "one()", f"One. {ATTACK}", f"# {ATTACK}", ("it may read",))
Enter = Callable[[], tuple[Visitor, str]]


@pytest.fixture
async def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Visits]:
    monkeypatch.setenv("ALITA_TOOLS_DIR", str(tmp_path / "tools"))
    replies = [decide("answer", answer=f"Answer {number}. {ATTACK}") for number in range(4)]
    script = write_script(tmp_path / "script.jsonl", replies)
    found = Visits(read_settings({"model": script}), Visitors(), tmp_path, is_local=True)
    yield found
    await found.aclose()


@pytest.fixture
def enter(visits: Visits) -> Enter:
    """Lets a browser in, and opens a tab in it."""
    tabs = iter(f"tab-number-{number}" for number in range(100))

    def entered() -> tuple[Visitor, str]:
        visitor = visits.visitors.by_cookie[visits.visitors.admit()]
        tab = next(tabs)
        assert visits.visitors.owns(visitor, tab)
        return visitor, tab

    return entered


async def ask(visit: Visit, question: str) -> str:
    visit.ask(question, [], model="", agent="")
    async for _ in visit.watch():
        pass
    return visit.html


async def test_a_conversation_is_found_again_in_the_store(
    visits: Visits, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, tab = enter()
    visit = await visits.enter(tab, "")
    live = await ask(visit, f"Which colour has the wall? {ATTACK}")
    assert "Answer 0." in live
    monkeypatch.setattr(page_visits, "AWAY", 0.0)
    visits.leave(tab)
    await asyncio.sleep(0.05)
    again = await visits.enter(tab, visit.key)
    assert again is not visit
    for part in ("Which colour has the wall?", "Answer 0.", "answered · "):
        assert part in again.html
    assert "<img" not in live + again.html
    assert (await ask(again, "And the boat?")).count("Answer") == 2
    (session,) = list_sessions(visits.settings)
    assert [turn.question[:5] for turn in session.turns] == ["Which", "And t"]
    assert visits.conversations(tab) == [(session.title, visit.key)]
    assert visitor.conversations[visit.key][0] == session.id


async def test_a_tab_whose_connection_was_lost_has_its_conversation(
    visits: Visits, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, tab = enter()
    await ask(await visits.enter(tab, ""), "Which colour has the wall?")
    monkeypatch.setattr(page_visits, "AWAY", 0.0)
    visits.leave(tab)
    await asyncio.sleep(0.05)
    assert "Answer 0." in (await visits.of(tab)).html
    assert await visits.of(tab) is await visits.of(tab)


async def test_a_run_that_is_stopped_before_it_began_is_over(visits: Visits, enter: Enter) -> None:
    visit = await visits.enter(enter()[1], "")
    visit.ask("Which colour has the wall?", [], model="", agent="")
    await visit.stop()
    assert ("Stopped." in visit.html, "busy" in visit.html) == (True, False)


async def test_another_visitor_does_not_find_it(visits: Visits, enter: Enter) -> None:
    (_, tab), (_, other) = enter(), enter()
    visit = await visits.enter(tab, "")
    await ask(visit, "Which colour has the wall?")
    (session,) = list_sessions(visits.settings)
    for key in (visit.key, session.id, "../x", ATTACK):
        theirs = await visits.enter(other, key)
        assert (theirs.html, theirs.key in {visit.key, key}) == ("", False)
    assert visits.conversations(other) == []
    assert (await visits.of(other)) is theirs
    with pytest.raises(LookupError):
        await visits.enter("tab-of-nobody", visit.key)


async def test_a_conversation_that_was_deleted_is_a_new_one(
    visits: Visits, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, tab = enter()
    visit = await visits.enter(tab, "")
    await ask(visit, "Which colour has the wall?")
    monkeypatch.setattr(page_visits, "AWAY", 0.0)
    assert await visits.enter(tab, "") is not visit
    await asyncio.sleep(0.05)
    delete_session(visits.settings, list_sessions(visits.settings)[0].id)
    assert (await visits.enter(tab, visit.key)).html == ""


@pytest.mark.parametrize("is_back", [True, False], ids=["loaded again", "closed"])
async def test_a_run_goes_on_while_its_tab_is_loaded_again_and_ends_with_it(
    visits: Visits, enter: Enter, monkeypatch: pytest.MonkeyPatch, is_back: bool
) -> None:
    monkeypatch.setattr(page_visits, "AWAY", 0.05)
    _, tab = enter()
    visit = await visits.enter(tab, "")
    visit.ask("Which colour has the wall?", [], model="", agent="")
    hold = asyncio.get_running_loop().create_task(visit.confirm(TOOL))
    await asyncio.sleep(0)
    visits.leave(tab)
    if is_back:
        assert await visits.enter(tab, visit.key) is visit
    await asyncio.sleep(0.2)
    assert (await visits.enter(tab, visit.key) is visit) == is_back
    hold.cancel()


async def test_a_reply_counts_for_the_question_that_was_shown(visits: Visits, enter: Enter) -> None:
    visit = await visits.enter(enter()[1], "")
    first = asyncio.create_task(visit.confirm(TOOL))
    await asyncio.sleep(0)
    shown = visit.asking
    assert "<img" not in shown
    for wrong in ("", shown + " "):
        visit.reply(wrong, scope="once")
    visit.reply(shown, scope="folder")
    assert not first.done()
    visit.reply(shown, scope="once")
    assert await first == UserReply(True)
    second = asyncio.create_task(visit.confirm(PackagesToInstall(("scipy",), ("scipy 1.16",), (), 10)))
    await asyncio.sleep(0)
    visit.reply(shown, scope="once")
    assert not second.done()
    visit.reply(visit.asking, reason=" too large ")
    assert await second == UserReply(False, "too large")


async def test_all_further_tools_of_a_conversation_may_be_allowed(visits: Visits, enter: Enter) -> None:
    visit = await visits.enter(enter()[1], "")
    first = asyncio.create_task(visit.confirm(TOOL))
    await asyncio.sleep(0)
    visit.reply(visit.asking, scope="always")
    assert (await first).scope == "always"
    assert (await visit.confirm(TOOL)).allowed
    other = asyncio.create_task(visit.confirm(HostToReach("one", "example.org", "GET")))
    await asyncio.sleep(0)
    assert not other.done()
    other.cancel()
    theirs = asyncio.create_task((await visits.enter(enter()[1], "")).confirm(TOOL))
    await asyncio.sleep(0)
    assert not theirs.done()
    theirs.cancel()


def test_nothing_of_what_is_approved_is_left_out() -> None:
    code = "x = 1\n" * 20_000 + f"# the end {ATTACK}"
    shown = described(ToolToApprove("one", "one()", "One.", code, ("it may read",), (f"one() → {ATTACK}",)))
    assert "# the end &lt;img" in shown
    for part in ("it may read", "1 test", "one() → &lt;img"):
        assert part in shown
    assert "<img" not in shown


@pytest.mark.parametrize("lasting", [True, False], ids=["of this machine", "open to others"])
def test_only_the_user_of_this_machine_allows_for_good(lasting: bool, tmp_path: Path) -> None:
    call = CallProposal("use_tool", {}, "nobody named it", tool="files__read", paths=(str(tmp_path / "a.txt"),))
    host = HostToReach("one", "example.org", "GET", source="abc")
    more = {"always", "folder"} if lasting else set()
    assert {*scopes_of(call, lasting=lasting)} == {"once"} | more
    assert {*scopes_of(host, lasting=lasting)} == {"once"} | (more - {"folder"})
    assert {*scopes_of(HostToReach("", "example.org", "GET"), lasting=lasting)} == {"once"}
    assert {*scopes_of(TOOL, lasting=lasting)} == {"once", "always"}
    package = PackagesToInstall(("scipy",), ("scipy 1.16",), (), 10)
    assert {*scopes_of(package, lasting=lasting)} == ({"once"} if lasting else set())


async def test_visitors_of_a_page_that_is_open_to_others_choose_among_its_models(
    visits: Visits, enter: Enter, tmp_path: Path
) -> None:
    """A script says what alita does, and its error shows a line of any file."""
    script = write_script(tmp_path / "sent.jsonl", [decide("answer", answer="as the visitor wrote it")])
    shared = Visits(visits.settings, visits.visitors, tmp_path, is_local=False)
    visit = await shared.enter(enter()[1], "")
    for model in (script, "scripted:/etc/passwd", f"gpt-{ATTACK}"):
        visit.ask("Which colour has the wall?", [], model=model, agent="")
        async for _ in visit.watch():
            pass
    assert visit.html.count("This page has no model") == 3
    assert not [part for part in ("as the visitor", "not a JSON", "<img") if part in visit.html]
    assert shared.models == [visits.settings.model]
    await shared.aclose()


async def test_changed_settings_apply_from_the_next_question_on(visits: Visits, enter: Enter, tmp_path: Path) -> None:
    visit = await visits.enter(enter()[1], "")
    assert "Answer 0." in await ask(visit, "Which colour has the wall?")
    script = write_script(tmp_path / "new.jsonl", [decide("answer", answer="From the new model.")])
    visits.settings = read_settings({"model": script})
    assert "From the new model." in await ask(visit, "And the boat?")
