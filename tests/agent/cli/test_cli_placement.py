"""Options before a command, or between its words."""

from __future__ import annotations

import itertools

import pytest

from support.command import Terminal

OPTIONS = ["-m slow", "-mslow", "--model=slow", "-q", "-vv", "--color never", "--plain", "--max-steps 3", "--no-cache"]
COMMANDS = ["runs list", "tools list", "config path"]


@pytest.mark.parametrize(("given", "command"), list(zip(OPTIONS, itertools.cycle(COMMANDS))))
def test_an_option_before_a_command_is_no_question(terminal: Terminal, given: str, command: str) -> None:
    got = terminal.call(*given.split(), *command.split())
    assert got.code == 0, got.err
    assert terminal.runs == []


@pytest.mark.parametrize(
    "line",
    ["--json tools list", "tools --json list", "--tools-dir x --json tools list", "--json tools --tools-dir=x list"],
)
def test_an_option_of_the_command_reaches_it_from_before(terminal: Terminal, line: str) -> None:
    assert terminal.call(*line.split()).json == []


def test_a_setting_before_a_command_without_it_counts_and_is_forgotten_afterwards(terminal: Terminal) -> None:
    shown = terminal.call("--max-steps", "3", "-m", "slow", "config", "show", "--json").json
    assert (shown["max_steps"]["value"], shown["model"]["source"]) == ("3", "flag --model")
    assert terminal.call("config", "show", "--json").json["model"]["source"] != "flag --model"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-f a runs list", "alita runs list has no option -f."),
        ("--json serve", "alita serve has no option --json."),
        ("--config a doctor", "No such option: --config"),
        ("--max-steps abc runs list", "--max-steps needs a whole number, got 'abc'."),
        ("runs list --limit x", "--limit needs a whole number, got 'x'."),
        ("-m x doctr", "Did you mean: alita doctor"),
        ("-m x -q run list", "Did you mean: alita runs list"),
    ],
)
def test_an_option_that_is_not_for_the_command_is_refused(terminal: Terminal, line: str, said: str) -> None:
    got = terminal.call(*line.split())
    assert got.code == 2
    assert said in got.err
    assert terminal.runs == []


@pytest.mark.parametrize(
    "rest", [["--", "doctor"], ["doctor is what?"], ["ask", "doctor"]], ids=["--", "quoted", "ask"]
)
def test_a_question_may_begin_with_the_word_of_a_command(terminal: Terminal, rest: list[str]) -> None:
    model = terminal.script({"role": "coordinator", "tool": "answer", "arguments": {"answer": "Paris"}})
    terminal.call("-m", model, *rest)
    assert len(terminal.runs) == 1
