"""Sessions on disk: any turns survive, nobody's turns are lost, and damage is told."""

from __future__ import annotations

import json
import multiprocessing
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answer import Answer
from agent.configuration.settings_sources import read_settings
from agent.conversation import Turn
from agent.errors import SessionError, StorageError
from agent.models.protocol import Usage
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
)

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def kept(folder: Path, *given: Turn) -> StoredSession:
    session = new_session("m")
    for turn in given or (TURN,):
        session.conversation.add(turn)
    return save_session(folder, session, NONE)


@settings(max_examples=10)
@given(st.lists(turns, max_size=5), texts)
def test_any_turns_survive_the_disk(given: list[Turn], summary: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        session = new_session("m")
        for turn in given:
            session.conversation.add(turn)
        session.conversation.summary, session.conversation.summarised = summary, len(given) // 2
        saved = save_session(Path(place), session, NONE)
        loaded = load_session(Path(place), saved.id)
        assert loaded.conversation == session.conversation
        assert (loaded.id, loaded.revision, loaded.model, loaded.started) == (saved.id, 1, "m", session.started)
        export_session(loaded, "md").encode()
        assert json.loads(export_session(loaded, "json"))["id"] == saved.id


def test_only_its_user_can_read_it(folder):
    session = kept(folder)
    path = folder / f"{session.id}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [p.suffix for p in folder.iterdir() if p.name != ".lock"] == [".json"], "no draft is left"


def test_no_key_is_written_down(folder):
    own = "very-own-secret"
    session = new_session("m")
    session.conversation.add(replace(TURN, question=f"my key {KEY} and {own}", answer=f"is {own}"))
    saved = save_session(folder, session, Redactor([own]))
    text = (folder / f"{saved.id}.json").read_text()
    assert KEY not in text
    assert own not in text


def test_two_who_go_on_with_one_session_both_keep_their_turns(folder):
    first = kept(folder)
    second = load_session(folder, first.id)
    first.conversation.add(replace(TURN, question="first goes on"))
    second.conversation.add(replace(TURN, question="second goes on"))
    saved_first = save_session(folder, first, NONE)
    saved_second = save_session(folder, second, NONE)
    assert saved_first.id == first.id
    assert saved_second.id != first.id
    assert saved_second.parent == first.id
    assert [t.question for t in load_session(folder, first.id).turns] == [TURN.question, "first goes on"]
    assert [t.question for t in load_session(folder, saved_second.id).turns] == [TURN.question, "second goes on"]
    again = save_session(folder, saved_second, NONE)
    assert (again.id, again.parent) == (saved_second.id, first.id), "from now on it has its own place"


def _adds_turns(folder: Path, session_id: str, name: str, count: int) -> None:
    session = load_session(folder, session_id)
    for number in range(count):
        session.conversation.add(replace(TURN, question=f"{name} {number}"))
        session = save_session(folder, session, NONE)


def test_processes_at_once_lose_no_turn(folder):
    session = kept(folder)
    names, count = ["a", "b"], 8
    context = multiprocessing.get_context("spawn")
    working = [context.Process(target=_adds_turns, args=(folder, session.id, name, count)) for name in names]
    for process in working:
        process.start()
    for process in working:
        process.join(50)
        assert process.exitcode == 0
    found = {turn.question for each in list_sessions(folder) for turn in each.turns}
    assert found == {TURN.question} | {f"{name} {number}" for name in names for number in range(count)}
    assert not damaged_sessions(folder)


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
def test_a_damaged_session_is_told_with_a_remedy_and_the_others_are_listed(folder, text):
    good, bad = kept(folder), kept(folder, replace(TURN, question="will be lost"))
    (folder / f"{bad.id}.json").write_text(text)
    with pytest.raises(SessionError) as raised:
        load_session(folder, bad.id)
    assert raised.value.remedy
    assert [s.id for s in list_sessions(folder)] == [good.id]
    [told] = damaged_sessions(folder)
    assert told.message == raised.value.message
    assert find_session(folder) == good.id
    delete_session(folder, find_session(folder, bad.id))
    assert not damaged_sessions(folder)


def test_where_nothing_can_be_written_it_is_told(tmp_path):
    (tmp_path / "sessions").write_text("a file in its place")
    with pytest.raises(StorageError, match="cannot be written"):
        save_session(tmp_path / "sessions", new_session("m"), NONE)


def test_markdown_cannot_steer_a_terminal(folder):
    text = export_session(kept(folder, replace(TURN, answer="\x1b]0;title\x07red\x1b[2J\u202e")), "md")
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
def test_an_export_fetches_nothing_when_it_is_opened(folder: Path, answer: str) -> None:
    from markdown_it import MarkdownIt

    asked = f"Look: ![q]({SPY}/q.png)"
    text = export_session(kept(folder, replace(TURN, question=asked, answer=answer, restated=asked)), "md")
    tokens = MarkdownIt("commonmark").parse(text)
    inner = [child for token in tokens for child in token.children or []]
    assert not [token for token in (*tokens, *inner) if token.type in ("image", "html_block", "html_inline")]


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_follow_up_that_was_interrupted_and_resumed_stays_in_its_conversation(
    is_saved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the turn before it was asked in a session or alone."""
    note = OwnRuns(read_settings()).note
    settings_, ids = read_settings(), iter(["261122-000000-aaaa", "261122-000001-aaaa"])
    monkeypatch.setattr("agent.store.runs.new_id", lambda: next(ids))
    first = create_run(settings_.runs_dir, "Who won?", model="m", note=note)
    save_run(
        settings_.runs_dir, replace(first, status="answered", answer=Answer("Ann", "answered", run_id=first.run_id))
    )
    if is_saved:
        kept(settings_.sessions_dir, Turn("Who won?", "Ann", first.run_id, "answered"))
    second = create_run(settings_.runs_dir, "And when?", model="m", configuration={"follows": first.run_id}, note=note)
    save_run(
        settings_.runs_dir, replace(second, status="answered", answer=Answer("1901", "answered", run_id=second.run_id))
    )
    assert [turn.answer for turn in latest_session(settings_).turns] == ["Ann", "1901"]
