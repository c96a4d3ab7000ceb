"""The commands of `alita tools` in a session: `/tools review NAME` is what `alita tools review NAME` is."""

import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.document import Document

from agent.cli.interactive.commands import COMMANDS, words_of
from agent.cli.interactive.completion import suggestions_of
from agent.configuration.settings_sources import read_settings
from mcp_tools.library.library import Library
from support.fibonacci import CODE, decide, write_script
from support.tmux import Terminal

NAME = "nth_fibonacci"
USES = f"from {NAME} import {NAME}\nprint({NAME}(n=57))"
PATIENT = '''def patient(n: int) -> int:
    """Count slowly.

    Args:
        n: The number.

    Returns:
        The number after it.

    Examples:
        >>> patient(1)
        2
    """
    import time

    time.sleep(9)
    return n + 1
'''


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("review nth_fibonacci", ["review", NAME]),
        ("run bmi '{\"kg\": 70}'", ["run", "bmi", '{"kg": 70}']),
        ('run bmi {"kg":70}', ["run", "bmi", '{"kg":70}']),
        ("create What's Bob's \"age\" now?", ["create", "What's", "Bob's", "age", "now?"]),
        ('wrap . --task="how thick?"', ["wrap", ".", "--task=how thick?"]),
        (r'create "a \"b\" \\ c"', ["create", r'a "b" \ c']),
        ('create "open', ["create", '"open']),
        ("show\nnaïve　名", ["show", "naïve", "名"]),
        ("", []),
    ],
)
def test_quotes_count_around_a_whole_word(typed: str, words: list[str]) -> None:
    assert words_of(typed) == words


def test_a_path_in_the_home_folder_is_that_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert words_of("import ~/tools '~/x'") == ["import", "/home/ada/tools", "~/x"]


@pytest.mark.parametrize(
    ("typed", "some", "others"),
    [
        ("/tools re", ["review", "restore"], ["approve"]),
        ("/tools review nth", [NAME], []),
        ("/tools review --ac", ["--accept"], ["--all"]),
        ("/tools import sub", ["sub/"], [NAME]),
        ("/tools export nth_fibonacci -o ", ["sub/"], [NAME]),
        ("/tools gc --days ", [], [NAME]),
        ("/tools fibonacci numbers", [], [NAME]),
    ],
)
def test_verbs_names_options_and_paths_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, some: list[str], others: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / f"{NAME}.py").write_text(CODE)
    found = suggestions_of(read_settings({"tools_dir": tmp_path / "tools"}), COMMANDS)
    texts = [one.text for one in found.get_completions(Document(typed))]
    assert {*some} <= {*texts}
    assert not {*others} & {*texts}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/tools versions", "Missing argument 'NAME'"),
        ("/tools show ../../etc/passwd", "no tool"),
        ("/tools versions naïve\u202e", "no tool"),
        (f"/tools diff {NAME} zz", "has no version with the hash 'zz'"),
        (f"/tools show {NAME} more", "unexpected extra argument"),
        ("/tools reveiw x", "Did you mean /tools review?"),
        ("/tools zebra", "No tool matches."),
        ("/tools review a\0b", "could not be started: embedded null byte"),
        ("/tools import \ud800", "could not be started"),
        (f"/tools review {'x' * 200_000}", "could not be started: Argument list too long"),
        ("!echo a\0b", "could not be started: embedded null byte"),
        ("/tools list", f"{NAME} is not served"),
    ],
)
async def test_what_only_looks_answers_in_the_session_and_nothing_ends_it(sitting: Any, typed: str, told: str) -> None:
    (sitting.folder / "tools").mkdir()
    (sitting.folder / "tools" / f"{NAME}.py").write_text(CODE)
    shown = await sitting.types(typed, "/verbose")
    assert told in shown
    assert "Model calls are shown." in shown


async def test_the_conversation_uses_a_tool_that_was_approved_in_it(
    sitting: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also the settings of the session hold, and no exit code of a command ends it."""

    def approve(_: object) -> str:
        (sitting.folder / "tools").mkdir(exist_ok=True)
        (sitting.folder / "tools" / f"{NAME}.py").write_text(CODE)
        return f"/tools approve {NAME} nothing"

    lines = [
        *(decide("run_code", code=USES, when=when) for when in ("First?", "Second?")),
        decide("answer", answer="It lacks.", when="No module named"),
        decide("answer", answer="It is there.", when="365435296162"),
    ]
    shown = await sitting.plays(*lines).types("First?", approve, "Second?", f"/tools delete {NAME}", "/tools")
    assert re.findall(r"  It (lacks|is there)", shown) == ["lacks", "is there"]
    assert "No tools are in" in shown
    said = capfd.readouterr()
    assert f"Approved {NAME}." in said.out
    assert "no tool 'nothing'" in said.err
    assert f"Deleted {NAME} from {sitting.folder / 'tools'}" in shown


def test_a_question_of_a_command_is_answered_and_ctrl_c_brings_the_prompt_back(tmp_path: Path) -> None:
    home, tools = tmp_path / "home", tmp_path / "home" / "data" / "generated_tools"
    tools.mkdir(parents=True)
    (tools / f"{NAME}.py").write_text(CODE)
    (tools / "patient.py").write_text(PATIENT)
    model = write_script(tmp_path / "script.jsonl", [])
    command = [sys.executable, "-c", "from agent.cli.main import main; main()", "--model", model]
    variables = {"PATH": "/usr/bin:/bin", "ALITA_HOME": str(home), "LANG": "C.UTF-8", "TERM": "screen-256color"}
    with Terminal(tmp_path, command, variables) as terminal:
        terminal.wait_for("alita (ask) ›")
        terminal.enter("/tools review")
        terminal.wait_for("Enter: later [y/n/Enter]")
        terminal.enter("y")
        time.sleep(1)  # the tests of the second tool have begun
        terminal.press("C-c")
        terminal.wait_for("Stopped.")
        terminal.wait_for("alita (ask) ›", count=2)
        terminal.press("C-d")
        assert terminal.ended() == 0
    library = Library(tools, home / "data")
    assert [library.trust(name) for name in (NAME, "patient")] == ["verified", "draft"]
    assert (tools / "patient.py").read_text() == PATIENT
