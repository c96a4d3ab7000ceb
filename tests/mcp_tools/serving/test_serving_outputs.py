"""Files that served tools and programs write: each result contains its own, small ones embedded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from desk import Desk, error_of, tool

from mcp_tools.serving.served_files import ServedOutputs
from mcp_tools.small_files import read_small

pytestmark = pytest.mark.asyncio(loop_scope="module")

PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")
BODY = f"""open('n.txt', 'w').write(str(n))
    open('dot.png', 'wb').write({PNG!r})
    open('raw.bin', 'wb').write(b'\\xff\\xfe')
    return n"""


def parts(result: Any) -> list[tuple[str, Any]]:
    return [(part.type, part) for part in result.content[1:]]


async def test_a_tool_that_writes_gives_its_files_and_those_of_no_other_call(desk: Desk, tmp_path: Path) -> None:
    desk.has(tool("draw", BODY, capabilities={"write": True}), tool("vanish", BODY))
    outputs = ServedOutputs(tmp_path / "served")
    async with desk.client("legacy", outputs=outputs) as client:
        one, two = await asyncio.gather(client.call_tool("draw", {"n": 1}), client.call_tool("draw", {"n": 2}))
        none = await client.call_tool("vanish", {"n": 3})
    for result, number in ((one, "1"), (two, "2")):
        (_, picture), (_, text), (_, raw) = parts(result)
        assert (picture.type, picture.mime_type) == ("image", "image/png")
        assert (text.resource.uri, text.resource.text) == ("alita-output:///n.txt", number)
        assert raw.resource.blob == "//4="
    assert parts(none) == []
    outputs.close()
    assert list((tmp_path / "served").iterdir()) == []


async def test_a_large_file_is_a_link_and_what_is_no_plain_file_is_nothing(desk: Desk, tmp_path: Path) -> None:
    source = "import os\nopen('big file', 'w').write('x' * 1_100_000)\nos.mkdir('d')\n"
    source += "open('a', 'w').close()\nos.link('a', 'd/b')\nprint('done')"
    async with desk.client("legacy", outputs=ServedOutputs(tmp_path / "served")) as client:
        result = await client.call_tool("run_code", {"source": source, "writes_files": True})
        again = await client.call_tool("run_code", {"source": "import os; print(os.listdir())", "writes_files": True})
    ((kind, link),) = parts(result)
    assert (kind, link.name, link.size) == ("resource_link", "big file", 1_100_000)
    assert read_small(Path(unquote(urlsplit(str(link.uri)).path)), 2_000_000) == b"x" * 1_100_000
    assert (again.structured_content or {})["stdout"] == "[]\n"


async def test_of_large_files_the_newest_are_kept(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_tools.serving.served_files.MAX_KEPT_BYTES", 3_000_000)
    source = "open('big', 'w').write('x' * 1_100_000); print('done')"
    async with desk.client("legacy", outputs=ServedOutputs(tmp_path / "served")) as client:
        for _ in range(4):
            result = await client.call_tool("run_code", {"source": source, "writes_files": True})
    kept = list((tmp_path / "served").glob("kept-*/big"))
    assert len(kept) == 2
    assert Path(urlsplit(str(parts(result)[0][1].uri)).path) in kept


async def test_odd_names_and_deep_folders_spoil_no_later_call(desk: Desk, tmp_path: Path) -> None:
    source = "import os, time\nopen(b'\\xff', 'w').close()\nopen('fine', 'w').close()\n"
    source += "for _ in range(30):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n    open('f' * 250, 'w')\n"
    source += "time.sleep(0.2)\nprint('done')"  # time for a quota check
    async with desk.client("legacy", outputs=ServedOutputs(tmp_path / "served")) as client:
        result = await client.call_tool("run_code", {"source": source, "writes_files": True})
        again = await client.call_tool("run_code", {"source": "import os; print(os.listdir())", "writes_files": True})
    assert (result.structured_content or {})["stdout"] == "done\n"
    assert "alita-output:///fine" in [str(part.resource.uri) for _, part in parts(result)]
    assert (again.structured_content or {})["stdout"] == "[]\n"


async def test_a_call_that_outlives_its_result_reaches_no_later_call(desk: Desk, tmp_path: Path) -> None:
    lingers = "import os, threading, time\n"
    lingers += "def write():\n    while True:\n        open('left', 'w').write('x')\n"
    lingers += "def f() -> int:\n    os._exit = lambda status: time.sleep(9)\n"
    lingers += "    threading.Thread(target=write, daemon=True).start()\n    return 1\n"
    async with desk.client("legacy", outputs=ServedOutputs(tmp_path / "served")) as client:
        for _ in range(5):
            await client.call_tool("run_code", {"source": lingers, "arguments": {}, "writes_files": True})
            again = await client.call_tool(
                "run_code", {"source": "import os; print(os.listdir())", "writes_files": True}
            )
            assert (again.structured_content or {})["stdout"] == "[]\n"


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_files_of_a_cancelled_call_do_not_reach_the_next_one(desk: Desk, tmp_path: Path, era: str) -> None:
    many = "import time\nfor number in range(1000):\n    open(f'a{number}', 'w').close()\ntime.sleep(20)"
    look = {"source": "import os; print(os.listdir())", "writes_files": True}
    async with desk.client(era, outputs=ServedOutputs(tmp_path / "served")) as client:
        running = asyncio.create_task(client.call_tool("run_code", {"source": many, "writes_files": True}))
        async with asyncio.timeout(20):
            while not list((tmp_path / "served").glob("calls-*/a999")):  # noqa: ASYNC110 - the sandbox makes the file
                await asyncio.sleep(0.05)
        following = asyncio.create_task(client.call_tool("run_code", look))
        await asyncio.sleep(0.2)
        running.cancel()
        again = await following
    assert (again.structured_content or {})["stdout"] == "[]\n"
    assert parts(again) == []


async def test_a_package_that_nobody_allowed_is_refused(desk: Desk) -> None:
    async with desk.client("legacy") as client:
        result = await client.call_tool("run_code", {"source": "import sympy", "packages": ["sympy"]})
    assert error_of(result)["kind"] == "denied"
