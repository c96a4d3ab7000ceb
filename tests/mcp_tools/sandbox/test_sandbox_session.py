"""A session: a sandboxed process that keeps its variables and may call functions of the host."""

# ruff: noqa: ASYNC240 - it may block

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_tools.errors import IsolationError, ModelFixableError
from mcp_tools.sandbox.backends import BubblewrapSandbox, PlainSandbox
from mcp_tools.sandbox.protocol import Limits, SessionOutcome, Writable
from mcp_tools.sandbox.session import LiveSession
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.tool import Json

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Desk:
    """A host with named functions. `calls` records what was called."""

    functions = ("search(query, limit=5)", "slow(seconds)", "refuse()", "bug()", "anything", "large(size)")

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Json]]] = []
        self.at_once = self.most_at_once = 0
        self.asked_slow = asyncio.Event()

    async def __call__(self, name: str, arguments: dict[str, Json]) -> Json:
        self.calls.append((name, arguments))
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            return await self.answer(name, arguments)
        finally:
            self.at_once -= 1

    async def answer(self, name: str, arguments: dict[str, Json]) -> Json:
        match name, arguments:
            case "slow", {"seconds": float() | int() as seconds}:
                self.asked_slow.set()
                await asyncio.sleep(seconds)
            case "refuse", _:
                raise ModelFixableError("nothing was found: use other words")
            case "bug", _:
                raise ZeroDivisionError("of the host")
            case "large", {"size": int() as size}:
                return "x" * size
        return {"name": name, **arguments}


@asynccontextmanager
async def opened(sandbox: WarmSandbox, *read: Path, **modules: str) -> AsyncIterator[tuple[LiveSession, Desk]]:
    desk = Desk()
    session = sandbox.session(read=read, modules=modules, functions=desk.functions, host=desk)
    try:
        yield session, desk
    finally:
        await session.aclose()


async def run(session: LiveSession, code: str, **limits: float) -> SessionOutcome:
    wanted = Limits(**{"wall_seconds": 20, **limits})  # type: ignore[arg-type] # numbers all
    return await session.run(code, limits=wanted)


def told(outcome: SessionOutcome) -> tuple[str, str]:
    assert outcome.problem is not None, outcome
    return outcome.problem.kind, outcome.problem.message


async def test_variables_functions_and_imports_stay(isolated: WarmSandbox) -> None:
    async with opened(isolated) as (session, _):
        first = await run(session, "import math\nn = 3\ndef f(x):\n    return x * n")
        assert (first.ok, first.value, first.stdout, first.fresh) == (True, "", "", False)
        assert (await run(session, "n = 5\nf(2), math.floor(2.5)")).value == "(10, 2)"


async def test_the_value_of_the_last_expression_is_shown_where_nothing_is_printed(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, _):
        for code, stdout, value in (
            ("1 + 1", "", "2"),
            ("x = 4", "", ""),
            ("x", "", "4"),
            ("None", "", ""),
            ("print('a'); x", "a\n", ""),
            ("'ü\\ud800'", "", "'ü\\ud800'"),
            ("if __name__ == '__main__':\n    print('main')", "main\n", ""),
            ("", "", ""),
            ("# nothing", "", ""),
        ):
            outcome = await run(session, code)
            assert (outcome.ok, outcome.stdout, outcome.value) == (True, stdout, value), outcome
        long = await run(session, "list(range(100_000))")
        assert "characters left out" in long.value
        assert long.value.endswith("99998, 99999]")


async def test_output_is_kept_at_both_ends_and_told_apart_by_block(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, _):
        outcome = await run(session, "for i in range(100_000): print(i)", output_bytes=1000)
        assert outcome.cut
        assert outcome.stdout.startswith("0\n1\n")
        assert outcome.stdout.endswith("99998\n99999\n")
        assert "bytes left out" in outcome.stdout
        outcome = await run(
            session, "import os, sys\nprint('ü')\nprint('e', file=sys.stderr)\nos.write(1, b'raw\\xff')"
        )
        assert (outcome.stdout, outcome.stderr, outcome.cut) == ("ü\nraw�", "e\n", False)
        assert (await run(session, "sys.stdout.close()")).ok
        assert (await run(session, "print('again')")).stdout == "again\n"
        await run(session, "import io\nsys.stdout = io.StringIO()")
        assert (await run(session, "print('here')")).stdout == "here\n"


async def test_a_traceback_shows_the_lines_of_every_block_that_took_part(sandbox: WarmSandbox) -> None:
    async with opened(sandbox, helper="def half(n):\n    return n / 0") as (session, _):
        await run(session, "import helper\n\ndef f(n):\n    return helper.half(n)")
        outcome = await run(session, "\n\nf(1)")
        assert outcome.problem is not None
        assert outcome.problem.line == 3
        shown = [line.strip() for line in outcome.problem.traceback.splitlines()]
        assert shown == [
            "Traceback (most recent call last):",
            'File "step 2", line 3, in <module>',
            "f(1)",
            'File "step 1", line 4, in f',
            "return helper.half(n)",
            'File "helper.py", line 2, in half',
            "return n / 0",
            "ZeroDivisionError: division by zero",
        ]
        outcome = await run(session, "x = 1\nx = = 2")
        assert told(outcome) == ("syntax", "line 2: invalid syntax: x = = 2")
        assert (await run(session, "'x' in globals()")).value == "False"
        assert told(await run(session, "'\ud800'"))[0] == "syntax"


async def test_modules_are_offered_later_and_anew(sandbox: WarmSandbox) -> None:
    async with opened(sandbox, one="n = 1") as (session, _):
        assert (await run(session, "import one; one.n")).value == "1"
        assert told(await run(session, "import two"))[1] == "ModuleNotFoundError: No module named 'two'"
        session.offer("two", "from one import n\nm = n + 1")
        assert (await run(session, "import two; two.m")).value == "2"
        session.offer("one", "n = 7")
        assert (await run(session, "import one; one.n")).value == "7"
        await run(session, "import os; os._exit(1)")
        assert (await run(session, "import two; two.m")).value == "8"


async def test_packages_are_imported_on_demand(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, _):
        assert (await run(session, "import sys\n[n for n in ('numpy', 'pandas') if n in sys.modules]")).value == "[]"
        code = (
            "import numpy, pandas, dateutil, yaml, openpyxl, PIL\npandas.DataFrame({'a': numpy.ones(2)}).a.sum().item()"
        )
        outcome = await run(session, code)
        assert outcome.value == "2.0", outcome
        # pandas would use it for strings, and load a second slower
        assert told(await run(session, "import pyarrow"))[1].startswith("ModuleNotFoundError: import of pyarrow halted")


async def test_files(isolated: WarmSandbox, open_folder: Path) -> None:
    """Files added later to a granted folder can be read; written files stay in the scratch folder."""
    async with opened(isolated, open_folder) as (session, _):
        assert (await run(session, f"import os\nos.listdir({str(open_folder)!r})")).value == "[]"
        for n in range(2):
            path = open_folder / f"deep{n}" / "a.txt"
            path.parent.mkdir(mode=0o755)
            path.write_text(f"text {n}")
            assert (await run(session, f"open({str(path)!r}).read()")).value == f"'text {n}'"
        assert told(await run(session, f"open({str(path)!r}, 'a')"))[0] == "denied"
        assert told(await run(session, f"open({str(open_folder / 'new')!r}, 'w')"))[0] == "denied"
        await run(session, "open('own.txt', 'w').write('own')")
        assert (await run(session, "open('own.txt').read()")).value == "'own'"


async def test_private_files_of_a_run_can_be_read_by_its_session(sandbox: WarmSandbox, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    async with opened(sandbox, folder) as (session, _):
        assert (await run(session, "1")).ok
        (folder / "a.txt").write_text("private")
        (folder / "a.txt").chmod(0o600)
        assert (await run(session, f"open({str(folder / 'a.txt')!r}).read()")).value == "'private'"


async def test_functions_of_the_host(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, desk):
        assert (await run(session, "search('tea')['query']")).value == "'tea'"
        await run(session, "search('tea', limit=2); search(limit=3, query={'a': (1, 2)})")
        await run(session, "anything(**{'odd-name': None})")
        assert desk.calls[1:] == [
            ("search", {"query": "tea", "limit": 2}),
            ("search", {"query": {"a": [1, 2]}, "limit": 3}),
            ("anything", {"odd-name": None}),
        ]
        desk.calls.clear()
        for code, message in (
            ("search()", "TypeError: search(): missing a required argument: 'query'; it is search(query, limit=5)"),
            ("search('a', 1, 2)", "TypeError: search(): too many positional arguments; it is search(query, limit=5)"),
            ("search('a', query='b')", "TypeError: search(): multiple values for argument 'query'"),
            ("search('a', page=1)", "TypeError: search(): got an unexpected keyword argument 'page'"),
            ("search(object())", "TypeError: search(): "),
            ("search('x' * 3_000_000)", "ValueError: search(): the arguments are 3,000,0"),
        ):
            assert told(await run(session, code))[1].startswith(message), code
        assert desk.calls == []
        assert told(await run(session, "refuse()")) == ("exception", "RuntimeError: nothing was found: use other words")
        assert (await run(session, "try:\n    refuse()\nexcept RuntimeError as e:\n    print(e)")).stdout == (
            "nothing was found: use other words\n"
        )
        assert (await run(session, "len(large(3_000_000))")).value == "3000000"
        assert "exceeds 32,000,000 bytes" in told(await run(session, "large(40_000_000)"))[1]


async def test_the_clock_stands_still_while_the_host_works(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, _):
        await run(session, "1")
        outcome = await run(session, "slow(0.8)\nslow(0.8)", wall_seconds=1.2)
        assert outcome.ok, outcome
        assert outcome.seconds < 1.2
        assert told(await run(session, "slow(0.2)\nwhile True: pass", wall_seconds=0.4))[0] == "wall_time"


async def test_threads_may_call_the_host_at_the_same_time(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, desk):
        code = (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(30) as pool:\n"
            "    found = list(pool.map(lambda n: (slow(0.05), search(n))[1]['query'], range(30)))\n"
            "found == list(range(30))"
        )
        assert (await run(session, code)).value == "True"
        assert 1 < desk.most_at_once <= 8


async def test_a_bug_of_the_host_is_raised(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, _):
        await run(session, "x = 1")
        with pytest.raises(ZeroDivisionError, match="of the host"):
            await run(session, "bug()")
        outcome = await run(session, "'x' in globals()")
        assert (outcome.value, outcome.fresh) == ("False", True)


async def test_what_takes_too_long_is_interrupted_and_variables_stay(sandbox: WarmSandbox) -> None:
    async with opened(sandbox) as (session, _):
        await run(session, "x = 1")
        outcome = await run(session, "print('so far')\nx = 2\nwhile True:\n    pass", wall_seconds=0.4)
        assert told(outcome) == ("wall_time", "the call was stopped at its time limit of 0.4 s")
        assert outcome.problem is not None
        assert outcome.problem.line in (3, 4)
        assert outcome.stdout == "so far\n"
        after = await run(session, "x")
        assert (after.value, after.fresh) == ("2", False)


@pytest.mark.parametrize(
    "code",
    [
        "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException: pass",
        "sum(10**9999 // 7 for _ in iter(int, 1)) if 0 else 7 ** 10 ** 9",
    ],
    ids=["catching all", "in C"],
)
async def test_what_cannot_be_interrupted_is_killed(
    sandbox: WarmSandbox, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_tools.sandbox.session.INTERRUPT_SECONDS", 0.2)
    async with opened(sandbox) as (session, _):
        await run(session, "x = 1")
        started = time.monotonic()
        outcome = await run(session, code, wall_seconds=0.3)
        assert time.monotonic() - started < 30
        assert told(outcome)[0] == "wall_time"
        assert told(outcome)[1].endswith("The process was stopped, so its variables are lost")
        after = await run(session, "'x' in globals()")
        assert (after.value, after.fresh) == ("False", True)
        assert not (await run(session, "1")).fresh


async def test_code_begins_in_the_first_folder_that_it_may_write_and_each_holds_what_it_may(
    isolated: WarmSandbox, open_folder: Path
) -> None:
    first, second = open_folder / "z", open_folder / "a"
    first.mkdir()
    (second / "inner").mkdir(parents=True)
    (second / "inner" / "old.txt").write_text("old")
    (second / "inner" / "old.txt").chmod(0o644)
    session = isolated.session(write=[Writable(first), Writable(second, 1_000_000, 10)])
    try:
        done = await run(session, f"open('{second}/inner/old.txt', 'a').write('new'); open('x', 'w').write('1')")
        assert done.problem is None
        assert ((second / "inner" / "old.txt").read_text(), (first / "x").read_text()) == ("oldnew", "1")
        refused = await run(session, f"open('{open_folder}/y', 'w')")
        assert refused.problem is not None
        full = f"import time\nfor n in range(99):\n    open(f'{second}/{{n}}', 'w').close()\n    time.sleep(0.05)"
        problem = (await run(session, full)).problem
        assert problem is not None
        assert (problem.kind, f"1,000,000 bytes and 10 files in {second}" in problem.message) == ("quota", True)
    finally:
        await session.aclose()


@pytest.mark.parametrize(
    "write",
    [
        "os.posix_fallocate(file.fileno(), 0, 9_000_000)",
        "file.truncate(9_000_000)",  # a sparse file takes space only once it is copied
        "os.posix_fallocate(file.fileno(), 0, 9_000_000); os.unlink(file.name)",
    ],
)
async def test_a_folder_holds_no_more_in_holes_and_deleted_files(
    isolated: WarmSandbox, open_folder: Path, write: str
) -> None:
    folder = open_folder / "out"
    folder.mkdir()
    session = isolated.session(write=[Writable(folder, 50_000_000, 100)])
    try:
        code = "import os, time\nheld = []\nfor n in range(30):\n    file = open(str(n), 'wb')\n    held.append(file)\n"
        code += f"    {write}\n    time.sleep(0.05)"
        problem = (await run(session, code)).problem
        assert problem is not None
        assert problem.kind == "quota"
    finally:
        await session.aclose()


async def test_no_thread_computes_between_blocks(isolated: WarmSandbox) -> None:
    async with opened(isolated) as (session, _):
        await run(session, "import threading\nn = 0\ndef count():\n    global n\n    while True: n += 1")
        assert (await run(session, "threading.Thread(target=count).start()")).ok
        before = int((await run(session, "n")).value)
        await asyncio.sleep(0.25)
        after = int((await run(session, "n")).value)
        outcome = await run(session, "import time; time.sleep(1); n")
        assert after - before < (int(outcome.value) - after) / 2


async def test_a_block_begins_only_when_its_process_has_been_woken(sandbox: WarmSandbox) -> None:
    """A pending stop of the last block would interrupt the next block while it writes."""
    async with opened(sandbox) as (session, _):
        await run(session, "import time")
        assert session._interpreter is not None
        bubblewrap = session._interpreter[1].pid
        [warm] = map(int, Path(f"/proc/{bubblewrap}/task/{bubblewrap}/children").read_text().split())
        os.kill(warm, signal.SIGSTOP)
        running = asyncio.create_task(run(session, "time.time()"))
        await asyncio.sleep(0.3)
        woken = time.time()
        os.kill(warm, signal.SIGCONT)
        assert float((await running).value) > woken


async def test_memory_is_limited_and_a_block_out_of_it_loses_nothing(isolated: WarmSandbox) -> None:
    async with opened(isolated) as (session, _):
        await run(session, "x = 1", memory_mb=200)
        outcome = await run(session, "huge = bytearray(2 << 30)", memory_mb=200)
        assert told(outcome) == ("memory", "the memory limit of 200 MiB was reached")
        assert (
            told(await run(session, "many = []\nwhile True: many.append(bytes(1 << 20))", memory_mb=200))[0] == "memory"
        )
        await run(session, "many.clear()")
        assert (await run(session, "x")).value == "1"


@pytest.mark.parametrize(
    ("code", "killed"),
    [
        ("slow(50)", False),
        ("while True:\n    try:\n        slow(50)\n    except BaseException:\n        pass", True),
    ],
    ids=["interrupted", "killed"],
)
async def test_cancelling_a_block_ends_it(sandbox: WarmSandbox, code: str, killed: bool) -> None:
    async with opened(sandbox) as (session, desk):
        await run(session, "x = 1")
        running = asyncio.create_task(run(session, code))
        await desk.asked_slow.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(desk.calls) == 1  # a stopped block starts no further call
        after = await run(session, "'x' in globals()")
        assert (after.value, after.fresh) == (str(not killed), killed)
        assert desk.at_once == 0


async def test_its_end() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for kind in (BubblewrapSandbox, PlainSandbox):
        sandbox = kind()
        await sandbox.open()
        session = sandbox.session()
        assert (await run(session, "1")).ok
        running = asyncio.create_task(run(session, "import time; time.sleep(50)"))
        await asyncio.sleep(0.3)
        await sandbox.aclose()
        assert told(await running)[0] == "sandbox"
        with pytest.raises(IsolationError, match="closed"):
            await run(session, "1")
        await session.aclose()
        with pytest.raises(IsolationError, match="closed"):
            await run(session, "1")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "two words",
        "f(a, b=)",
        "f(): pass\ndef g()",
    ],
)
async def test_a_function_that_is_neither_a_name_nor_a_signature(sandbox: WarmSandbox, text: str) -> None:
    with pytest.raises(ValueError, match="name or a signature"):
        sandbox.session(functions=[text], host=Desk())
