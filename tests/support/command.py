"""The real `alita` process in a folder and a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.fibonacci import write_script

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]


class Terminal:
    """A folder and a home to run the command in."""

    def __init__(self, folder: Path) -> None:
        self.here, self.home = folder / "here", folder / "home"
        self.started: list[subprocess.Popen[str]] = []
        (self.here / "generated_tools").mkdir(parents=True)

    def start(self, *arguments: str, stdin: str | None = None, before: object = None, **variables: str):
        environment = {"PATH": os.environ["PATH"], "ALITA_HOME": str(self.home), "LANG": "C.UTF-8", **variables}
        if "PYTHONPATH" in os.environ:
            environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
        process = subprocess.Popen(
            [*ALITA, *arguments],
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.here,
            env=environment,
            preexec_fn=before,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, stdin: str | None = None, **more: object) -> Ended:
        return ended(self.start(*arguments, stdin=stdin, **more), stdin)

    def script(self, *lines: dict) -> str:
        return write_script(self.here / "script.jsonl", list(lines))

    @property
    def runs(self) -> list[Path]:
        return sorted((self.home / "data" / "runs").glob("*"))


class Ended:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in err, err


def ended(process: subprocess.Popen[str], stdin: str | None = None) -> Ended:
    out, err = process.communicate(stdin, timeout=55)
    return Ended(process.returncode, out, err)
