"""Kill processes with SIGKILL while they write. Acknowledged work must survive; the rest must be complete or absent.

    python benchmarks/kills.py [--json] [--kills 60] [--seed 5]

Each kill hits a new process that does one kind of work: it registers, replaces, renames, approves and deletes tools; it
writes and resumes a run; it writes a benchmark's ledger; it saves sessions; or it caches answers. Half of the kills
happen at a random write (before a file is opened for writing, renamed, removed or synced, or in the middle of a write),
the other half at a random time. Afterwards, everything is opened again and compared with what the process had
acknowledged. Then the work is done to the end, and no temporary files may be left.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from table import Figure, as_text, at_most

from agent.alita import Alita
from agent.answer import Answer
from agent.configuration.settings_sources import read_settings
from agent.errors import RunError
from agent.events import RunStarted
from agent.gaia.attachments import usual_attachments
from agent.gaia.attempt import Attempt, Task, dataset_of
from agent.gaia.configuration import BenchmarkPaths, RunOptions, with_limit
from agent.gaia.ledger import Fingerprint, Ledger, read_ledger
from agent.gaia.progress import Display
from agent.gaia.runner import Benchmark, BenchmarkOutcome
from agent.store.answer_cache import AnswerCache
from agent.store.journal import Journal
from agent.store.redact import Redactor
from agent.store.runs import journal_path, list_runs
from agent.store.sessions import damaged_sessions, load_session, new_session, save_session
from mcp_tools.errors import UnknownToolError
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool

Done = Callable[[str], None]
"""Called after each completed step. From then on, the step must survive a kill."""
_WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.chmod", "fcntl.flock"}
_SHARES = {"tools": 9, "runs": 3, "ledger": 3, "benchmark": 1, "sessions": 2, "answers": 2}
"""Number of kills per kind of work, out of twenty."""
_DRAFT = re.compile(r"\.(?:tmp|new)$|^\.alita-draft|^\.[^/]*[.-][a-z0-9_]{8}$")


class Work(Protocol):
    """A kind of work that writes files in a folder."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        """Do the work. A killed process may have started the same turn before."""
        ...

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        """Yield what is lost or half done after a kill."""
        ...


class Tools:
    """Changes of a tool library."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        library = _library(folder)
        first, other = tool(turn, 1), tool(turn, 9)
        library.register(first)
        done("first")
        beside = library.register(other).name
        done("beside")
        replaced = library.register(tool(turn, 2), replace=True)
        done("replaced")
        library.approve(turn)
        done("approved")
        library.delete(beside)
        done("deleted")
        library.register(dataclasses.replace(replaced, status=Status.DRAFT), replace=True)
        done("drafted")
        library.close()

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        library = _library(folder)
        yield from (f"half a tool: {flaw.message}" for flaw in library.flaws())
        bodies = {one.name: one.source.rpartition("return ")[2].strip() for one in library.list()}
        found = bodies.get(turn)
        if found not in _possible(acknowledged, ("", None), ("first", "1"), ("replaced", "2")):
            yield f"{turn} returns {found} after {acknowledged}"
        beside = bodies.get(f"{turn}_2")
        if beside not in _possible(acknowledged, ("", None), ("beside", "9"), ("deleted", None)):
            yield f"{turn}_2 returns {beside} after {acknowledged}"
        if (
            "approved" in acknowledged
            and "deleted" not in acknowledged
            and turn not in {one.name for one, _ in library.served()}
        ):
            yield f"{turn} was approved, and is not served"
        if "drafted" in acknowledged and library.get(turn).status is not Status.DRAFT:
            yield f"{turn} was made a draft, and is none"
        for name in (turn, f"{turn}_2"):
            try:
                library.delete(name)
            except UnknownToolError:
                continue
        yield from (f"{path.name} is left" for path in library.folder.glob(f"{turn}*"))
        library.close()


class Runs:
    """A run with two steps, which is resumed after a kill."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        asyncio.run(self._ask(folder, turn, done))

    async def _ask(self, folder: Path, turn: str, done: Done) -> None:
        async with Alita.open(_settings(folder)) as alita:

            def listen(event: Any) -> None:
                if isinstance(event, RunStarted):
                    done(event.run_id)

            await alita.ask(f"What does the note {turn} say?", files=[folder / "note.txt"], on_event=listen)

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        settings = _settings(folder)
        known = {run.run_id: run for run in list_runs(settings.runs_dir)}
        yield from (f"the run {run_id} is lost" for run_id in acknowledged if run_id not in known)
        for begun in known.values():
            if begun.status != "answered":
                answer = asyncio.run(self._resumed(folder, begun.run_id))
                if answer.text != "tea":
                    yield f"{begun.run_id} goes on to {answer.text!r} ({answer.status})"
            journal = Journal.replay(journal_path(settings.runs_dir, begun.run_id))
            asked = Counter(record.key for record in journal.records() if record.kind == "model" and record.output)
            yield from (f"{begun.run_id} paid {count} times" for count in asked.values() if count > 1)

    async def _resumed(self, folder: Path, run_id: str) -> Answer:
        async with Alita.open(_settings(folder)) as alita:
            return await alita.resume(run_id)


class Lines:
    """The ledger of a benchmark."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        async def record() -> None:
            with Ledger.open(folder / "out.ledger.jsonl", fingerprint=Fingerprint("d", {})) as ledger:
                for number in range(8):
                    ledger.append(Attempt(f"{turn}-{number}", answer="x" * 5000))
                    done(f"{turn}-{number}")

        asyncio.run(record())

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        path = folder / "out.ledger.jsonl"
        if path.exists():
            with Ledger.open(path, fingerprint=Fingerprint("d", {})):
                pass
        records = read_ledger(path) if path.exists() else None
        there = Counter(attempt.task_id for attempt in records.attempts) if records else Counter[str]()
        yield from (f"{one} is lost" for one in acknowledged if one not in there)
        yield from (f"{problem}" for problem in (records.problems if records else ()))


class Benchmarks:
    """The benchmark runner, which continues with its ledger."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        class Told(Display):
            def say(self, text: str) -> None:
                """Nothing."""

            def end(self, attempt: Attempt) -> None:
                done(attempt.task_id)

        outcome = asyncio.run(self._run(folder, turn, Told()))
        assert outcome.left == 0, outcome.message

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        path = BenchmarkPaths(folder / f"{turn}.json").ledger
        before = {a.task_id for a in read_ledger(path).attempts} if path.exists() else set[str]()
        yield from (f"{one} is lost" for one in acknowledged if one not in before)
        _finished(self, folder, turn)  # continue in a new process
        answered = Counter(a.task_id for a in read_ledger(path).attempts if a.status == "ok")
        yield from (f"{one} is there {count} times" for one, count in answered.items() if count > 1)

    async def _run(self, folder: Path, turn: str, display: Display) -> BenchmarkOutcome:
        settings = _settings(folder)
        tasks = [Task(f"t{number}", f"What is on card {number}?", 1) for number in range(6)]
        dataset = dataset_of(tasks, {task.task_id: "tea" for task in tasks}, "here")
        found = usual_attachments(settings)
        options = RunOptions(output=folder / f"{turn}.json", concurrency=2, resume=True)
        return await Benchmark(options, dataset, with_limit(settings), found, display).run()


class Sessions:
    """Sessions that are saved after each turn."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        session = new_session("m")
        for _ in range(4):
            session = save_session(_settings(folder), session, Redactor(()))
            done(f"{session.id} {session.revision}")

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        yield from (damaged.message for damaged in damaged_sessions(_settings(folder)))
        for session_id, revision in (one.split() for one in acknowledged[-1:]):
            found = load_session(_settings(folder), session_id).revision
            if found not in (int(revision), int(revision) + 1):
                yield f"{session_id} has revision {found} after {revision}"


class Answers:
    """The cache of answers."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        cache = AnswerCache(_settings(folder))
        for number in range(4):
            cache.put(f"{turn} {number}", [], {}, Answer(f"{turn} {number}", "answered"), {})
            if cache.get(f"{turn} {number}", [], {}, lambda _: {}):  # the cache skips answers that cannot be written
                done(f"{turn} {number}")

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        cache = AnswerCache(_settings(folder))
        for number in range(4):
            found = cache.get(f"{turn} {number}", [], {}, lambda _: {})
            if found.text != f"{turn} {number}" if found else f"{turn} {number}" in acknowledged:
                yield f"the answer {turn} {number} is {found}"


WORKS: dict[str, Work] = {
    "tools": Tools(),
    "runs": Runs(),
    "ledger": Lines(),
    "benchmark": Benchmarks(),
    "sessions": Sessions(),
    "answers": Answers(),
}


def killed(work: Work, folder: Path, turn: str, chance: random.Random, seconds: float, writes: int) -> list[str]:
    """Kill a process once, and return what is wrong afterwards.

    Args:
        work: The kind of work.
        folder: The folder that it writes into.
        turn: A unique name.
        chance: Chooses the time of the kill.
        seconds: Duration of the work.
        writes: Number of its writes.
    """
    at_write = chance.randrange(2) == 0
    count = chance.randint(1, max(writes, 1)) if at_write else 0
    pid, ours = _started(work, folder, turn, count, torn=chance.random())
    if not at_write:
        time.sleep(chance.uniform(0, seconds))
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    acknowledged = _heard(ours)
    found = [f"{turn}: {one}" for one in work.wrong(folder, turn, acknowledged)]
    _finished(work, folder, f"{turn}_again")
    return found + [f"{turn}: {path} is left" for path in drafts(folder)]


def measured(work: Work, folder: Path) -> tuple[float, int]:
    """Return the duration of the work in seconds, and the number of its writes."""
    _finished(work, folder, "warm")
    began = time.monotonic()
    heard = _finished(work, folder, "measured")
    return time.monotonic() - began, int(heard[-1])


def drafts(folder: Path) -> list[Path]:
    """Return temporary files that were never renamed to their final name."""
    return [path for path in folder.rglob("*") if _DRAFT.search(path.name) and path.is_file()]


def _finished(work: Work, folder: Path, turn: str) -> list[str]:
    pid, ours = _started(work, folder, turn, None)
    _, status = os.waitpid(pid, 0)
    heard = _heard(ours)
    if status:
        raise RunError(f"{type(work).__name__} cannot be done after a kill: {heard[-1:]}")
    return heard


def _heard(pipe: int) -> list[str]:
    with os.fdopen(pipe) as told:
        return [line.rstrip("\n") for line in told if line.endswith("\n")]


def _started(work: Work, folder: Path, turn: str, count: int | None, *, torn: float = 0) -> tuple[int, int]:
    """Start the work in a new process, which reports completed steps through a pipe.

    `count` is the number of the write, from 1, at which the process kills itself. 0 means never. None means never, and
    the process reports how many writes there were.
    """
    ours, theirs = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    os.setsid()
    tell = os.write
    writes = _watch(count, torn)
    try:
        work.act(folder, turn, lambda done: (tell(theirs, f"{done}\n".encode()), None)[1])
        if count is None:
            tell(theirs, f"{writes[0]}\n".encode())
        os._exit(0)
    except BaseException as error:
        tell(theirs, f"{error!r}\n".encode())
        os._exit(1)


def _watch(count: int | None, torn: float) -> list[int]:
    """Count this process's writes, and kill it at one of them."""
    seen = [0]

    def write_comes() -> bool:
        seen[0] += 1
        return seen[0] == count

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        is_open = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in _WRITES or is_open) and write_comes():
            os.kill(os.getpid(), signal.SIGKILL)

    def at(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(descriptor: int, *arguments: Any) -> Any:
            if write_comes():
                if call is write and isinstance(arguments[0], bytes):
                    write(descriptor, arguments[0][: int(len(arguments[0]) * torn)])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(descriptor, *arguments)

        return instead

    write = os.write
    for name in ("write", "fsync", "fdatasync", "ftruncate"):
        setattr(os, name, at(getattr(os, name)))
    sys.addaudithook(heard)
    return seen


def _possible(acknowledged: list[str], *states: tuple[str, str | None]) -> set[str | None]:
    """Return the last acknowledged state and the next one, which are both possible after a kill."""
    reached = max(n for n, (name, _) in enumerate(states) if not name or name in acknowledged)
    return {state for _, state in states[reached : reached + 2]}


def _library(folder: Path) -> Library:
    return Library(folder / "tools", folder)


def tool(name: str, body: int) -> Tool:
    """Return a tool that returns a number."""
    purpose = f"Return the number {body}, whatever it is given."
    number = {"type": "integer", "description": "Any number"}
    return Tool(
        name=name,
        description=purpose,
        input_schema={"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False},
        output_schema={"type": "object", "properties": {"result": number}, "required": ["result"]},
        source=f'def {name}(n: int) -> int:\n    """{purpose}"""\n    return {body}\n',
        status=Status.VERIFIED,
    )


def _settings(folder: Path) -> Any:
    note = {"source": "note.txt"}
    lines = [
        {"text": "tea", "when": "Looking for tea."},
        {"text": "tea", "when": "card", "repeat": True},
        {"say": "Looking for tea.", "tool": "read", "arguments": {**note, "find": "tea"}, "when": "Reading it."},
        {"say": "Reading it.", "tool": "read", "arguments": note},
    ]
    script, path = folder / "script.jsonl", folder / "note.txt"
    if not path.exists():
        script.write_text("".join(json.dumps(line) + "\n" for line in lines))
        path.write_text("tea\n")
    flags = {"model": f"scripted:{script}", "tools_dir": str(folder / "none"), "use_cache": False}
    return read_settings(flags, environment={"ALITA_HOME": str(folder / "home")}, current=folder)


def kill_all(kills: int, seed: int) -> dict[str, Any]:
    """Kill each kind of work according to its share. Returns what went wrong."""
    sys.dont_write_bytecode = True
    chance, found = random.Random(seed), dict[str, Any]()
    for name, work in WORKS.items():
        times = round(kills * _SHARES[name] / sum(_SHARES.values()))
        with tempfile.TemporaryDirectory(prefix="kills-") as place:
            folder = Path(place)
            seconds, writes = measured(work, folder)
            wrong = [
                one for turn in range(times) for one in killed(work, folder, f"turn_{turn}", chance, seconds, writes)
            ]
        found[name] = {"kills": times, "writes": writes, "wrong": wrong}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    found = kill_all(options.kills, options.seed)
    rows = [
        at_most("", f"{name}: lost or half done after {one['kills']} kills", len(one["wrong"]), 0)
        for name, one in found.items()
    ]
    print(json.dumps({**found, "rows": [Figure._asdict(row) for row in rows]}) if options.json else as_text(rows))
    for one in found.values():
        for wrong in one["wrong"][:20]:
            print(wrong, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
