"""Sessions on disk: any turns survive, nobody's turns are lost, and damage is told."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from agent.answer import Answer
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.conversation import Turn
from agent.errors import SessionError, StorageError
from agent.models.protocol import Usage
from agent.store.databases import open_store
from agent.store.own_runs import OwnRuns
from agent.store.redact import Redactor
from agent.store.runs import create_run, save_run
from agent.store.sessions import (
    StoredSession,
    damaged_sessions,
    delete_session,
    export_session,
    find_session,
    latest_session,
    list_sessions,
    load_session,
    new_session,
    save_session,
    trust_session,
)
from agent.store.signature import Signer

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
TURN = Turn("What is the 57th Fibonacci number?", "365435296162", "261122-000000-aaaa", "answered", ("fib",), asked=1.0)
NONE = Redactor()

texts = st.text(st.characters(), max_size=40)
turns = st.builds(
    Turn,
    question=texts,
    answer=texts,
    run_id=texts,
    status=st.sampled_from(["answered", "interrupted", "failed", "limit"]),
    tools_created=st.lists(texts, max_size=2).map(tuple),
    tools_used=st.lists(texts, max_size=2).map(tuple),
    restated=st.none() | texts,
    usage=st.builds(Usage, st.integers(0), st.integers(0), st.integers(0), st.integers(0), st.none() | st.floats(0, 9)),
    seconds=st.floats(0, 1e6),
    error=st.none() | texts,
    asked=st.floats(0, 1e10),
)


def kept(settings: Settings, *given: Turn) -> StoredSession:
    session = new_session("m")
    for turn in given or (TURN,):
        session.conversation.add(turn)
    return save_session(settings, session, NONE)


@profile(max_examples=10)
@given(st.lists(turns, max_size=5), texts)
def test_any_turns_survive_the_disk(given: list[Turn], summary: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        settings = read_settings(environment={"ALITA_HOME": place})
        session = new_session("m")
        for turn in given:
            session.conversation.add(turn)
        session.conversation.summary, session.conversation.summarised = summary, len(given) // 2
        saved = save_session(settings, session, NONE)
        loaded = load_session(settings, saved.id)
        assert loaded.conversation == session.conversation
        assert (loaded.id, loaded.revision, loaded.model, loaded.started) == (saved.id, 1, "m", session.started)
        export_session(loaded, "md").encode()
        assert json.loads(export_session(loaded, "json"))["id"] == saved.id


def test_no_key_is_written_down(settings):
    own = "very-own-secret"
    session = new_session("m")
    session.conversation.add(replace(TURN, question=f"my key {KEY} and {own}", answer=f"is {own}"))
    save_session(settings, session, Redactor([own]))
    with open_store(settings) as database:
        text = str([*database.rows("SELECT * FROM conversations"), *database.rows("SELECT * FROM turns")])
    assert KEY not in text
    assert own not in text


def test_two_who_go_on_with_one_session_both_keep_their_turns(settings):
    first = kept(settings)
    second = load_session(settings, first.id)
    first.conversation.add(replace(TURN, question="first goes on"))
    second.conversation.add(replace(TURN, question="second goes on"))
    saved_first = save_session(settings, first, NONE)
    saved_second = save_session(settings, second, NONE)
    assert saved_first.id == first.id
    assert saved_second.id != first.id
    assert saved_second.parent == first.id
    assert [t.question for t in load_session(settings, first.id).turns] == [TURN.question, "first goes on"]
    assert [t.question for t in load_session(settings, saved_second.id).turns] == [TURN.question, "second goes on"]
    again = save_session(settings, saved_second, NONE)
    assert (again.id, again.parent) == (saved_second.id, first.id), "from now on it has its own place"


def _adds_turns(session_id: str, name: str, count: int) -> None:
    settings = read_settings({})
    session = load_session(settings, session_id)
    for number in range(count):
        session.conversation.add(replace(TURN, question=f"{name} {number}"))
        session = save_session(settings, session, NONE)


def test_processes_at_once_lose_no_turn(settings):
    session = kept(settings)
    names, count = ["a", "b"], 8
    context = multiprocessing.get_context("spawn")
    working = [context.Process(target=_adds_turns, args=(session.id, name, count)) for name in names]
    for process in working:
        process.start()
    for process in working:
        process.join(50)
        assert process.exitcode == 0
    found = {turn.question for each in list_sessions(settings) for turn in each.turns}
    assert found == {TURN.question} | {f"{name} {number}" for name in names for number in range(count)}
    assert not damaged_sessions(settings)


DAMAGE = [
    ("", "cut to nothing"),
    ("{", "no JSON"),
    ("[]", "no object"),
    ('{"schema": 1}', "members missing"),
    ('{"schema": 99}', "a later version"),
    ('{"schema":1,"model":"m","started":1,"revision":1,"parent":null,"turns":[{"question":1}]}', "a turn that is none"),
    ("[" * 100_000, "nested without end"),
]


@pytest.mark.parametrize("text", [text for text, _ in DAMAGE], ids=[name for _, name in DAMAGE])
def test_a_damaged_session_is_told_with_a_remedy_and_the_others_are_listed(settings, text):
    good, bad = kept(settings), new_session("m")
    settings.sessions_dir.mkdir(parents=True, exist_ok=True)
    (settings.sessions_dir / f"{bad.id}.json").write_text(text)
    with pytest.raises(SessionError) as raised:
        load_session(settings, bad.id)
    assert raised.value.remedy
    assert [s.id for s in list_sessions(settings)] == [good.id]
    [told] = damaged_sessions(settings)
    assert told.message == raised.value.message
    assert find_session(settings) == good.id
    delete_session(settings, find_session(settings, bad.id))
    assert not damaged_sessions(settings)


def test_what_the_version_before_left_is_taken_whole(settings):
    """A session file of that version, one from elsewhere, and one that is imported twice after a kill."""
    own, foreign = StoredSession("261122-000000-aaaa", "m", 1.0, revision=3), new_session("m")
    for session in (own, foreign):
        session.conversation.add(replace(TURN, answer=session.id))
    files = settings.sessions_dir
    files.mkdir(parents=True)
    written = json.dumps(Signer(settings.data_dir).signed(own.id, own.as_json()))
    for _ in range(2):
        (files / f"{own.id}.json").write_text(written)
        (files / f"{foreign.id}.json").write_text(json.dumps(foreign.as_json()))
        found = {session.id: session for session in list_sessions(settings)}
        assert [*files.iterdir()] == []
    assert found.keys() == {own.id, foreign.id}
    assert (found[own.id].is_own, found[foreign.id].is_own) == (True, False)
    assert [t.answer for t in found[own.id].turns + found[foreign.id].turns] == [own.id, foreign.id]
    trust_session(settings, foreign.id)
    assert load_session(settings, foreign.id).is_own


def test_a_session_that_the_store_does_not_take_is_kept_in_a_file_until_it_does(settings, monkeypatch):
    first = kept(settings)

    def down(_: object) -> None:
        raise StorageError("The store is down.", remedy="Start it.")

    first.conversation.add(replace(TURN, question="while it is down"))
    other = new_session("m")
    other.conversation.add(TURN)
    with monkeypatch.context() as lost:
        lost.setattr("agent.store.sessions.open_store", down)
        for session in (first, other):
            with pytest.raises(StorageError, match="is down") as raised:
                save_session(settings, session, NONE)
            assert f"{session.id}.json" in raised.value.remedy
    assert {session.id: len(session.turns) for session in list_sessions(settings)} == {first.id: 2, other.id: 1}
    assert [*settings.sessions_dir.iterdir()] == []


def test_a_row_that_somebody_else_wrote_is_not_the_users(settings):
    session = kept(settings)
    with open_store(settings) as database:
        database.rows("UPDATE conversations SET record = replace(record, 'Fibonacci', 'prime')")
    assert load_session(settings, session.id).is_own == (settings.database_url is not None)


def test_markdown_cannot_steer_a_terminal(settings):
    text = export_session(kept(settings, replace(TURN, answer="\x1b]0;title\x07red\x1b[2J\u202e")), "md")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "red" in text


SPY = "https://spy.example"
PICTURES = [
    f"See ![a]({SPY}/1.png) and ![b][1]\n\n[1]: {SPY}/3",
    f"<img src={SPY}/2>\n< IFRAME src={SPY}>\n<IMG\nsrc={SPY}>",
    f"- x\n  ```\n![behind a list]({SPY})",
    f"```a`b\n![no fence]({SPY})",
    f"<script>\n```\n</script>\n```\n![x]({SPY})\n```",
    f"    indented\n![y]({SPY})",
    f"`code ![z]({SPY})",
    f'<div style="background: url({SPY})">x',
    f"A <table title='>' background={SPY}> and <p/style='background: url({SPY})'> and <meta\nhttp-equiv=refresh>",
]


@pytest.mark.parametrize("answer", PICTURES)
def test_an_export_fetches_nothing_when_it_is_opened(settings: Settings, answer: str) -> None:
    from markdown_it import MarkdownIt

    asked = f"Look: ![q]({SPY}/q.png)"
    text = export_session(kept(settings, replace(TURN, question=asked, answer=answer, restated=asked)), "md")
    tokens = MarkdownIt("commonmark").parse(text)
    inner = [child for token in tokens for child in token.children or []]
    assert not [token for token in (*tokens, *inner) if token.type in ("image", "html_block", "html_inline")]


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_follow_up_that_was_interrupted_and_resumed_stays_in_its_conversation(
    is_saved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous turn was either in a session or a single question."""
    note = OwnRuns(read_settings()).note
    settings, ids = read_settings(), iter(["261122-000000-aaaa", "261122-000001-aaaa"])
    monkeypatch.setattr("agent.store.runs.new_id", lambda: next(ids))
    first = create_run(settings.runs_dir, "Who won?", model="m", note=note)
    save_run(
        settings.runs_dir, replace(first, status="answered", answer=Answer("Ann", "answered", run_id=first.run_id))
    )
    if is_saved:
        kept(settings, Turn("Who won?", "Ann", first.run_id, "answered"))
    second = create_run(settings.runs_dir, "And when?", model="m", configuration={"follows": first.run_id}, note=note)
    save_run(
        settings.runs_dir, replace(second, status="answered", answer=Answer("1901", "answered", run_id=second.run_id))
    )
    assert [turn.answer for turn in latest_session(settings).turns] == ["Ann", "1901"]
