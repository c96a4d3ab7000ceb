"""Code that a tool is made around: imported in the sandbox alone, and the same in a replay and after a stop."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.actions import wrapping
from agent.events import ToolFound
from mcp_tools.environments import package_api
from mcp_tools.environments.wrapped import WrappedCode
from mcp_tools.errors import UsageError, UserError
from mcp_tools.exchange.local_code import read_code
from mcp_tools.sandbox import warm
from support.gauge import NAME, TASK, made_by, write_repository
from support.wheels import OFFLINE


@pytest.fixture
def wrapped(desk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keeps the repository, with other texts in some files, and gives its requirement."""
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)

    def keep(**changed: str) -> str:
        code = read_code(write_repository(tmp_path / "needles", **changed))
        WrappedCode(desk.home / "data" / "environments" / "wrapped").keep(code.requirement, code.wheel())
        return code.requirement

    return keep


IMPORT = "src/gauge/__init__.py"
ATTACKS = {
    "fork": "import os\nwhile True:\n    os.fork()",
    "process": "import subprocess\nsubprocess.run(['touch', '{there}'])",
    "file": "open('{there}', 'w')",
    "secret": "print(open('{key}').read())\nraise ValueError(open('{key}').read())",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)",
    "memory": "x = bytearray(9 << 30)",
    "exit": "import sys\nsys.exit(0)",
    "hard exit": "import os\nos._exit(0)",
    "kill": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(0, signal.SIGKILL)",
    "syntax": "def f(:\n",
    "missing": "import no_such_module_at_all",
    "recursion": "def f(): f()\nf()",
    "thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\nraise KeyError",
    "result": "import sys\nsys.modules['tool'].surface = None\nsys.modules['tool']._fitting_part = lambda *_: 7",
    "loop": "while True: pass",
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_code_does_on_import_happens_in_the_sandbox(
    desk: Any, wrapped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: str
) -> None:
    monkeypatch.setattr(wrapping, "_LIMITS", replace(wrapping._LIMITS, wall_seconds=3, cpu_seconds=3))
    monkeypatch.setattr(warm, "_LOADING_SECONDS", 1.0)
    key, there = tmp_path / "key", tmp_path / "there"
    key.write_text("sesame")
    around = wrapped(**{IMPORT: ATTACKS[attack].format(key=key, there=there, port=9) + "\n"})
    with pytest.raises(UserError) as refused:
        await desk.plays().ask(TASK, purpose="create", around=around)
    assert "gauge 0.3.1 /" in str(refused.value)
    assert "cannot be wrapped" in str(refused.value)
    assert "sesame" not in str(refused.value)
    assert not there.exists()
    assert desk.library.list() == []


async def test_what_code_prints_on_import_disturbs_nothing(desk: Any, wrapped: Any) -> None:
    noise = "import sys\nprint('x' * 3_000_000)\nprint('y', file=sys.stderr)\nfrom .needle import needle_diameter\n"
    answer = await desk.plays(*made_by()).ask(TASK, purpose="create", around=wrapped(**{IMPORT: noise}))
    assert (answer.text, answer.tools_created) == ("0.82", (NAME,))


async def test_a_stopped_run_goes_on_around_the_same_code_and_is_replayed(
    desk: Any, wrapped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = wrapped()
    stopped = await desk.plays(*made_by()).stop(
        TASK, lambda event: "read gauge" in getattr(event, "text", ""), purpose="create", around=around
    )
    assert stopped.tools_created == ()
    assert desk.library.list() == []
    answer = await desk.plays(*made_by()).resume()
    assert (answer.text, answer.tools_created) == ("0.82", (NAME,))
    assert desk.library.get(NAME).provenance["wraps"].startswith("gauge 0.3.1 /")
    # a later version of alita may reword the program that reads the package
    reworded = tmp_path / "package_api.py"
    reworded.write_text(inspect.getsource(package_api).replace('"""Describe', '"""Return'))
    monkeypatch.setattr(package_api, "__file__", str(reworded))
    replayed = await desk.replay(answer.run_id)
    assert (replayed.text, replayed.tools_created) == ("0.82", (NAME,))
    # later questions need neither the model nor the code
    later = await desk.plays().ask(TASK.replace("21", "25"))
    assert (later.text, later.tools_used) == ("0.51", (NAME,))


async def test_other_tools_are_not_offered_and_do_not_stand_in(desk: Any, wrapped: Any) -> None:
    own = made_by()[0]["arguments"]["code"].replace("from gauge import needle_diameter\n\n\n", "")
    own = own.replace(
        "return needle_diameter(gauge)", "return dict(zip([18, 21, 23, 25, 27], [1.27, 0.82, 0.64, 0.51, 0.41]))[gauge]"
    )
    own = own.replace(
        "    return dict",
        "    if gauge not in (18, 21, 23, 25, 27):\n        raise ValueError('no such needle')\n    return dict",
    )
    assert (await desk.plays(*made_by(own)).ask(TASK, purpose="create")).tools_created == (NAME,)
    answer = await desk.plays(*made_by()).ask(TASK, purpose="create", around=wrapped())
    assert desk.of(ToolFound) == []
    assert answer.tools_created == (NAME,), desk.notes
    assert desk.library.get(NAME).provenance["wraps"].startswith("gauge 0.3.1 /")


async def test_a_small_model_makes_no_tool_around_code(desk: Any, wrapped: Any) -> None:
    with pytest.raises(UsageError, match="The model embedded is too small to make a tool around a package"):
        await desk.ask(TASK, purpose="create", around=wrapped(), model="embedded")
