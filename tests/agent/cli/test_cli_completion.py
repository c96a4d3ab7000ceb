"""Shell completion, in the shells themselves: the scripts are loaded, and asked what they would complete."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent.cli.completing import bash, fish, zsh
from agent.cli.completing.commands import completed
from agent.cli.main import COMMANDS

BASH = """
source "$1"; shift
COMP_WORDS=(alita "$@"); COMP_CWORD=$#
_alita
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
source $argv[1]
complete -C "$argv[2]" | string replace -r '\\t.*' ''
"""
ZSH = """
_describe() { shift $(( $# - 1 )); print -l -- "${(@P)1%%:*}" }
compadd() { shift; print -l -- "$@" }
_files() { print -- FILES }
compdef() { }
source "$1"; shift
words=(alita "$@"); CURRENT=$(( $# + 1 ))
_alita
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    places = completed()
    for shell in (bash, zsh, fish):
        (folder / shell.__name__.rpartition(".")[2]).write_text(shell.script(places))
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A library with tools, one of which has a name that a shell would run; `alita` is on the path."""
    for name in ("fibonacci", "fizz_buzz", "$(touch evil)", "a b"):
        (tmp_path / "generated_tools" / f"{name}.py").parent.mkdir(exist_ok=True)
        (tmp_path / "generated_tools" / f"{name}.py").touch()
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "ALITA_HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
    }


def answers(command: list[str], folder: Path, environment: dict[str, str]) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=50, check=False)
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


def in_bash(words: list[str], scripts: Path, folder: Path, environment: dict[str, str]) -> set[str]:
    return answers(["bash", "--norc", "-c", BASH, "bash", str(scripts / "bash"), *words], folder, environment)


def in_fish(words: list[str], scripts: Path, folder: Path, environment: dict[str, str]) -> set[str]:
    line = " ".join(["alita", *words])
    return answers(["fish", "--no-config", "-c", FISH, str(scripts / "fish"), line], folder, environment)


def in_zsh(words: list[str], scripts: Path, folder: Path, environment: dict[str, str]) -> set[str]:
    found = answers(["zsh", "-f", "-c", ZSH, "zsh", str(scripts / "zsh"), *words], folder, environment)
    return {name for name in found if name.startswith(words[-1])}


SHELLS = [
    pytest.param(asked, id=name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"there is no {name}"))
    for name, asked in (("bash", in_bash), ("fish", in_fish), ("zsh", in_zsh))
]
TOOLS = {"fibonacci", "fizz_buzz"}
CASES = {
    "commands": ([""], {command.name for command in COMMANDS}),
    "the beginning of one": (["to"], {"tools"}),
    "what a command leads to": (["tools", ""], {"list", "show", "search", "run", "check", "approve", "delete"}),
    "tools": (["tools", "show", ""], TOOLS),
    "the beginning of a tool": (["tools", "show", "fib"], {"fibonacci"}),
    "a second tool": (["tools", "approve", "fibonacci", "fiz"], {"fizz_buzz"}),
    "clients": (["mcp", "install", "c"], {"claude-desktop", "claude-code", "cursor", "codex"}),
    "clients after a value": (["mcp", "install", "--name", "x", "cu"], {"cursor"}),
    "words of an option": (["mcp", "install", "--scope", ""], {"user", "project"}),
    "shells": (["completion", ""], {"bash", "zsh", "fish"}),
    "a value that is the name of a command": (["--model", "tools", "to"], {"tools"}),
    "options": (["tools", "run", "--gr"], {"--grant-read"}),
    "options of a question": (["--max-s"], {"--max-steps", "--max-seconds"}),
}


@pytest.mark.parametrize("asked", SHELLS)
@pytest.mark.parametrize(("words", "wanted"), CASES.values(), ids=CASES.keys())
def test_a_shell_completes(asked, words, wanted, scripts: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    assert asked(words, scripts, tmp_path, environment) == wanted
    assert not (tmp_path / "evil").exists()


def test_names_of_runs_and_tools_come_from_the_disk(tmp_path: Path, environment: dict[str, str]) -> None:
    """And none that a shell could take for more than a name."""
    (tmp_path / "home" / "data" / "runs" / "261121-104055-k3f9").mkdir(parents=True)
    (tmp_path / "home" / "data" / "runs" / "$(evil)").mkdir()
    command = ["alita", "completion", "words"]
    assert answers([*command, "runs"], tmp_path, environment) == {"261121-104055-k3f9"}
    assert answers([*command, "tools"], tmp_path, environment) == TOOLS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell: str, scripts: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["alita", "completion", shell], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (scripts / shell).read_text()


def test_every_command_and_option_is_in_every_script(scripts: Path) -> None:
    for place in completed():
        for name, _ in place.commands:
            for shell in ("bash", "zsh", "fish"):
                assert name in (scripts / shell).read_text()
        for option in place.options:
            assert all(spelling in (scripts / "bash").read_text() for spelling in option.spellings)


def test_hidden_commands_are_not_completed() -> None:
    assert ("completion", "words") not in [place.path for place in completed()]


def test_the_command_itself_loads_nothing_of_this() -> None:
    """Start-up of every other command stays what it was."""
    code = "import sys, agent.cli.main; print([m for m in sys.modules if 'complet' in m and m.startswith('agent')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
