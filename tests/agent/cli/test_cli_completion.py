"""Shell completion, in the shells themselves: the scripts are loaded, and asked what they would complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cli.command_registry import COMMANDS
from support.command import Ended

BASH = """
source "$1"; shift
COMP_WORDS=(alita "$@"); COMP_CWORD=$#
_alita_completion alita
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
source $argv[1]
complete -C "$argv[2]" | string replace -r '\\t.*' ''
"""
ZSH = """
_arguments() { print -r -- "$1" }
_files() { print -- FILES }
compdef() { }
source "$1"; shift
words=(alita "$@"); CURRENT=$(( $# + 1 ))
_alita_completion
"""


@pytest.fixture
def scripts(quick: Callable[..., Ended], tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).write_text(quick("completion", shell).out)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A library with tools, one of which has a name that a shell would run; `alita` is on the path."""
    for name in ("fibonacci", "fizz_buzz", "$(touch evil)", "a b"):
        (tmp_path / "generated_tools" / f"{name}.py").parent.mkdir(exist_ok=True)
        (tmp_path / "generated_tools" / f"{name}.py").touch()
    for run in ("261121-104055-k3f9", "$(evil)"):
        (tmp_path / "home" / "data" / "runs" / run).mkdir(parents=True)
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
    lines = answers(["zsh", "-f", "-c", ZSH, "zsh", str(scripts / "zsh"), *words], folder, environment)
    return {word for line in lines for word, _ in re.findall(r'"([^"]*)"(:"(?:[^"]|"")*")?', line)}


SHELLS = [
    pytest.param(asked, id=name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"there is no {name}"))
    for name, asked in (("bash", in_bash), ("fish", in_fish), ("zsh", in_zsh))
]
CASES = {
    "commands": ([""], {command.name for command in COMMANDS}),
    "what a command leads to": (["packages", ""], {"list", "allow", "forget", "prune"}),
    "the beginning of a tool": (["tools", "show", "fib"], {"fibonacci"}),
    "a second tool": (["tools", "approve", "fibonacci", "f"], {"fibonacci", "fizz_buzz"}),
    "runs": (["runs", "show", ""], {"261121-104055-k3f9"}),
    "clients after a value": (["mcp", "install", "--name", "x", "cu"], {"cursor"}),
    "words of an option": (["mcp", "install", "--scope", ""], {"user", "project"}),
    "options of a question": (["--max-s"], {"--max-steps", "--max-seconds"}),
}


@pytest.mark.parametrize("asked", SHELLS)
def test_a_shell_completes(asked, scripts: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    """Each shell hands over its words, the one under the cursor too, and takes what it is given as text."""
    words, wanted = CASES["a second tool"]
    assert asked(words, scripts, tmp_path, environment) == wanted
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(("words", "wanted"), CASES.values(), ids=CASES.keys())
def test_words_are_completed(words, wanted, quick, tmp_path: Path, environment: dict[str, str]) -> None:
    line = {"COMP_WORDS": "\n".join(["alita", *words]), "COMP_CWORD": str(len(words))}
    folder = {"ALITA_TOOLS_DIR": str(tmp_path / "generated_tools")}
    done = quick(_ALITA_COMPLETE="complete_bash", **line, **folder)
    assert set(done.out.split()) == wanted
