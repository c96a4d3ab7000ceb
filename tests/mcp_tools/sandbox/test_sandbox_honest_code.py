"""Honest code runs normally, without false alarms."""

# ruff: noqa: E501 - tables of one-line programs

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tools.sandbox.protocol import Job, Limits
from mcp_tools.sandbox.warm import WarmSandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = {
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\ndef f():\n    with ThreadPoolExecutor(8) as pool:\n"
        "        return sum(pool.map(abs, range(-50, 0)))",
        1275,
    ),
    "asyncio": (
        "import asyncio\nasync def g(x):\n    await asyncio.sleep(0.01)\n    return x\n"
        "async def f():\n    return sum(await asyncio.gather(*map(g, range(5))))",
        10,
    ),
    "asyncio.run": (
        "import asyncio\nasync def g():\n    return await asyncio.to_thread(abs, -3)\ndef f():\n    return asyncio.run(g())",
        3,
    ),
    "tempfile": (
        "import tempfile, os\ndef f():\n    with tempfile.TemporaryDirectory() as folder:\n"
        "        path = os.path.join(folder, 'a')\n        open(path, 'w').write('x')\n        return os.listdir(folder)",
        ["a"],
    ),
    "named temporary file": (
        "import tempfile\ndef f():\n    with tempfile.NamedTemporaryFile('w+') as file:\n"
        "        file.write('x'); file.seek(0); return file.read()",
        "x",
    ),
    "files": (
        "from pathlib import Path\ndef f():\n    Path('d/e').mkdir(parents=True)\n    Path('d/e/f.txt').write_text('é')\n"
        "    Path('d/e/f.txt').rename('g.txt')\n    return [str(p) for p in Path('.').rglob('*.txt')]",
        ["g.txt"],
    ),
    "sqlite": (
        "import sqlite3\ndef f():\n    db = sqlite3.connect('a.db')\n    db.execute('create table t(x)')\n"
        "    db.execute('insert into t values (3)')\n    db.commit()\n    return db.execute('select x from t').fetchone()",
        [3],
    ),
    "zip": (
        "import zipfile\ndef f():\n    with zipfile.ZipFile('a.zip', 'w') as z:\n        z.writestr('b', 'c')\n"
        "    with zipfile.ZipFile('a.zip') as z:\n        return z.read('b').decode()",
        "c",
    ),
    "time zones": (
        "from datetime import datetime\nfrom zoneinfo import ZoneInfo\ndef f():\n"
        "    return datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).utcoffset()",
        7200.0,
    ),
    "recursion": ("def f(n=500):\n    return 0 if n == 0 else 1 + f(n - 1)", 500),
    "a deeper recursion": (
        "import sys\nsys.setrecursionlimit(20000)\ndef g(n):\n    return 0 if n == 0 else 1 + g(n - 1)\ndef f():\n    return g(9000)",
        9000,
    ),
    "big numbers": ("def f():\n    return len(str(2 ** 50000))", 15052),
    "dataclass": (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n"
        "def f():\n    return [P(1), P(2)]",
        [{"x": 1}, {"x": 2}],
    ),
    "signals of its own": (
        "import signal\ndef f():\n    signal.signal(signal.SIGALRM, lambda *_: None)\n    signal.alarm(1)\n    signal.alarm(0)\n"
        "    signal.raise_signal(signal.SIGALRM)\n    return 1",
        1,
    ),
    "openssl": ("import hashlib, hmac\ndef f():\n    return hashlib.sha256(b'').hexdigest()[:8]", "e3b0c442"),
    "decimal": ("from decimal import Decimal, getcontext\ndef f():\n    getcontext().prec = 30\n    return str(Decimal(1) / 7)[:12]", "0.1428571428"),
    "caught denial": (
        "def f():\n    try:\n        open('/etc/passwd')\n    except OSError:\n        return 'no'",
        "no",
    ),
    "unicode": ("def f():\n    print('naïve 🙂')\n    return '🙂'", "🙂"),
    "locale": ("def f():\n    open('ä', 'w').write('ü')\n    return open('ä').read()", "ü"),
    "pickle of own class": ("import pickle\nclass A:\n    x = 1\ndef f():\n    return pickle.loads(pickle.dumps(A())).x", 1),
}  # fmt: skip


async def test_it_runs(isolated: WarmSandbox) -> None:
    for name, (source, expected) in PROGRAMS.items():
        outcome = await isolated.run(Job(source, "f"))
        assert outcome.ok, (name, outcome.problem)
        assert outcome.value == expected, name


async def test_packages(sandbox: WarmSandbox) -> None:
    source = """
import numpy as np, pandas as pd
def f(rows: list[dict]):
    frame = pd.DataFrame(rows)
    return frame.groupby("k").v.sum().to_dict(), np.linalg.solve(np.eye(2), np.ones(2)), frame
"""
    rows = [{"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "b", "v": 3}]
    job = Job(source, "f", {"rows": rows}, limits=Limits(wall_seconds=30))
    outcome = await sandbox.run(job)
    assert outcome.value == [{"a": 3, "b": 3}, [1.0, 1.0], rows], outcome.problem


async def test_numpy_draws_differ_between_calls(sandbox: WarmSandbox) -> None:
    source = "import numpy, random\ndef f():\n    return numpy.random.rand(), random.random()"
    drawn = [(await sandbox.run(Job(source, "f"))).value for _ in range(3)]
    assert len({a for a, _ in drawn}) == len({b for _, b in drawn}) == 3


async def test_base_packages_need_not_be_declared(isolated: WarmSandbox) -> None:
    source = "import yaml\nfrom dateutil import parser\nimport later\ndef f():\n    return yaml.safe_load('a: 1'), parser.parse('3 May 2024'), later.n"
    outcome = await isolated.run(Job(source, "f", modules={"later": "import numpy\nn = numpy.int64(3)"}))
    assert outcome.value == [{"a": 1}, "2024-05-03T00:00:00", 3], outcome.problem


async def test_a_package_that_is_not_installed(sandbox: WarmSandbox) -> None:
    for name in ("no_such_package", "no_such.package", "__main__", ".", ""):
        outcome = await sandbox.run(Job("def f(): ...", "f", packages=(name,)))
        assert outcome.problem is not None
        assert outcome.problem.message == f"packages that do not come with alita are unavailable here: {name}"


async def test_modules_of_the_library_can_be_imported(sandbox: WarmSandbox) -> None:
    job = Job(
        "from double import double\nimport broken\nprint(double(3))\nbroken.fail()",
        entry=None,
        modules={"double": "def double(x):\n    return 2 * x", "broken": "def fail():\n    1 / 0"},
    )
    outcome = await sandbox.run(job)
    assert outcome.stdout == "6\n"
    assert outcome.problem is not None
    assert outcome.problem.line == 4
    assert 'File "broken.py", line 2, in fail' in outcome.problem.traceback


@pytest.mark.parametrize(
    ("source", "kind", "message", "line"),
    [
        ("def f():\n    return 1/0", "exception", "ZeroDivisionError: division by zero", 2),
        ("def f():\n    return f()", "exception", "RecursionError: maximum recursion depth exceeded", 2),
        ("def f(:\n    pass", "syntax", "line 1: invalid syntax: def f(:", 1),
        ("x = '\ud800'", "syntax", "the source does not compile: UnicodeEncodeError", None),
        ("x = 1\0", "syntax", "null bytes", None),
        ("def g(): ...\nh = 3", "missing_function", "the source defines no function 'f'; it defines: g", None),
        ("def f(a): ...", "arguments", "f() needs the argument 'a'", None),
        ("def f():\n    raise KeyboardInterrupt", "exception", "KeyboardInterrupt", 2),
        ("class E(Exception):\n    def __str__(self): raise self\ndef f():\n    raise E", "exception", "E: (its message cannot", 4),
        ("def f():\n    raise ValueError('x' * 10**7)", "exception", "ValueError: xxx", 2),
        ("def f():\n    raise ValueError('\\ud800')", "exception", "ValueError: \\ud800", 2),
        ("def f():\n    return open('missing.txt')", "exception", "FileNotFoundError: [Errno 2] No such file", 2),
        ("import nothing_here", "exception", "ModuleNotFoundError: No module named 'nothing_here'", 1),
        ("def f():\n    return {'a': float('nan')}", "result", "result['a'] is nan, which is not valid JSON", None),
    ],
)  # fmt: skip
async def test_failures_speak_of_the_tool(
    sandbox: WarmSandbox, source: str, kind: str, message: str, line: int | None
) -> None:
    outcome = await sandbox.run(Job(source, "f"))
    assert outcome.problem is not None
    assert outcome.problem.kind == kind
    assert message in outcome.problem.message
    assert outcome.problem.line == line
    assert len(outcome.problem.message) <= 2000
    assert "/inside/" not in outcome.problem.traceback
    assert len(outcome.problem.traceback) < 5000


async def test_a_folder_can_be_granted(isolated: WarmSandbox, open_folder: Path) -> None:
    (open_folder / "sub").mkdir()
    (open_folder / "sub" / "b.csv").write_text("1,2")
    source = "import os\ndef f(p):\n    return sorted(os.listdir(p)), open(p + '/sub/b.csv').read()"
    outcome = await isolated.run(Job(source, "f", {"p": str(open_folder)}, read=(open_folder,)))
    assert outcome.value == [["sub"], "1,2"], outcome.problem
