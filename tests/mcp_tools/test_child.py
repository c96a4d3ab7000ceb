"""A folder is never code: no child of ours imports from the current folder, runs in it, or holds a key it needs not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from mcp_tools import child
from support.every_child import KINDS

DRIVER = Path(__file__).parents[1] / "support" / "every_child.py"
KEY = "sk-a-key-that-no-child-needs-0123456789"


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of modules with everybody's names, each of which leaves a mark when it is imported; and the mark."""
    folder = tmp_path_factory.mktemp("trap")
    mark = tmp_path_factory.mktemp("mark") / "imported"
    names = {*sys.stdlib_module_names, *metadata.packages_distributions(), "sitecustomize", "usercustomize", "agent"}
    source = f"import _io\n_io.open({str(mark)!r}, 'a').write(__name__ + '\\n')\n"
    for name in names:
        if name.isidentifier() and name != "_io":
            (folder / f"{name}.py").write_text(source)
    (folder / "uv.toml").write_text("this is not TOML: whoever reads it fails [")
    return folder, mark


def variables(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(home), "ALITA_HOME": str(home), "OPENAI_API_KEY": KEY, "MY_TOKEN": KEY, "DISPLAY": ":9"}


@pytest.mark.timeout(180)
def test_no_child_takes_code_from_the_current_folder(trap: tuple[Path, Path], tmp_path: Path) -> None:
    folder, mark = trap
    done = subprocess.run(
        [sys.executable, "-P", DRIVER, ",".join(KINDS), tmp_path],
        cwd=folder, env=variables(tmp_path), capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not mark.exists(), mark.read_text()
    started = json.loads(done.stdout.splitlines()[-1])
    assert all(started.values()), started
    for process in (process for each in started.values() for process in each):
        assert process["cwd"] is not None, process["command"]
        assert not (folder / process["cwd"]).is_relative_to(folder)
        assert process["env"] is not None
        assert KEY not in process["env"].values(), process["command"]
    for process in (*started.get("drawing", ()), *started.get("browser", ())):
        assert process["env"]["TMPDIR"] == process["cwd"], "what a killed Playwright leaves goes with the profile"


@pytest.mark.parametrize("script", [True, False])
def test_alita_itself_takes_no_code_from_the_folder_in_which_a_client_starts_it(
    script: bool, trap: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent.hosts.clients import server_command

    with monkeypatch.context() as patch:
        if not script:
            patch.setattr(Path, "is_file", lambda _: False)
        command = server_command(tmp_path / "tools")
    assert ("-c" in command.args) is not script
    folder, mark = trap
    done = subprocess.run(
        [command.command, *command.args],
        cwd=folder, env=variables(tmp_path) | command.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not mark.exists(), mark.read_text()


def test_variables_are_listed_one_by_one_or_by_how_they_begin() -> None:
    ours = {"PATH": "/bin", "XDG_A": "1", "KEY": "2", "LC_TIME": "3", "TERM": "4"}
    assert child.environment("XDG_*", "TERM", of=ours, TMPDIR="/t") == {
        "PATH": "/bin", "XDG_A": "1", "TERM": "4", "TMPDIR": "/t",
    }  # fmt: skip


def test_the_import_path_of_a_child_has_no_relative_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", ".", "lib", *sys.path])
    assert not {"", ".", "lib"} & set(child.python("pass")[7:])
