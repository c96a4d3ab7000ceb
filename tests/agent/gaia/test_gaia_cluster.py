"""A benchmark on a Ray cluster of several nodes on this machine, each with a home of its own."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.gaia.ledger import Records, read_ledger
from support.benchmarks import ROOT, asked, called, creating, forked, question_file
from support.command import Ended, ended
from support.openai_server import OpenAIServer, Step

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(400), pytest.mark.slow]
KEY = "sk-of-the-nodes-4711"
_STARTS = 4
"""Ray gives a node 30 seconds to start, which a busy machine may need more than once."""


class Nodes:
    """The cluster: a head that answers questions, too, and other nodes."""

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self._folder = folder
        self._count = 0
        self.cluster = Cluster()
        self.add()
        self.second = self.add()
        self.address = self.cluster.address

    def add(self, **variables: str) -> Any:
        """Start a node."""
        self._count += 1
        home = self._folder / f"home-{self._count}"
        variables = {"ALITA_HOME": str(home), "OPENAI_API_KEY": KEY, **variables}
        known = own_processes()
        for left in range(_STARTS - 1, -1, -1):
            try:
                return self.cluster.add_node(
                    num_cpus=1, env_vars=variables, object_store_memory=100 << 20, include_dashboard=False
                )
            except Exception as problem:
                if "timed out" not in str(problem) or not left:
                    raise
                end_processes(known)
        raise AssertionError

    def log_text(self) -> str:
        """Everything that Ray wrote to its logs."""
        folder = Path(self.cluster.head_node.get_logs_dir_path())
        return "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def own_processes() -> list[subprocess.Popen[Any]]:
    """The processes that this one started and that have not ended."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, subprocess.Popen) and one.poll() is None]


def end_processes(known: list[subprocess.Popen[Any]]) -> None:
    """Kill what Ray left running when a node did not start in time; a `Popen` that runs on fails a later test."""
    for process in own_processes():
        if process not in known:
            process.kill()
            process.wait(60)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if re.search(r"_(KEY|TOKEN)$|^ALITA_", name):
                patch.delenv(name)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        known = own_processes()
        try:
            found = Nodes(tmp_path_factory.mktemp("nodes"))
            yield found
            found.cluster.shutdown()
        finally:
            end_processes(known)


def on(nodes: Nodes, *arguments: object, folder: Path, server: OpenAIServer) -> Any:
    """The benchmark as its own process, on the cluster."""
    more = ("--output", "o.json", "--executor", "ray", "--ray-address", nodes.address)
    return forked(folder / "questions.jsonl", *arguments, *more, folder=folder, url=server.url)


def run(nodes: Nodes, *arguments: object, folder: Path, server: OpenAIServer) -> Ended:
    return ended(on(nodes, *arguments, folder=folder, server=server), timeout=300)


def records(folder: Path) -> Records:
    return read_ledger(folder / "o.ledger.jsonl")


def times_asked(server: OpenAIServer) -> Counter[str]:
    return Counter(asked(body) for body in server.requests)


def answering(server: OpenAIServer, delay: float = 0.0) -> None:
    server.default = lambda body: Step(text=asked(body), delay=delay)


def workers() -> list[int]:
    """The processes that answer a question now."""
    found = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if b"ray::answer" in _bytes(path)]
    return [int(path.name) for path in found]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def using(body: dict[str, Any]) -> Step:
    """A call of a tool of the library, and its result as the answer."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Step(text=re.findall(r"\d+", str(last["content"]))[-1])
    return Step(tools=[("scaled", {"n": 100})])


def test_questions_share_a_library_across_nodes_and_leave_what_local_ones_leave(
    nodes: Nodes, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    """Files and tools travel; keys do not; a project's modules are imported nowhere."""
    (tmp_path / "card.txt").write_text("The card says: heliotrope.")
    question_file(tmp_path, 3, file_name="card.txt")
    (tmp_path / "openai.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    openai_server.default = creating

    done = run(nodes, folder=tmp_path, server=openai_server)

    assert done.code == 0, done.err
    found = records(tmp_path).attempts
    assert {(a.task_id, a.status, a.correct) for a in found} == {(f"t{i}", "ok", True) for i in range(3)}, found
    assert sorted(name for a in found for name in a.tools_created) == ["scaled", "scaled_2", "scaled_3"]
    assert sorted(path.stem for path in (tmp_path / "o.tools").glob("*.py")) == ["scaled", "scaled_2", "scaled_3"]
    assert "heliotrope" in json.dumps(openai_server.requests)
    assert {headers["authorization"] for headers in openai_server.headers} == {f"Bearer {KEY}"}
    for attempt in found:
        assert {path.name for path in (tmp_path / "o.runs" / attempt.run_id).iterdir()} >= {"run.json", "journal.jsonl"}
    trace = called_with(tmp_path, "report", "o.json", "--format", "html", "--output", "o.html")
    assert trace.code == 0
    written = [
        path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".py"
    ]
    assert KEY not in "".join(written) + nodes.log_text() + done.err + done.out
    assert not (tmp_path / "ran").exists()

    openai_server.default = using
    for path in tmp_path.glob("o.*json*"):
        path.unlink()
    flags = ("--library", "read-only", "--tools-dir", "o.tools", "--max-questions", 1)
    again = run(nodes, *flags, folder=tmp_path, server=openai_server)
    assert again.code == 0, again.err
    (attempt,) = records(tmp_path).attempts
    assert (attempt.tools_reused, attempt.answer) == (("scaled",), str(100 * int(_factor(tmp_path)) + 1))


def _factor(folder: Path) -> str:
    return re.findall(r"n \* (\d+)", (folder / "o.tools" / "scaled.py").read_text())[0]


def called_with(folder: Path, *arguments: str) -> Ended:
    from support.command import Terminal

    return Terminal(folder, folder).call("gaia", *arguments)


def test_a_question_whose_worker_dies_is_asked_once_more(
    nodes: Nodes, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    question_file(tmp_path, 3)

    def deadly(body: dict[str, Any]) -> Step:
        number = asked(body)
        if (number == "1" and times_asked(openai_server)["1"] == 1) or number == "2":
            for pid in workers():
                os.kill(pid, signal.SIGKILL)
        return Step(text=number)

    openai_server.default = deadly
    done = run(nodes, "--concurrency", 1, folder=tmp_path, server=openai_server)

    assert times_asked(openai_server) == {"0": 1, "1": 2, "2": 2}
    found = {a.task_id: a for a in records(tmp_path).attempts}
    assert [(found[name].status, found[name].correct) for name in ("t0", "t1")] == [("ok", True)] * 2
    assert found["t2"].status == "error"
    assert found["t2"].error.startswith("the question's worker died twice: ")
    assert "1 left" in done.out


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_what_was_finished_stays_and_any_executor_goes_on(
    nodes: Nodes, tmp_path: Path, openai_server: OpenAIServer, end: str
) -> None:
    question_file(tmp_path, 5)
    first: dict[str, None] = {}

    def slower(body: dict[str, Any]) -> Step:
        """The first two questions are answered; the others hang."""
        if len(first) < 2:
            first[asked(body)] = None
        return Step(text=asked(body), delay=0.0 if asked(body) in first else 60.0)

    openai_server.default = slower
    started = on(nodes, "--concurrency", 5, folder=tmp_path, server=openai_server)  # two run, one waits
    until(lambda: times_asked(openai_server).total() >= 4 and finished(tmp_path) >= 2)
    if end == "kill":
        os.kill(started.pid, signal.SIGKILL)
        started.communicate(timeout=60)
    else:
        os.kill(started.pid, signal.SIGTERM)
        stopped = ended(started, timeout=120)
        assert stopped.code == 130, stopped.err
    before = {a.task_id for a in records(tmp_path).attempts if a.status == "ok"}
    assert before == {f"t{number}" for number in first}
    answering(openai_server)
    openai_server.requests.clear()
    if end == "kill":
        base = [tmp_path / "questions.jsonl", "--output", "o.json", "--resume"]
        done = called(*base, folder=tmp_path, url=openai_server.url)
    else:
        done = run(nodes, "--resume", folder=tmp_path, server=openai_server)
    assert done.code == 0, done.err
    assert times_asked(openai_server) == dict.fromkeys({*"01234"} - first.keys(), 1)
    newest = {a.task_id: a for a in records(tmp_path).attempts}
    assert all(a.correct for a in newest.values())
    assert len(newest) == 5


def until(condition: Any, seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def finished(folder: Path) -> int:
    ledger = folder / "o.ledger.jsonl"
    return ledger.read_text().count('"kind":"attempt"') if ledger.exists() else 0


def test_nodes_that_cannot_answer_are_named_before_the_first_question(
    nodes: Nodes, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    """One has other code and lacks a key, one lacks a package."""
    question_file(tmp_path, 1)
    other, stub = tmp_path / "other", tmp_path / "stub"
    for package in ("agent", "mcp_tools"):
        shutil.copytree(ROOT / "src" / package, other / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "agent" / "budget.py").open("a") as file:
        file.write("# changed\n")
    stub.mkdir()
    (stub / "openai.py").write_text("raise ModuleNotFoundError(\"No module named 'openai'\")\n")
    keys = tmp_path / "home" / "config"
    keys.mkdir(parents=True)
    added = [nodes.add(PYTHONPATH=str(other), OPENAI_API_KEY=""), nodes.add(PYTHONPATH=str(stub))]
    more = ("--output", "o.json", "--executor", "ray", "--ray-address", nodes.address)
    try:
        (keys / "keys.json").write_text(json.dumps({"OPENAI_API_KEY": "sk-of-this-machine-1"}))
        done = ended(forked(tmp_path / "questions.jsonl", *more, folder=tmp_path, url=openai_server.url), timeout=300)
    finally:
        for node in added:
            nodes.cluster.remove_node(node)
    said = " ".join(done.err.split())
    assert done.code != 0
    assert "with different code" in said
    assert "cannot run alita: ModuleNotFoundError: No module named 'openai'" in said
    assert "lacks api_key, which this machine has (keys are not sent to nodes" in said
    assert openai_server.requests == []
    assert "sk-of-this-machine-1" not in done.err + nodes.log_text()


def test_a_node_that_goes_away_takes_nothing_along(nodes: Nodes, tmp_path: Path, openai_server: OpenAIServer) -> None:
    """Not even the one model slot of the cluster, which it may hold."""
    question_file(tmp_path, 6)
    answering(openai_server, 0.4)
    settings = tmp_path / "home" / "config" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("concurrency = 1\n")
    started = on(nodes, folder=tmp_path, server=openai_server)
    until(lambda: finished(tmp_path) >= 2 and times_asked(openai_server).total() >= 3)
    assert openai_server.most_in_flight == 1
    nodes.cluster.remove_node(nodes.second)
    before = [a.task_id for a in records(tmp_path).attempts]
    done = ended(started, timeout=300)
    assert done.code == 0, done.err
    found = records(tmp_path).attempts
    assert sorted((a.task_id, a.correct) for a in found) == [(f"t{i}", True) for i in range(6)]
    asked_again = {f"t{name}" for name, count in times_asked(openai_server).items() if count > 1}
    assert not asked_again & {*before}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--executor", "ray", "--ray-address", "127.0.0.1:1"), "Cannot connect to the Ray address 127.0.0.1:1"),
        (
            ("--executor", "ray", "--ray-address", "ray://head:10001"),
            "--ray-address 'ray://head:10001' does not have the form HOST:PORT",
        ),
        (("--ray-address", "127.0.0.1:6379"), "--ray-address needs --executor ray"),
        (("--executor", "ray", "--servers", "all"), "MCP servers cannot be used on a cluster"),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_told(
    flags: tuple[str, ...], said: str, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    question_file(tmp_path, 1)
    base = [tmp_path / "questions.jsonl", "--output", "o.json"]
    done = called(*base, *flags, folder=tmp_path, url=openai_server.url)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert openai_server.requests == []
    assert not [*tmp_path.glob("*ledger*")]


def test_another_server_is_not_taken_for_a_cluster(tmp_path: Path, openai_server: OpenAIServer) -> None:
    question_file(tmp_path, 1)
    address = openai_server.url.removeprefix("http://").removesuffix("/v1")
    base = [tmp_path / "questions.jsonl", "--output", "o.json", "--executor", "ray", "--ray-address", address]
    done = called(*base, folder=tmp_path, url=openai_server.url)
    assert (done.code, openai_server.requests) == (2, [])
    assert f"The server at {address} is not a Ray cluster" in " ".join(done.err.split())
    assert not [*tmp_path.glob("*ledger*")]
