"""`alita mcp install|uninstall|json` as processes: exit code, stdout, stderr and the file together."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import Ended, Terminal

ALITA = Path(sys.executable).parent / "alita"
Run = Callable[..., Ended]


@pytest.fixture
def alita(terminal: Terminal, tmp_path: Path) -> Run:
    """Runs the command in an empty project, with a home of its own and a key in the environment."""
    (tmp_path / "me").mkdir()
    terminal.here = tmp_path / "project"
    terminal.here.mkdir()

    def run(*arguments: str, **variables: str) -> Ended:
        return terminal.call(
            *arguments, **{"HOME": str(tmp_path / "me"), "OPENAI_API_KEY": "sk-never-to-be-written", **variables}
        )

    return run


def everything(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_installing_is_seen_done_once_and_undone(client: str, alita: Run, tmp_path: Path) -> None:
    """The second time changes nothing and says so; no key is in any file."""
    done = alita("mcp", "install", client, "--json")
    assert done.code == 0, done.err
    told = done.json
    path = Path(told["path"])
    assert (told["ok"], told["changed"], told["backup"]) == (True, True, None)
    assert path.is_relative_to(tmp_path / "me")
    text = path.read_text()
    assert str(ALITA) in text
    assert str(tmp_path / "home") in text
    again = alita("mcp", "install", client)
    assert (again.code, again.out) == (0, "")
    assert "already has it" in again.err
    assert path.read_text() == text
    assert all("sk-never" not in content for content in everything(tmp_path).values())
    gone = alita("mcp", "uninstall", client, "--json").json
    assert gone["changed"]
    assert Path(gone["backup"]).read_text() == text
    assert str(ALITA) not in path.read_text()
    assert "Nothing was changed" in alita("mcp", "uninstall", client).err


def test_the_command_runs_without_an_active_environment(alita: Run, tmp_path: Path) -> None:
    """What is written is started as a client starts it: with nearly no environment, in another folder."""
    server = alita("mcp", "json").json["mcpServers"]["alita"]
    assert Path(server["command"]).is_absolute()
    started = subprocess.run(
        [server["command"], "config", "show", "--json"],
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "me"), **server["env"]},
        timeout=50,
        check=False,
    )
    assert started.returncode == 0, started.stderr
    assert json.loads(started.stdout)["data_dir"]["value"] == str(tmp_path / "home" / "data")


def test_the_library_that_is_used_here_is_the_one_that_is_served(alita: Run, tmp_path: Path) -> None:
    """A client starts the server elsewhere: a library of the current folder is named, the usual one is not."""
    assert "ALITA_TOOLS_DIR" not in alita("mcp", "json").json["mcpServers"]["alita"]["env"]
    (tmp_path / "project" / "generated_tools").mkdir()
    for arguments, environment, folder in (
        ((), {}, tmp_path / "project" / "generated_tools"),
        (("--tools-dir", "mine"), {}, tmp_path / "project" / "mine"),
        ((), {"ALITA_TOOLS_DIR": str(tmp_path / "shared")}, tmp_path / "shared"),
    ):
        server = alita("mcp", "json", *arguments, **environment).json["mcpServers"]["alita"]
        assert server["env"]["ALITA_TOOLS_DIR"] == str(folder)


@pytest.mark.parametrize("link", ["dangling", "file", "folder"])
def test_no_settings_file_of_a_project_is_a_way_out_of_it(link: str, alita: Run, tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    if link != "dangling":
        (outside / "mcp.json").write_text('{"mcpServers": {"alita": {"command": "x"}}}')
    before = {path: path.read_bytes() for path in outside.iterdir()}
    if link == "folder":
        (project / ".cursor").symlink_to(outside)
    else:
        (project / ".cursor").mkdir()
        (project / ".cursor/mcp.json").symlink_to(outside / "mcp.json")
    (project / ".mcp.json").symlink_to(outside / "mcp.json")
    for arguments in (
        ("install", "cursor", "--scope", "project"),
        ("uninstall", "cursor", "--scope", "project"),
        ("install", "claude-code", "--scope", "project"),
        ("add", "mine", "--scope", "project", "--", "true"),
    ):
        done = alita("mcp", *arguments)
        assert done.code == 2, done.err
        assert "is outside the project" in done.err
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


def test_what_is_wrong_is_told(alita: Run, tmp_path: Path) -> None:
    """With exit code 2, and as JSON for programs."""
    (tmp_path / "project" / ".mcp.json").write_text('{"a": 1')
    for arguments, says in (
        (("install", "claude"), "Did you mean claude-code?"),
        (("install", "goose", "--scope", "project"), "--scope user"),
        (("install", "cursor", "--name", "a b"), "Use 1 to 64 letters"),
        (("install", "claude-code", "--scope", "project"), "Nothing was changed"),
    ):
        done = alita("mcp", *arguments, "--json")
        assert done.code == 2
        told = done.json
        assert not told["ok"]
        assert says in told["error"]["remedy"]
    assert (tmp_path / "project" / ".mcp.json").read_text() == '{"a": 1'
    assert alita("mcp", "install", "cursor", "--scope", "world").code == 2


@pytest.mark.parametrize(
    ("address", "is_written"), [("http://127.0.0.1:8080/v1", True), ("http://x/v1?api-key=sk-never", False)]
)
def test_the_exported_model_and_its_address_are_passed_on(
    alita: Run, tmp_path: Path, address: str, is_written: bool
) -> None:
    variables = {"ALITA_BASE_URL": address, "ALITA_MODEL": "local-model"}
    done = alita("mcp", "install", "cursor", **variables)
    written = json.loads((tmp_path / "me" / ".cursor" / "mcp.json").read_text())["mcpServers"]["alita"]["env"]
    assert written["ALITA_MODEL"] == "local-model"
    assert written.get("ALITA_BASE_URL") == (address if is_written else None)
    assert ("ALITA_BASE_URL is not written, because it may contain a key" in done.err) is not is_written
