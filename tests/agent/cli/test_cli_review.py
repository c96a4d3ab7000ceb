"""`alita tools review` and `alita tools edit`, as processes and on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tools.library.library import Library
from support.command import Ended, Terminal, Tty
from support.fibonacci import CREATION, QUESTION, decide

Run = Callable[..., Ended]

SOURCE = '''def times_two(n: int) -> int:
    """Double a number.

    >>> times_two(4)
    8
    """
    return n * 2
'''
OTHER = SOURCE.replace("n * 2", "n + n")
WRONG = SOURCE.replace("n * 2", "n * 3")


@pytest.fixture
def alita(terminal: Terminal) -> Run:
    return lambda *arguments, **variables: terminal.call("tools", *arguments, **variables)


@pytest.fixture
def path(terminal: Terminal) -> Path:
    path = terminal.here / "generated_tools" / "times_two.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def library(terminal: Terminal) -> Library:
    return Library(terminal.here / "generated_tools", terminal.home / "data")


def served(library: Library) -> list[str]:
    return [tool.source for tool, _ in library.served()]


def editor(folder: Path, source: str) -> str:
    """An editor that replaces what it is given, and notes where it was."""
    (folder / "new.py").write_text(source)
    script = folder / "editor.sh"
    script.write_text(f'#!/bin/sh\necho "$1" > {folder}/opened\ncat {folder}/new.py > "$1"\n')
    script.chmod(0o755)
    return str(script)


def test_a_review_shows_all_and_decides_nothing_without_a_terminal(alita: Run, path: Path, library: Library) -> None:
    path.write_text(SOURCE.replace("(4)\n    8", "(2)\n    4"))
    done = alita("review")
    assert done.code == 0
    for line in ("+    return n * 2", "tests       1 passed", "calls       0 in 0 questions"):
        assert line in done.err
    assert served(library) == []
    [told] = alita("review", "times_two", "--mutants", "--json").json["reviews"]
    assert (told["verdict"], told["tests"]["passed"]) == ("open", 1)
    assert told["mutants"]["tried"] > told["mutants"]["caught"] > 0  # 2 * 2 is 2 + 2
    assert "`return n * 2` ->" in told["mutants"]["told"]
    assert served(library) == []


def test_a_review_lists_tests_with_their_results_and_show_the_defaults(alita: Run, path: Path) -> None:
    """Failed ones come first, and of many the first twelve are listed."""
    examples = "".join(f"        >>> times_two({n}, times=3)\n        {n * 3}\n" for n in range(20))
    source = f'''def times_two(n: int, times: int = 2, note: str | None = None) -> int:
    """Multiply a number.

    Args:
        n: The number.
        times: The factor.
        note: Nothing is done with it.

    Returns:
        The product.

    Examples:
{examples}        >>> times_two(1)
        3
    """
    return n * times
'''
    path.write_text(source)
    seen = alita("review", "times_two").err
    assert "  tests       20 of 21 passed\n  failed      times_two(n=1) gives 2, expected 3\n" in seen
    assert seen.count("  passed      times_two(n=") == 11
    assert "  passed      times_two(n=10, times=3) gives 30\n              and 9 more\n" in seen
    path.write_text(source.replace('        3\n    "', '        2\n    "'))
    assert alita("review", "times_two", "--accept").code == 0
    [told] = alita("review", "times_two", "--json").json["reviews"]
    assert told["cases"][-1] == {"result": "passed", "test": "times_two(n=1) gives 2"}
    assert "takes    n: integer, times: integer = 2, note: string or null = null\n" in alita("show", "times_two").out


def test_a_draft_is_accepted_an_edit_rejected_and_nothing_lost(alita: Run, path: Path, library: Library) -> None:
    done = alita("review", "times_two", "--accept")
    assert (done.code, done.out) == (0, "Approved times_two.\n")
    assert served(library) == [SOURCE]
    path.write_text(WRONG)
    refused = alita("review", "times_two", "--accept")
    assert refused.code == 1
    assert "a test fails: times_two(n=4) gives 12, expected 8" in refused.err
    done = alita("review", "times_two", "--reject")
    assert "the approved version was restored" in done.out
    assert served(library) == [SOURCE]
    kept = library.folder / ".alita" / "versions" / "times_two"
    assert WRONG in [file.read_text() for file in kept.glob("*.py")]
    assert alita("review").err == "No tool is waiting for review.\n"


def test_a_rejected_draft_is_removed_and_kept_among_the_versions(alita: Run, path: Path, library: Library) -> None:
    assert "Rejected times_two: removed" in alita("review", "times_two", "--reject").out
    assert not path.exists()
    assert [file.read_text() for file in (library.folder / ".alita" / "versions" / "times_two").glob("*.py")] == [
        SOURCE
    ]


@pytest.mark.parametrize(
    "arguments", [["times_two", "--accept", "--reject"], ["--accept"], ["--reject"], ["nothing", "--accept"]], ids=str
)
def test_a_review_that_cannot_decide_changes_nothing(
    alita: Run, path: Path, library: Library, arguments: list[str]
) -> None:
    assert alita("review", *arguments).code != 0
    assert path.read_text() == SOURCE
    assert served(library) == []


def test_a_review_writes_out_what_a_terminal_would_obey(alita: Run, path: Path, library: Library) -> None:
    """Before and after an approval, in the code, in its record and between versions."""
    alita("approve", "times_two")
    path.write_text(OTHER)
    alita("approve", "times_two")
    document = path.with_suffix(".json")
    evil = "\\u001b[2J\\u202e"
    document.write_text(document.read_text().replace('"edited": true', f'"edited": true, "model": "{evil}"'))
    for verb in (["review", "times_two"], ["diff", "times_two"], ["versions", "times_two"], ["show", "times_two"]):
        done = alita(*verb)
        assert not {"\x1b", "\u202e"} & {*done.out, *done.err}
    assert "\\u001b[2J" in alita("review", "times_two").err


def test_a_quarantined_tool_is_shown_tested_and_comes_back_by_a_review(
    alita: Run, path: Path, library: Library
) -> None:
    alita("approve", "times_two")
    for _ in range(3):
        library.record_call("times_two", False, "bug")
    done = alita("review", "times_two")
    assert "times_two is quarantined: 3 of its last 5 calls ended in a bug" in done.err
    assert "  return n * 2" in done.err
    assert "calls       3 in 0 questions, 0 succeeded, 0 refused, failed: 3 bug" in done.err
    assert served(library) == []
    assert alita("review", "times_two", "--accept").code == 0
    assert served(library) == [SOURCE]
    library.record_call("times_two", False, "bug")
    assert served(library) == [SOURCE]  # what was counted before the review counts no more


def test_on_a_terminal_each_draft_is_asked_about(terminal: Terminal, path: Path, library: Library) -> None:
    path.with_name("times_three.py").write_text(WRONG.replace("times_two", "times_three").replace("8", "12"))
    with_terminal = Tty(terminal.here, terminal.home, "tools", "review")
    with_terminal.wait_for("Accept times_three? y: approve it, n: remove it, Enter: later [y/n/Enter]")
    with_terminal.type("n\n")
    with_terminal.wait_for("Accept times_two?")
    with_terminal.type("y\n")
    with_terminal.wait_for("Approved times_two.")
    assert served(library) == [SOURCE]
    assert not path.with_name("times_three.py").exists()


def test_an_edit_is_tested_and_takes_the_place_of_the_tool_when_it_is_accepted(
    alita: Run, path: Path, library: Library, tmp_path: Path
) -> None:
    alita("approve", "times_two")
    done = alita("edit", "times_two", "--accept", EDITOR=editor(tmp_path, OTHER))
    assert (done.code, done.out) == (0, "Approved times_two.\n")
    assert "-    return n * 2\n" in done.err
    assert served(library) == [OTHER]
    opened = Path((tmp_path / "opened").read_text().strip())
    assert not opened.is_relative_to(library.folder.parent)
    assert not opened.parent.exists()
    assert alita("edit", "times_two", EDITOR=editor(tmp_path, OTHER)).err == "times_two is unchanged.\n"
    assert len(library.versions("times_two")) == 2
    missing = alita("edit", "times_two", EDITOR="no_such_editor")
    assert missing.code == 2
    assert "kept" not in missing.err


@pytest.mark.parametrize(
    ("source", "told"),
    [(WRONG, "a test fails"), ("def times_two(n):\n    return n\n", "typed"), ("def (", "parses")],
    ids=["fails its tests", "fails the checks", "is no Python"],
)
def test_a_wrong_edit_changes_nothing_and_is_kept(
    alita: Run, path: Path, library: Library, tmp_path: Path, source: str, told: str
) -> None:
    alita("approve", "times_two")
    done = alita("edit", "times_two", "--accept", VISUAL=editor(tmp_path, source))
    assert done.code != 0
    assert told in done.err
    assert served(library) == [SOURCE]
    kept = Path(done.err.partition("Your edited text is kept in ")[2].partition(".py")[0] + ".py")
    assert kept.read_text() == source


def test_a_result_that_changes_on_purpose_gets_new_tests(
    alita: Run, path: Path, library: Library, tmp_path: Path
) -> None:
    """What its new docstring shows is tested, and nothing else; a wrong example is still refused."""
    alita("approve", "times_two")
    other = WRONG.replace("times_two(4)\n    8", "times_two(5)\n    15")
    refused = alita("edit", "times_two", "--accept", EDITOR=editor(tmp_path, other))
    assert "1 of 2 passed" in refused.err
    assert "or drop the older tests: alita tools edit times_two --new-tests" in refused.err
    refused = alita("edit", "times_two", "--accept", "--new-tests", EDITOR=editor(tmp_path, WRONG))
    assert "a test fails: times_two(n=4) gives 12, expected 8" in refused.err
    done = alita("edit", "times_two", "--accept", "--new-tests", EDITOR=editor(tmp_path, other))
    assert (done.code, done.out) == (0, "Approved times_two.\n")
    assert [test["arguments"] for test in library.get("times_two").provenance["tests"]] == [{"n": 5}]


def test_an_edit_without_consent_or_beside_another_is_kept_and_changes_nothing(
    alita: Run, path: Path, library: Library, tmp_path: Path
) -> None:
    alita("approve", "times_two")
    done = alita("edit", "times_two", EDITOR=editor(tmp_path, OTHER))
    assert done.out == "times_two is unchanged.\n"
    assert "Your edited text is kept in " in done.err
    script = editor(tmp_path, OTHER)
    with Path(script).open("a") as file:
        file.write(f"echo '# mine' >> {path}\n")
    done = alita("edit", "times_two", "--accept", EDITOR=script)
    assert "times_two was changed in the meantime" in done.err
    assert path.read_text() == SOURCE + "# mine\n"


def test_a_tool_is_made_from_the_command_line_found_again_or_refused(terminal: Terminal, library: Library) -> None:
    def create(question: str, *replies: dict) -> Ended:
        script = terminal.script(*replies, {"text": "no", "repeat": True})
        return terminal.run("tools", "create", question, "-m", script, "--approve", "auto")

    made = create(QUESTION, decide("create_tool"), *CREATION)
    assert (made.code, made.out) == (0, "365435296162\n")
    assert "New: nth_fibonacci." in made.err
    assert [tool.name for tool, _ in library.served()] == ["nth_fibonacci"]
    found = create(QUESTION)
    assert (found.code, found.out) == (0, "365435296162\n")
    assert "The library already has a tool for this: nth_fibonacci." in found.err
    [counted] = terminal.call("tools", "stats", "--json").json
    assert (counted["calls"], counted["questions"]) == (2, 1)  # twice the same
    none = create("Who is it?")
    assert (none.code, none.out) == (3, "")
