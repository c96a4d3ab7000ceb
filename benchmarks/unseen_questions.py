"""Ask alita or smolagents questions that nobody prepared for, with the same model.

    python benchmarks/unseen_questions.py capable --base-url URL --model NAME --out alita.jsonl
    python benchmarks/unseen_questions.py capable --base-url URL --model NAME --out smol.jsonl --agent smolagents
    python benchmarks/unseen_questions.py tools --base-url URL --model NAME --out tools.jsonl --libraries tools

`benchmarks/unseen/README.md` explains how to generate the files and the site. A proxy in front of the endpoint counts
calls and bytes of prompts for both agents. All questions share one tool library. With `--libraries FOLDER`, each
request starts with its own empty library, which its second question then uses and which stays in FOLDER. Each line
names the tools that a question added; at the end they are counted by kind of request.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

HERE = Path(__file__).parent / "unseen"
SETS = ("capable", "tools", "tools_fresh", "tools_round2", "tools_round3", "tools_round4", "fresh")
TOOLS = "generated_tools"
ALITA = Path(sys.executable).parent / "alita"
_SECONDS = 3_400.0


class Counter:
    """Counts of requests since the last `take`."""

    def __init__(self) -> None:
        self.calls = 0
        self.bytes = 0

    def take(self) -> dict[str, int]:
        """Return the counts, and start counting again."""
        counted = {"calls": self.calls, "prompt_bytes": self.bytes}
        self.calls = self.bytes = 0
        return counted


@contextmanager
def serving(handler: Any) -> Iterator[str]:
    """Run a local server, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def proxy(endpoint: str, counter: Counter) -> type[BaseHTTPRequestHandler]:
    """Return a request handler that forwards to the endpoint and counts messages, functions and schemas."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(content)
            counter.calls += 1
            counted = [body.get(name) for name in ("messages", "tools", "response_format") if body.get(name)]
            counter.bytes += len(json.dumps(counted, ensure_ascii=False).encode())
            self._hand_on("POST", content)

        def do_GET(self) -> None:
            self._hand_on("GET", b"")

        def _hand_on(self, method: str, content: bytes) -> None:
            kept = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
            reply = httpx2.request(method, endpoint + self.path, content=content, headers=kept, timeout=_SECONDS)
            self.send_response(reply.status_code)
            self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

    return Handler


def is_right(answer: str, wanted: dict[str, Any]) -> bool:
    """Return True if an answer is right. Blanks, separators and a unit after a number are ignored."""
    found, true = (
        re.sub(r"(?<=\d)[A-Z]{3}$", "", re.sub(r"[\s,$€%]+", "", text)).casefold().strip(".")
        for text in (answer, wanted["answer"])
    )
    try:
        return abs(float(found) - float(true)) <= (wanted.get("tolerance") or 1e-9) * max(1.0, abs(float(true)))
    except ValueError:
        return found == true


def ask_alita(question: str, files: list[Path], url: str, model: str, home: Path) -> tuple[str, dict[str, Any]]:
    """Return the answer of the `alita` command, and the tools in its library."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "OPENAI_API_KEY") if name in os.environ}
    environment |= {
        "ALITA_HOME": str(home),
        "ALITA_TOOLS_DIR": str(home / TOOLS),
        "ALITA_ALLOW_PRIVATE": "true",
        "ALITA_TIMEOUT": "1700",
    }
    command = [str(ALITA), "--json", "--no-cache", "--model", model, "--base-url", url, "--max-seconds", str(_SECONDS)]
    command += [part for file in files for part in ("--file", str(file))]
    done = subprocess.run([*command, question], env=environment, cwd=home, capture_output=True, text=True, check=False)
    told: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else {"answer": ""}
    return str(told.get("answer", "")), {name: told.get(name) for name in ("tools_created", "tools_used")}


def ask_smolagents(question: str, files: list[Path], url: str, model: str, home: Path) -> tuple[str, dict[str, Any]]:
    """Return the answer of a CodeAgent that may import everything and visit pages."""
    from smolagents import CodeAgent, OpenAIServerModel, VisitWebpageTool

    key = os.environ.get("OPENAI_API_KEY", "none")
    asked = OpenAIServerModel(model_id=model, api_base=url, api_key=key, client_kwargs={"timeout": _SECONDS})
    agent = CodeAgent([VisitWebpageTool()], asked, additional_authorized_imports=["*"], max_steps=12, verbosity_level=0)
    attached = "".join(f"\n\nAttached file: {file}" for file in files)
    return str(agent.run(question + attached)), {}


def tools_left(lines: list[dict[str, Any]]) -> str:
    """Return how many requests of each kind added a tool, and the origin of its code."""
    told = []
    for kind in dict.fromkeys(line["kind"] for line in lines):
        first = [line for line in lines if line["kind"] == kind and not line["again"]]
        left = [line for line in first if line["kept"]]
        told.append(f"{kind}: {len(left)} of {len(first)} requests left a tool")
        told += [f"  {line['id']} {path}" for line in left for path in line["kept"]]
        again = [line for line in lines if line["kind"] == kind and line["again"]]
        used = sum(bool(line.get("tools_used") and not line["kept"]) for line in again)
        told += [f"  second questions: {used} of {len(again)} used it, {sum(a['calls'] <= 1 for a in again)} with one "
                 "model call or none"] if again else []  # fmt: skip
    return "\n".join(told)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--agent", choices=["alita", "smolagents"], default="alita")
    parser.add_argument("--ids", default="", help="only these, separated by commas")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--libraries", type=Path, help="folder for a separate library per request")
    args = parser.parse_args(arguments)
    lines = [json.loads(line) for line in (HERE / f"{args.set}.jsonl").read_text().splitlines()]
    ask = ask_alita if args.agent == "alita" else ask_smolagents
    counter = Counter()
    site = functools.partial(SimpleHTTPRequestHandler, directory=str(HERE / "site"))
    rows = [row for row in lines if not args.ids or row["id"] in args.ids.split(",")]
    with (
        tempfile.TemporaryDirectory() as shared,
        serving(site) as pages,
        serving(proxy(args.base_url.removesuffix("/v1"), counter)) as url,
        args.out.open("a") as out,
    ):
        for row, wanted in [(one, asked) for one in rows for asked in (one, one["again"]) if asked]:
            home = args.libraries.absolute() / row["id"] if args.libraries else Path(shared)
            home.mkdir(parents=True, exist_ok=wanted is not row or not args.libraries)
            before = {*(home / TOOLS).glob("*.py")}
            named = [row["file"]] if isinstance(row["file"], str) else row["file"] or []
            started = time.monotonic()
            text = wanted["question"].replace("{SITE}", pages)
            answer, more = ask(text, [HERE / name for name in named], f"{url}/v1", args.model, home)
            done = {"id": row["id"], "kind": row["kind"], "again": wanted is not row}
            done |= {"right": is_right(answer, wanted), "answer": answer, **counter.take()}
            done |= {"seconds": round(time.monotonic() - started, 1), **more}
            done["kept"] = sorted(map(str, {*(home / TOOLS).glob("*.py")} - before))
            out.write(json.dumps(done, ensure_ascii=False) + "\n")
            out.flush()
            print(done["id"], "right" if done["right"] else "wrong", done["calls"], repr(answer)[:80], *done["kept"])
    if args.set.startswith("tools"):
        print(tools_left([json.loads(line) for line in args.out.read_text().splitlines()]))


if __name__ == "__main__":
    main()
