"""What may come next."""

from pathlib import Path

import pytest
from prompt_toolkit.document import Document

from agent.cli.interactive.commands import COMMANDS
from agent.cli.interactive.completion import MOST, Suggestion, Suggestions, suggestions_of
from agent.configuration.settings_sources import read_settings
from agent.store.runs import create_run


@pytest.fixture
def finder(tmp_path: Path) -> Suggestions:
    for name in ["alpha.txt", "beta two.txt", ".hidden", "bad\nname"]:
        (tmp_path / name).write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner.txt").write_text("")
    sources = {"tools": lambda: [Suggestion("area", "of a circle"), Suggestion("nth_prime")]}
    commands = [Suggestion("/show", "a tool"), Suggestion("/save"), Suggestion("/exit")]
    return Suggestions(commands, {"show": "tools", "save": "files"}, sources, tmp_path)


def texts(finder: Suggestions, before: str) -> tuple[int, list[str]]:
    typed, found = finder.find(before)
    return len(typed), [choice.text for choice in found]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("/s", (2, ["/show", "/save"])),
        ("/exi", (4, ["/exit"])),
        ("/show ", (0, ["area", "nth_prime"])),
        ("/show n", (1, ["nth_prime"])),
        ("/show prime", (5, ["nth_prime"])),
        ("/save al", (2, ["alpha.txt"])),
        ("/exit x", (1, [])),
        ("sum @al", (2, ["alpha.txt"])),
        ("sum @be", (2, ['"beta two.txt"'])),
        ('sum @"beta t', (7, ['"beta two.txt"'])),
        ("@folder/", (7, ["folder/inner.txt"])),
        ("@fol", (3, ["folder/"])),
        ("@.hid", (4, [".hidden"])),
        ("@nowhere/x", (9, [])),
        ("ordinary words", (0, [])),
        ("mail me@al", (0, [])),
        ("", (0, [])),
    ],
)
def test_choices(finder: Suggestions, before: str, expected: tuple[int, list[str]]) -> None:
    assert texts(finder, before) == expected


def test_names_that_could_steer_the_terminal_and_hidden_ones_are_not_offered(finder: Suggestions) -> None:
    assert texts(finder, "@")[1] == ["alpha.txt", '"beta two.txt"', "folder/"]


def test_a_folder_of_many_files_offers_some(tmp_path: Path) -> None:
    for number in range(MOST + 5):
        (tmp_path / f"f{number:03}").write_text("")
    assert len(list(Suggestions([], {}, {}, tmp_path).get_completions(Document("@")))) == MOST


def test_runs_are_completed_with_their_questions() -> None:
    settings = read_settings({"model": "embedded"})
    run = create_run(settings.runs_dir, "What is\x1b[2J 1 + 1?", model="m")
    _, found = suggestions_of(settings, COMMANDS).find("/trace ")
    assert found == [Suggestion(run.run_id, "What is 1 + 1?")]
