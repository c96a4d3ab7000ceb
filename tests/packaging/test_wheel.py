"""The wheel that users install: what is in it, and that it works where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
HEAVY = ("openai", "langgraph", "pydantic", "mcp", "pandas", "typer", "rich", "httpx2", "sqlite3", "asyncio")


def uv(*arguments: str, cwd: Path, **variables: str) -> str:
    """Runs uv, which takes packages from its cache where it can."""
    program = Path(sys.executable).with_name("uv")
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}} | variables
    done = subprocess.run([program, *arguments], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_all_that_is_read_at_run_time(wheel: Path) -> None:
    """Everything of both packages that is no test and no cache: prompts, prices, help, the marker of types."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    source = PROJECT / "src"
    wanted = {
        str(path.relative_to(source))
        for package in ("agent", "mcp_tools")
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert wanted - names == set()
    assert {
        "gaia_benchmark.py",
        "agent/py.typed",
        "mcp_tools/py.typed",
        "agent/cli/help.txt",
        "agent/models/prices.json",
        "agent/prompts/standard.md",
        "agent/small/prompts/choice.md",
        "mcp_tools/create/prompts/tests.md",
    } <= names
    others = {name.split("/")[0] for name in names}
    assert {name for name in others if not name.endswith(".dist-info")} == {"agent", "mcp_tools", "gaia_benchmark.py"}


def test_the_wheel_names_its_commands_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        told = {name.split("/", 1)[1]: name for name in archive.namelist() if ".dist-info/" in name}
        commands = archive.read(told["entry_points.txt"]).decode()
        metadata = archive.read(told["METADATA"]).decode()
    assert "alita = agent.cli.main:main" in commands
    assert "gaia-benchmark = gaia_benchmark:main" in commands
    assert "License-Expression: MIT" in metadata
    assert "licenses/LICENSE" in told
    for extra in ("local", "browser", "audio", "ocr", "web", "all"):
        assert f"Provides-Extra: {extra}\n" in metadata


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_is_installed_as_a_tool_and_works_where_nothing_else_is(wheel: Path, tmp_path: Path) -> None:
    tools, programs = tmp_path / "tools", tmp_path / "bin"
    places = {"UV_TOOL_DIR": str(tools), "UV_TOOL_BIN_DIR": str(programs)}
    constraints = str(PROJECT / "constraints.txt")
    wanted = f"alita @ {wheel.as_uri()}"
    uv("tool", "install", "--quiet", "--python", sys.executable, "-c", constraints, wanted, cwd=tmp_path, **places)

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        clean = {"PATH": os.environ["PATH"], "ALITA_HOME": str(tmp_path / "home")}
        return subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)

    alita = programs / "alita"
    assert run(alita, "--version").stdout == f"alita {wheel.name.split('-')[1]}\n"
    told = run(alita, "--help")
    assert (told.returncode, told.stderr) == (0, "")
    assert "Exit codes:" in told.stdout
    answered = run(alita, "-q", "2+2*3")
    assert (answered.stdout, answered.stderr) == ("8\n", "")
    assert run(programs / "gaia-benchmark", "--help").returncode == 0
    python = tools / "alita" / "bin" / "python"
    assert run(python, "-c", "import mcp_tools.create.prove, agent.alita").returncode == 0


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(flag: str) -> None:
    """Every imported module is seen: `-X importtime` lists them all."""
    program = "import sys; sys.argv = ['alita', sys.argv[1]]; from agent.cli.main import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", program, flag]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "agent" in imported
    assert imported & set(HEAVY) == set()
