"""A session: questions, approval, commands, and what is kept of them."""

import asyncio
import dataclasses
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from agent.cli.interactive.prompt import Interrupted
from agent.conversation import Conversation
from agent.store.runs import load_run
from agent.store.sessions import list_sessions, load_session, save_session
from mcp_tools.library.library import Library
from support import gauge
from support.fibonacci import ANSWER, CREATION, QUESTION, STORY, Line, decide
from support.openai_server import OpenAIServer, Step
from support.wheels import OFFLINE


def says(text: str, **more: Any) -> Line:
    return decide("answer", answer=text) | more


B_ALONE: Line = {"role": "conversation", "json": {"question": "b?"}}
"""`b?` after another question is a question that stands alone."""


@pytest.mark.parametrize(
    ("keys", "kept", "told"),
    [
        (["y"], True, "saved"),
        (["n"], False, "was not kept: it was not approved"),
        (["a"], True, "From now on, every tool that passes its tests is kept"),
        ([EOFError], False, "was not kept"),
    ],
)
async def test_a_new_tool_is_shown_and_kept_as_decided(sitting: Any, keys: list[Any], kept: bool, told: str) -> None:
    scratch = decide("answer", answer=ANSWER, when=f"Its result here: {ANSWER}")
    shown = await sitting.plays(scratch, *STORY).types(QUESTION, *keys)
    assert "4  def nth_fibonacci(n: int) -> int:" in shown
    assert "tests pass" in shown
    assert told in shown
    assert f"\n  {ANSWER}\n" in shown
    assert (sitting.folder / "tools" / "nth_fibonacci.py").exists() is kept
    assert sitting.asked[0] == "Keep this tool?"
    assert shown.index("def nth_fibonacci(n: int)") < shown.index("tests pass") < shown.index(told)


@pytest.mark.parametrize(("mode", "kept"), [("auto", True), ("never", False)])
async def test_the_other_modes_ask_nobody(sitting: Any, mode: str, kept: bool) -> None:
    shown = await sitting.plays(*STORY).types(f"/approve {mode}", QUESTION)
    assert f"Approval mode is {mode}" in shown
    assert sitting.asked == []
    assert (sitting.folder / "tools" / "nth_fibonacci.py").exists() is kept


@pytest.mark.parametrize(
    ("between", "is_sent"),
    [
        pytest.param([], True, id="a follow-up"),
        pytest.param(["/new"], False, id="/new"),
        pytest.param(["/undo"], False, id="/undo"),
        pytest.param(["/undo", "/retry"], True, id="/undo, /retry"),
    ],
)
async def test_the_endpoint_gets_the_turns_of_the_session_alone(
    sitting: Any, openai_server: OpenAIServer, between: list[str], is_sent: bool
) -> None:
    openai_server.default = lambda _: Step(text="Noted.")
    flags = {"model": "gpt-test", "base_url": openai_server.url, "api_key": "k", "allow_private": True}
    await sitting.types("Which harbour is north?", *between, "And which is south?", **flags)
    sent = openai_server.requests[-1]["messages"]
    assert "And which is south?" in str(sent[-1])
    assert ("Which harbour is north?" in str(sent), "Noted." in str(sent)) == (is_sent, is_sent)


async def test_a_session_saves_itself_and_is_resumed(sitting: Any) -> None:
    shown = await sitting.plays(says("forty-two")).types("What is it?")
    session = sitting.terminal.session
    assert f"alita --resume {session.id}" in shown
    again = load_session(sitting.terminal.settings, session.id)
    shown = await sitting.plays().types("/cost", session=again)
    assert "What is it?" in shown
    shown = await sitting.types("/resume", "/undo")
    assert "You asked:\n  What is it?\nThe answer was:\n  forty-two\n" in shown
    assert load_session(sitting.terminal.settings, session.id).turns == []


async def test_an_answer_that_was_saved_before_a_kill_is_found_again(sitting: Any) -> None:
    await sitting.plays(says("forty-two")).types("What is it?")
    session, settings = sitting.terminal.session, sitting.terminal.settings
    begun = dataclasses.replace(session.turns[0], answer="", status="interrupted")
    killed = dataclasses.replace(session, conversation=Conversation([begun]))
    save_session(settings, killed, sitting.terminal.redactor)
    shown = await sitting.types("/new", f"/resume {session.id}")
    assert "You asked:\n  What is it?\nThe answer was:\n  forty-two\n" in shown
    assert "/continue goes on" not in shown


async def test_retry_asks_again_and_replaces_the_turn(sitting: Any) -> None:
    shown = await sitting.plays(says("one"), says("two")).types("Which?", "/retry")
    assert "Asking again:\n  Which?" in shown
    assert [turn.answer for turn in sitting.turns] == ["two"]


async def test_a_retry_whose_file_is_gone_says_so_and_keeps_the_turn(sitting: Any, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1")
    remove: Any = lambda _: (tmp_path / "data.csv").unlink() or "/retry"  # noqa: E731
    shown = await sitting.plays(says("one"), says("two")).types("Sum @data.csv", remove)
    assert "data.csv" in shown.partition("Asking again:")[2]
    assert "Correct the path, or ask without this file." in shown
    assert [turn.answer for turn in sitting.turns] == ["one"]


async def test_the_output_of_a_command_comes_with_the_next_question(
    sitting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    sitting.plays(decide("answer", answer="x"))
    command = "echo sk-0123456789abcdef $OPENAI_API_KEY.; echo two >&2; head -c 300000 /dev/zero | tr '\\\\0' y"
    shown = await sitting.types("!!", f"!!{command}", "What does it say?", "/files")
    assert "! needs a command." in shown
    assert "Attached: output_1.txt" in shown
    run = load_run(sitting.terminal.settings.runs_dir, sitting.turns[0].run_id)
    path = Path(run.files[0].path)
    text = await asyncio.to_thread(path.read_text)
    assert text.startswith("$ echo ")
    assert ".\ntwo\n" in text
    assert "sk-0123456789abcdef" not in text
    assert text.endswith("[The rest of the output was not kept.]\n")
    assert len(text) < 101_000
    assert sitting.turns[0].question == "What does it say?"
    assert f"bytes  {path}" in shown


async def test_files_of_the_session_are_listed_with_what_became_of_them(sitting: Any, tmp_path: Path) -> None:
    for name in ("same.txt", "changed.txt", "gone.txt", "next.txt"):
        (tmp_path / name).write_text(name)
    sitting.plays(decide("answer", answer="x"))

    def change(_: Any) -> str:
        (tmp_path / "changed.txt").write_text("another text")
        (tmp_path / "gone.txt").unlink()
        return "/attach next.txt"

    shown = await sitting.types("/files", "Compare @same.txt @changed.txt @gone.txt", change, "/files")
    assert "This session has no files." in shown
    rows = [row.split() for row in shown.splitlines() if str(tmp_path) in row][-4:]
    assert [(row[0], " ".join(row[1:-1]), Path(row[-1]).name) for row in rows] == [
        ("attached", "8 bytes", "same.txt"),
        ("attached", "12 bytes, changed", "changed.txt"),
        ("attached", "gone", "gone.txt"),
        ("for", "the next question 8 bytes", "next.txt"),
    ]


async def test_files_that_are_named_or_attached_come_with_one_question(sitting: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1")
    (tmp_path / "b c.csv").write_text("22")
    sitting.plays(says("one", when="Sum a.csv"), says("two", when="Again"))
    shown = await sitting.types('/attach "b c.csv"', "/attach", "Sum @a.csv and @gone.csv", "Sum @a.csv", "Again?")
    assert "  b c.csv  2 bytes" in shown
    assert "Attached: b c.csv, a.csv" in shown
    assert "No such file: gone.csv" in shown
    assert shown.count("Attached: b c.csv") == 1


async def test_the_last_answer_is_saved_and_replaced_only_when_wanted(sitting: Any, tmp_path: Path) -> None:
    await sitting.plays(says("forty-two")).types("?", "/save out.txt", "/save out.txt", "n", "/save .")
    assert (tmp_path / "out.txt").read_text() == "forty-two\n"
    (tmp_path / "out.txt").write_text("mine")
    await sitting.types("/resume", "/save out.txt", "y")
    assert (tmp_path / "out.txt").read_text() == "forty-two\n"


async def test_route_and_trace_show_the_last_run(sitting: Any) -> None:
    shown = await sitting.plays(says("one")).types("a?", "/route", "/trace")
    assert "  1  answer" in shown
    assert sitting.turns[0].run_id in shown.rpartition("/trace")[0] + shown
    assert "step 1" in shown


async def test_tools_are_listed_found_and_shown(sitting: Any) -> None:
    shown = await sitting.plays(*STORY).types(
        "/tools", QUESTION, "y", "/tools", "/tools fibonacci", "/show nth_fibonacci"
    )
    assert "No tools are in" in shown
    assert shown.count("  nth_fibonacci  verified  Compute a Fibonacci number.") == 1
    assert re.search(r"  nth_fibonacci  \d\.\d\d  Compute a Fibonacci number\.", shown)
    assert "takes    n: integer" in shown
    shown = await sitting.types("/show nth_fibonaci", "/tools zebra")
    assert "nth_fibonacci" in shown
    assert "No tool matches." in shown


async def test_create_leads_to_a_tool_whatever_the_model_would_rather_do_and_so_does_its_retry(sitting: Any) -> None:
    made = decide("create_tool", when="no function 'run_python'")
    rather = [made, decide("run_code", code="print(1)", when=QUESTION), *CREATION]
    shown = await sitting.plays(*rather).types(f"/create {QUESTION}", "y")
    assert "New: nth_fibonacci." in shown
    shown = await sitting.plays(*rather).types(f"/create {QUESTION}", "n", "/retry", "y")
    assert "New: nth_fibonacci." not in shown, "the library has it by now"
    Library(sitting.folder / "tools", sitting.folder / "data").delete("nth_fibonacci")
    await sitting.plays(*rather, *rather).types(f"/create {QUESTION}", "n", "/retry", "y")
    assert [tool.name for tool in Library(sitting.folder / "tools", sitting.folder / "data").list()] == [
        "nth_fibonacci"
    ]


async def test_the_model_is_changed_and_a_wrong_one_changes_nothing(sitting: Any, tmp_path: Path) -> None:
    sitting.plays(says("old one"))
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "new one", "when": "a?"}\n')
    wrong = f"/model scripted:{tmp_path}/nowhere"
    shown = await sitting.types("/model", wrong, "/model", f"/model scripted:{other}", "a?")
    assert shown.count(f"The model is scripted:{tmp_path}/script.jsonl (flag --model).") == 2
    assert f"the session keeps using scripted:{tmp_path}/script.jsonl" in shown.replace("\n  ", " ")
    assert [turn.answer for turn in sitting.turns] == ["new one"]


async def test_an_error_is_told_and_the_prompt_comes_back(sitting: Any) -> None:
    refused = {"role": "coordinator", "error": "busy", "message": "try\x1b[2J later", "when": "a?"}
    shown = await sitting.plays(refused, B_ALONE, says("fine", when="b?")).types("a?", "b?")
    assert shown.count("Error: try later.") == 1
    assert [(turn.status, turn.answer) for turn in sitting.turns] == [("failed", ""), ("answered", "fine")]


async def test_keys_are_not_kept(sitting: Any) -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz"
    await sitting.plays(says("fine")).types(f"Use {key}")
    assert key not in sitting.turns[0].question
    assert not any(key in path.read_text() for path in sitting.terminal.settings.data_dir.rglob("*.json*"))


async def press_ctrl_c_in_a_run(sitting: Any) -> None:
    """Waits until the session's first run has begun."""
    while not (turn := getattr(getattr(sitting, "terminal", None), "_turn", None)) or not turn.run_id:  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


async def test_a_stopped_run_is_gone_on_with_in_its_turn(sitting: Any) -> None:
    slow = says("42", when="a?") | {"delay": 0.6, "repeat": True}
    pressing = asyncio.create_task(press_ctrl_c_in_a_run(sitting))
    shown = await sitting.plays(slow).types("a?", "/continue")
    await pressing
    assert "/continue resumes it" in shown
    assert "Continuing:" in shown
    assert [(turn.question, turn.status, turn.answer) for turn in sitting.turns] == [("a?", "answered", "42")]


async def test_a_shell_command_gets_no_keys(
    sitting: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    shown = await sitting.plays(says("x")).types("!echo key=$OPENAI_API_KEY home=$HOME", "!exit 3")
    said = capfd.readouterr().out
    assert "key= home=/" in said
    assert "exited with status 3" in shown


async def test_ctrl_c_at_the_prompt_leaves_the_second_time(sitting: Any) -> None:
    shown = await sitting.plays(says("one")).types(Interrupted, "a?", Interrupted, Interrupted, "b?")
    assert shown.count("Press Ctrl-C again or Ctrl-D to leave") == 2
    assert [turn.question for turn in sitting.turns] == ["a?"]


async def test_two_terminals_on_one_session_lose_no_turn(sitting: Any) -> None:
    await sitting.plays(says("one")).types("a?")
    settings, session_id = sitting.terminal.settings, sitting.terminal.session.id
    mine = load_session(settings, session_id)
    theirs = load_session(settings, session_id)
    await sitting.plays(says("two", when="b?")).types("2 + 2", session=theirs)
    shown = await sitting.types("3 + 3", session=mine)
    assert "Another alita process continued this session" in shown
    answers = {session.id: [turn.answer for turn in session.turns] for session in list_sessions(settings)}
    assert sorted(answers.values()) == [["one", "4"], ["one", "6"]]


async def test_where_nothing_can_be_saved_questions_are_answered_all_the_same(sitting: Any) -> None:
    sitting.plays(says("one"))
    folder = sitting.folder / "home"
    (folder / "alita.sqlite").mkdir(parents=True)
    shown = await sitting.types("2 + 2", "3 + 3", data_dir=folder)
    assert shown.count("cannot be used") == 1
    assert "\n  4\n" in "\n" + shown
    (folder / "alita.sqlite").rmdir()
    [kept] = list_sessions(sitting.terminal.settings)
    assert [turn.answer for turn in kept.turns] == ["4", "6"]


async def test_sources_stand_below_an_answer(sitting: Any, site: Any) -> None:
    url = f"{site.url}/lighthouse"
    lines = [says("37", when='<data source="read">'), decide("read_file", file=url)]
    shown = await sitting.plays(*lines).types("How high is the tower?", allow_private=True)
    assert "Sources:\n" in shown
    assert f"[1] Grey Point lighthouse — {url}" in shown
    assert shown.index("\n  37\n") < shown.index("Sources:")


async def test_wrap_makes_a_tool_around_the_user_s_own_code(sitting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    repository = gauge.write_repository(sitting.folder / "needles")
    shown = await sitting.plays(*gauge.made_by()).types(f"/wrap {repository}", f"/wrap {repository} {gauge.TASK}", "y")
    assert "/wrap needs a question" in shown
    assert re.search(rf"New: {gauge.NAME}\.", shown), shown
