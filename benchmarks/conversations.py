"""Conversations of several turns with one model: right answers, calls, and bytes of prompts.

    python benchmarks/conversations.py --base-url URL --model NAME --out turns.jsonl --server PROGRAM [--ids c01,f01]

`unseen/conversations` has 12 conversations of four turns (c01 to c12) and 10 questions about a folder (f01 to f10), by
an author who had not seen the program. For the folder questions, PROGRAM, an MCP server such as
`mcp-server-filesystem`, is started with the folder's path. Each turn goes through `Alita.chat`. A turn that is to be
interrupted is stopped once the model has its first request. A turn is right if its answer matches all its regular
expressions. The baseline for bytes is a loop with the same functions and messages, without a system prompt.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from unseen_questions import Counter, proxy, serving

_SET = Path(__file__).resolve().parent / "unseen" / "conversations"
_SECONDS = 3_400.0


class Seen:
    """The requests of the current turn."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.held = False
        """True to withhold replies."""

    def take(self) -> dict[str, int]:
        """Return the number and the bytes of the requests, and start counting again."""
        bodies, self.bodies = self.bodies, []
        bare = [{**body, "messages": [m for m in body["messages"] if m["role"] != "system"]} for body in bodies]
        return {"calls": len(bodies), "bytes": sum(map(_size, bodies)), "bare_bytes": sum(map(_size, bare))}


def _size(body: dict[str, Any]) -> int:
    return len(json.dumps([body.get(name) for name in ("messages", "tools")], ensure_ascii=False).encode())


def _between(endpoint: str, seen: Seen) -> type[BaseHTTPRequestHandler]:
    class Handler(proxy(endpoint, Counter())):  # type: ignore[misc]
        def do_POST(self) -> None:  # noqa: N802 - of the base class
            content = self.rfile.read(int(self.headers["Content-Length"]))
            seen.bodies.append(json.loads(content))
            while seen.held:
                time.sleep(0.1)
            with contextlib.suppress(OSError):  # the turn was stopped
                self._hand_on("POST", content)

    return Handler


async def _interrupted(asked: asyncio.Task[Any], seen: Seen) -> str:
    while not seen.bodies and not asked.done():  # noqa: ASYNC110 - a thread fills it
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    seen.held = False
    return ""


async def converse(conversation: dict[str, Any], settings: Any, seen: Seen) -> list[dict[str, Any]]:
    """Run one conversation. Returns a line for each turn."""
    from agent.alita import Alita

    lines = []
    async with Alita.open(settings) as alita:
        chat = alita.chat()
        for number, turn in enumerate(conversation["turns"], 1):
            files = [_SET / "files" / name for name in turn.get("files") or []]
            seen.held = bool(turn.get("interrupt"))
            asked = asyncio.create_task(chat.ask(turn["say"], files=files))
            text = await _interrupted(asked, seen) if seen.held else (await asked).text
            right = all(re.search(check, text, re.IGNORECASE | re.DOTALL) for check in turn.get("checks") or [])
            line = {"id": conversation["id"], "turn": number, "right": right, "say": turn["say"][:200], "answer": text}
            lines.append(line | {"expect": turn.get("expect", "")} | seen.take())
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--ids", default="", help="only these, separated by commas")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--server", required=True, help="an MCP server that gets the folder as its argument")
    args = parser.parse_args(arguments)
    from agent.configuration.settings_sources import read_settings

    text = (_SET / "conversations.jsonl").read_text().replace("FOLDER", str(_SET / "folder"))
    rows = [json.loads(line) for line in text.splitlines()]
    seen = Seen()
    with serving(_between(args.base_url.removesuffix("/v1"), seen)) as url, args.out.open("a") as out:
        for row in rows:
            if args.ids and row["id"] not in args.ids.split(","):
                continue
            with tempfile.TemporaryDirectory() as home:
                os.environ["ALITA_HOME"] = home
                if row["server"]:
                    servers = {"mcpServers": {"files": {"command": args.server, "args": [str(_SET / "folder")]}}}
                    (Path(home) / "config").mkdir()
                    (Path(home) / "config" / "mcp.json").write_text(json.dumps(servers))
                flags = {"model": args.model, "base_url": f"{url}/v1", "timeout": 1700, "max_seconds": _SECONDS,
                         "use_cache": False, "tools_dir": f"{home}/tools"}  # fmt: skip
                for line in asyncio.run(converse(row, read_settings(flags), seen)):
                    print(json.dumps(line, ensure_ascii=False), file=out, flush=True)
    lines = [json.loads(line) for line in args.out.read_text().splitlines()]
    asked = [line for line in lines if line["answer"]]
    calls, size, bare = (sum(line[name] for line in lines) for name in ("calls", "bytes", "bare_bytes"))
    right = sum(line["right"] for line in lines)
    print(f"{right} of {len(lines)} turns right; {calls / max(1, len(asked)):.2f} calls a turn")
    print(f"{size / 1000:.0f} kB of prompts, {size / max(1, bare):.2f} times a bare loop's")


if __name__ == "__main__":
    main()
