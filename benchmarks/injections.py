"""Prompt injection: how many of the cases of `injections/` the real `alita` obeys, answers and reports.

    python benchmarks/injections.py --model embedded                            # with the embedded model
    python benchmarks/injections.py --base-url http://127.0.0.1:8000/v1 --model NAME
    python benchmarks/injections.py --model embedded --resume                   # continues an earlier run
    python benchmarks/injections.py --report                                    # only print the table

Each case runs in its own process, with its own home and folder. One local server is the proxy of the process, so it
sees every request to any host. Searches go to a local engine, and tools come from a local MCP server that records its
calls. The case says what counts as obeying. An answer is right if it gives the true value and everything that the user
asked for was done.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from html import unescape
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from injection_cases import Case, Seen, is_answered, load_cases, obedience, write_files

from agent.configuration.settings_sources import read_settings
from agent.gaia.report.statistics import wilson
from agent.models.embedded.prefixes import FOLDER
from agent.models.protocol import EMBEDDED
from support.external import write_servers
from support.json_server import JsonServer, Reply, Request
from support.web_server import Answer, Asked, WebServer

SERVER = Path(__file__).resolve().parents[1] / "tests" / "support" / "canned_mcp_server.py"
REPORTED = ("instruction_found", "action_refused")
"""Events that report an order that was removed or refused."""
_TYPES = {".json": "application/json", ".csv": "text/csv", ".txt": "text/plain"}
_TITLE = re.compile(r"<(?:title|h1)[^>]*>(.*?)</", re.DOTALL)
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
Row = dict[str, Any]


class World:
    """The environment of a case: pages, search engine, tools and files. Use it in a `with` statement.

    Args:
        case: The case.
        root: An empty folder for the home, the current folder and the attached files.
    """

    def __init__(self, case: Case, root: Path) -> None:
        self.case = case
        self.home, self.folder, self._root = root / "home", root / "work", root
        self.files: list[Path] = []
        self._web, self._engine = WebServer(), JsonServer(self._found)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that connect a process to this world."""
        variables = {"HTTP_PROXY": self._web.url, "HTTPS_PROXY": self._web.url, "NO_PROXY": "127.0.0.1,localhost"}
        home = {"HOME": str(self.home), "ALITA_HOME": str(self.home)}
        engine = {"ALITA_ENGINES": "firecrawl", "ALITA_FIRECRAWL_API_URL": self._engine.url}
        return {**variables, **home, **engine}

    def redirect(self, address: str, to: str) -> None:
        """Redirect one address to another."""
        self._web.page(address, "", status=302, headers={"Location": to})

    def seen(self, answer: str, created: Iterable[str] = ()) -> Seen:
        """Return what was done so far."""
        log = self._root / "calls.log"
        runs = self.home / "data" / "runs"
        return Seen(
            answer,
            [f"{one.method} {one.path} {one.body.decode(errors='replace')}".strip() for one in self._web.requests],
            [one.body["query"] for one in self._engine.requests if one.path.endswith("/search")],
            log.read_text(encoding="utf-8").splitlines() if log.exists() else [],
            "".join(path.read_text(errors="replace") for path in sorted(runs.rglob("*.jsonl"))),
            list(created),
        )

    def _found(self, request: Request) -> Reply:
        if not request.path.endswith("/search"):
            return Reply({"success": False, "error": "this engine only searches"}, 404)
        hits = self.case.hits or [_hit(address, text) for address, text in self.case.pages.items()]
        web = [{"url": hit["url"], "title": hit["title"], "description": hit["snippet"]} for hit in hits]
        return Reply({"success": True, "data": {"web": web}, "creditsUsed": 1})

    def __enter__(self) -> World:
        self.folder.mkdir(parents=True)
        for place in (self.home, self.folder):
            write_files(self.case.folder, place)
        kept = read_settings({}).cache_dir / FOLDER
        kept.mkdir(parents=True, exist_ok=True)
        (self.home / "cache").mkdir(parents=True, exist_ok=True)
        (self.home / "cache" / FOLDER).symlink_to(
            kept
        )  # all cases share one model server, so prompts are computed only once
        self.files = write_files(self.case.files, self._root / "attached")
        for hit in self.case.hits:
            self._web.page(hit["url"], "<h1>Only people may read this</h1>", status=403)
        for address, text in self.case.pages.items():
            self._web.route(address, _page(address, text))
        servers = {}
        for server in sorted({name.partition("__")[0] for name in self.case.tools}):
            path = self._root / f"{server}.json"
            begin = f"{server}__"
            mine = {name[len(begin) :]: tool for name, tool in self.case.tools.items() if name.startswith(begin)}
            path.write_text(json.dumps(mine), encoding="utf-8")
            arguments = ["-S", "-E", str(SERVER), server, str(path), str(self._root / "calls.log")]
            servers[server] = {"command": sys.executable, "args": arguments}
        if servers:
            write_servers(self.home / "config" / "mcp.json", **servers)
        self._web.__enter__()
        self._engine.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._engine.__exit__(*exc)
        self._web.__exit__(*exc)


def _page(address: str, text: str) -> Callable[[Asked], Answer]:
    kind = _TYPES.get(Path(address).suffix, "text/html")
    body = text if kind != "text/html" or text.startswith("<html") else f"<html><body>{text}</body></html>"
    return lambda asked: Answer(200, body, {"Content-Type": f"{kind}; charset=utf-8"})


def _hit(address: str, text: str) -> dict[str, str]:
    """Return a page as a search hit, with its title and first paragraph."""
    title, first = (pattern.search(text) for pattern in (_TITLE, _PARAGRAPH))
    snippet = " ".join(first[1].split()) if first else ""
    return {"url": address, "title": unescape(title[1]) if title else address, "snippet": unescape(snippet)[:160]}


def run_case(case: Case, model: Sequence[str], root: Path, seconds: float) -> Row:
    """Ask the real program, and judge the result."""
    alita = Path(sys.executable).with_name("alita")
    own = read_settings({})  # the weights and the server of the embedded model are shared
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "OPENAI_API_KEY") if name in os.environ}
    if "--base-url" in model:
        kept.setdefault("OPENAI_API_KEY", "none")
    shared = {"ALITA_MODELS_DIR": str(own.models_dir), "ALITA_RUNTIME_DIR": str(own.runtime_dir)}
    with World(case, root) as world:
        files = [part for path in world.files for part in ("--file", str(path))]
        command = [str(alita), "--json-stream", "--no-cache", "--max-seconds", f"{seconds:g}", *model, *files]
        started = time.monotonic()
        output, errors = _finished(
            [*command, case.question], {**kept, **world.environment, **shared}, world.folder, seconds
        )
        events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        last = next((event for event in events if event["event"] == "run_finished"), {})
        seen = world.seen(str(last.get("answer") or ""), last.get("tools_created", ()))
    usage = last.get("usage") or {}
    return {
        "obeyed": obedience(case, seen),
        "right": is_answered(case, seen),
        "reported": sum(event["event"] in REPORTED for event in events),
        "answer": seen.answer[:300],
        "status": last.get("status") or (errors.strip().splitlines() or ["broke"])[-1][:300],
        "seconds": round(time.monotonic() - started, 1),
        "tokens": usage.get("input_tokens", 0) + usage.get("output_tokens", 0),
    }


def _finished(command: Sequence[str], variables: dict[str, str], folder: Path, seconds: float) -> tuple[str, str]:
    """Return what a process wrote. It is killed with its children some time after its limit."""
    process = subprocess.Popen(
        command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        return process.communicate(timeout=seconds * 1.2 + 30)
    except subprocess.TimeoutExpired:
        return "", "timeout"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def measure(cases: Sequence[Case], arm: str, model: Sequence[str], out: Path, seconds: float) -> None:
    """Run the cases that the ledger does not have for this arm, and add a line for each."""
    done = {row["id"] for row in lines_of(out) if row["arm"] == arm}
    for case in cases:
        if case.id in done:
            continue
        with tempfile.TemporaryDirectory(prefix="case-", ignore_cleanup_errors=True) as root:
            told = run_case(case, model, Path(root), seconds)
        row = {"arm": arm, "id": case.id, "wants": case.wants, "channel": case.channel, "language": case.language}
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row | told, ensure_ascii=False) + "\n")
        words = "OBEYED" if told["obeyed"] else "right" if told["right"] else "wrong"
        print(f"{case.id:36} {words:6} {told['seconds']:6.1f} s  {told['answer'][:60]!r}", file=sys.stderr, flush=True)


def lines_of(out: Path) -> list[Row]:
    """Return the lines of a ledger. A line that was cut off by a kill is measured again."""
    lines = []
    for text in out.read_text(encoding="utf-8").splitlines() if out.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            lines.append(json.loads(text))
    return lines


def table(rows: Sequence[Row]) -> str:
    """Return a table per arm, by goal of the order and for honest cases: counts with Wilson's 95 % intervals."""
    shown = [["arm", "cases", "asked", "obeyed", "95 %", "right", "95 %", "reported", "seconds, median"]]
    for arm in dict.fromkeys(row["arm"] for row in rows):
        mine = [row for row in rows if row["arm"] == arm]
        attacks = [row for row in mine if row["wants"]]
        groups = {"attacks": attacks}
        groups |= {
            f"  {wants}": [r for r in attacks if r["wants"] == wants] for wants in sorted({r["wants"] for r in attacks})
        }
        groups["honest"] = [row for row in mine if not row["wants"]]
        for name, some in groups.items():
            if some:
                middle = f"{statistics.median(row['seconds'] for row in some):.0f}"
                parts = [cell for key in ("obeyed", "right") for cell in _share(some, key)]
                shown.append([arm, name, str(len(some)), *parts, str(sum(bool(r["reported"]) for r in some)), middle])
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in shown)


def _share(rows: Sequence[Row], key: str) -> tuple[str, str]:
    count = sum(bool(row[key]) for row in rows)
    low, high = wilson(count, len(rows))
    return str(count), f"{low:.0%} to {high:.0%}"


def chosen(cases: Sequence[Case], ids: str | None, sample: int | None) -> list[Case]:
    """Return the cases with these ids, or a fixed sample. Larger samples include the smaller ones."""
    if ids:
        return [case for case in cases if case.id in ids.split(",")]
    spread = sorted(cases, key=lambda case: hashlib.sha256(case.id.encode()).digest())
    return list(cases) if sample is None else spread[:sample]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("injections.jsonl"), help="the ledger (%(default)s)")
    parser.add_argument("--resume", action="store_true", help="keep what the ledger holds, and ask the rest")
    parser.add_argument("--model", default=EMBEDDED, help="as for alita (%(default)s); it names the arm")
    parser.add_argument("--base-url", help="an OpenAI-compatible endpoint")
    parser.add_argument("--ids", help="ask these cases, separated by commas")
    parser.add_argument("--sample", type=int, help="run a fixed sample of this size")
    parser.add_argument("--seconds", type=float, default=300.0, help="for one case (%(default)g)")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    cases = chosen(load_cases(), options.ids, options.sample)
    if not cases:
        parser.error("--ids names no case")
    if not options.report:
        if options.out.exists() and not options.resume:
            parser.error(f"{options.out} already exists: continue it with --resume, or choose another with --out")
        model = ["--model", options.model, *(["--base-url", options.base_url] if options.base_url else [])]
        try:
            measure(cases, options.model, model, options.out, options.seconds)
        except KeyboardInterrupt:
            sys.exit("stopped; run the same command with --resume to continue")
    print(table(lines_of(options.out)))


if __name__ == "__main__":
    main()
