"""What the judges share: the tools they are shown, how the server is started, and what a client must have seen."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.configuration.paths import find_folders
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
VENV = Path(sys.prefix)
NODE_FOLDER = VENV / "node" / "node_modules"
MCP1 = VENV / "mcp1" / "bin" / "python"
ALITA = (sys.executable, "-c", "from agent.cli.main import main; main()")

Report = dict[str, Any]


def number_tool(name: str, body: str, description: str, *parameters: str) -> Tool:
    """A whole tool over integers."""
    names = parameters or ("n",)
    signature = ", ".join(f"{parameter}: int" for parameter in names)
    return Tool(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": {parameter: {"type": "integer"} for parameter in names},
            "required": list(names),
            "additionalProperties": False,
        },
        output_schema={"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        source=f'def {name}({signature}) -> int:\n    """{description}"""\n{body}',
        annotations={"title": description, "readOnlyHint": True},
        status=Status.VERIFIED,
    )


def every_kind_of_tool() -> list[Tool]:
    """One that answers, one that fails, one that takes its time, one that would never end."""
    return [
        number_tool("add_numbers", "    return a + b\n", "Adds two numbers.", "a", "b"),
        number_tool("fail_always", "    raise ValueError(f'cannot use {n}')\n", "Fails, whatever it is given."),
        number_tool("wait_tenths", "    import time\n\n    time.sleep(n / 10)\n    return n\n", "Waits some time."),
        number_tool("spin_forever", "    while True:\n        n += 1\n", "Computes without an end."),
    ]


@dataclass(frozen=True)
class Served:
    """A server under judgement, with a folder of tools of its own."""

    home: Path
    arguments: tuple[str, ...] = ()
    url: str = ""
    token: str = ""
    """What it asks of clients over HTTP."""
    pid: int = 0
    program: Path | None = None
    """A script that serves in place of `alita serve`."""
    late_tool: str = "double_number"
    """What another process registers while a client is connected; clients of one server each have their own."""

    @property
    def tools_dir(self) -> Path:
        """Where its tools are."""
        return self.home / "generated_tools"

    @property
    def command(self) -> list[str]:
        """What starts it over stdio."""
        if self.program is not None:
            return [sys.executable, str(self.program), *self.arguments]
        return [*ALITA, "serve", "--tools-dir", str(self.tools_dir), *self.arguments]

    @property
    def env(self) -> dict[str, str]:
        """The environment that it gets, and nothing else."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "ALITA_HOME": str(self.home)}

    @property
    def headers(self) -> dict[str, str]:
        """What a client over HTTP sends with each request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def register_command(self) -> list[str]:
        """Registers the late tool, from a process of its own."""
        return [sys.executable, str(HERE / "judging.py"), str(self.home), self.late_tool]

    def as_json(self) -> str:
        """What a client in another language or environment must know."""
        told = {
            "command": self.command,
            "env": self.env,
            "url": self.url,
            "headers": self.headers,
            "register": self.register_command,
            "registerEnv": self.env,
            "lateTool": self.late_tool,
        }
        return json.dumps(told)


def open_library(home: Path) -> Library:
    """The library that `alita serve` opens in this home, with the approvals of its user."""
    return Library(home / "generated_tools", find_folders({"ALITA_HOME": str(home)}).data)


def furnish(home: Path, tools: list[Tool] | None = None) -> Served:
    """A home with tools in its library."""
    library = open_library(home)
    for tool in every_kind_of_tool() if tools is None else tools:
        library.register(tool)
    library.close()
    return Served(home)


@contextmanager
def over_http(served: Served, *arguments: str, token: str = "") -> Iterator[Served]:
    """Runs the server over HTTP on a free port of this machine until the end of the block."""
    port = free_port()
    asked = [] if token else ["--no-token"]
    command = [*served.command, *arguments, *asked, "--http", f"127.0.0.1:{port}"]
    env = {**served.env, **({"ALITA_SERVE_TOKEN": token} if token else {})}
    log = served.home / "serve.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
    try:
        await_port(port, process, log)
        yield replace(served, url=f"http://127.0.0.1:{port}/mcp", token=token, pid=process.pid)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the server did not end when it was told to: {log.read_text()}") from None


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def await_port(port: int, process: subprocess.Popen[bytes], log: Path, seconds: float = 30) -> None:
    """Waits until a process listens; fails with its log when it ends or takes too long."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        assert process.poll() is None, f"the server ended at once: {log.read_text()}"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not listen within {seconds:.0f} s: {log.read_text()}")


def calls_of(served: Served) -> dict[str, str]:
    """How the last call of each tool ended, as the audit log has it."""
    log = find_folders(served.env).data / "audit" / "calls.jsonl"
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {entry["tool"]: entry["outcome"] for entry in entries}


def assert_saw_everything(served: Served, report: Report) -> None:
    """Whether a client could use every kind of tool, and saw progress, cancellation and a changed list.

    Every client fills in the same report, whatever language it is written in.
    """
    assert set(report["tools"]) >= {"add_numbers", "fail_always", "wait_tenths", "search_tools", "call_tool"}
    assert report["sum"]["structuredContent"] == {"result": 5}
    assert json.loads(report["sum"]["text"]) == {"result": 5}
    assert not report["sum"]["isError"]
    assert "add_numbers" in report["search"]["text"]
    assert "inputSchema" in report["describe"]["text"]
    assert report["through"]["structuredContent"]["result"] == 42, report["through"]
    assert report["failed"]["isError"]
    assert "cannot use 7" in report["failed"]["text"]
    assert report["misfit"]["isError"]
    assert "'a'" in report["misfit"]["text"] or "a:" in report["misfit"]["text"], report["misfit"]
    assert report["unknown"]["isError"] or report["unknown"]["error"], report["unknown"]
    steps = [step["progress"] for step in report["progress"]]
    assert len(steps) >= 2, report["progress"]
    assert all(before < after for before, after in itertools.pairwise(steps)), steps
    assert report["slow"]["structuredContent"] == {"result": 25}
    assert report["cancelled"]["seconds"] < 5
    assert calls_of(served)["spin_forever"] == "cancelled"
    assert report["after"]["structuredContent"] == {"result": 5}
    assert report["listChanged"], "the client was not told of the new tool"
    assert served.late_tool in report["toolsAfter"]
    assert report["late"]["structuredContent"] == {"result": 14}


def main() -> None:
    """Registers the late tool in the library of a home: `judging.py HOME NAME`."""
    library = open_library(Path(sys.argv[1]))
    library.register(number_tool(sys.argv[2], "    return 2 * n\n", "Doubles a number."))
    library.close()


if __name__ == "__main__":
    main()
