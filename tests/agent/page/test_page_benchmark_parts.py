"""Benchmarks as the page starts, opens and compares them: files of others, and who may write a ledger."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.configuration.settings_sources import read_settings
from agent.gaia.configuration import BenchmarkPaths
from agent.gaia.ledger import Fingerprint, Ledger, read_ledger
from agent.page.access import PageAccess
from agent.page.benchmark import views
from agent.page.benchmark.course_tab import Profile, sent, shown_first
from agent.page.benchmark.panel import meant, one_of, state_of, viewed
from agent.page.benchmark.running import PageBenchmarks
from agent.page.benchmark.tab import choices_of, compared, filled, found
from agent.page.layout import page_of
from agent.page.visitors import Visitors
from agent.page.visits import Visits
from mcp_tools.errors import AlitaError
from mcp_tools.serving.http import listen_options
from support.benchmarks import answers, asked, called, question_file
from support.command import clean
from support.course_server import CourseServer
from support.gaia_records import kept_benchmark
from support.openai_server import OpenAIServer, Step

ATTACK = "</td><img src=x onerror=alert(1)><script>alert(2)</script>"
FLAWS = "</td><script>"


@pytest.fixture
def benchmarks(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> PageBenchmarks:
    openai_server.default = lambda body: answers(asked(body))
    monkeypatch.chdir(tmp_path)
    return PageBenchmarks(read_settings({"model": "m", "base_url": openai_server.url}))


def form(questions: Path, **more: Any) -> dict[str, Any]:
    return {
        "source": str(questions),
        "name": "out.json",
        "library": "warm",
        "max_questions": 0,
        "total_cost": 0,
        **more,
    }


def test_what_the_page_begins_the_command_continues_and_the_other_way_round(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.default = lambda body: answers(asked(body))
    questions = question_file(tmp_path, 4)
    flags = {"model": "m", "base_url": openai_server.url}
    benchmarks = PageBenchmarks(read_settings(flags, environment=clean(tmp_path / "home")))  # as the command reads them

    async def run(*, resume: bool, **more: Any) -> str:
        running = benchmarks.of(await benchmarks.start(choices_of(tmp_path, form(questions, **more), resume=resume)))
        assert running is not None
        await running.task
        return running.ending

    assert "2 right of 2" in asyncio.run(run(resume=False, max_questions=2))
    more = ["--resume", "--max-questions", "1", "--output", "out.json"]
    ended = called(questions, *more, folder=tmp_path, url=openai_server.url)
    assert "3 right of 3" in ended.out, ended.err
    assert "4 right of 4" in asyncio.run(run(resume=True))
    assert len(openai_server.requests) == 4
    assert json.loads((tmp_path / "out.json").read_text())["right"] == 4


async def test_one_ledger_has_one_benchmark(benchmarks: PageBenchmarks, tmp_path: Path) -> None:
    questions = question_file(tmp_path, 2)
    wanted = choices_of(tmp_path, form(questions), resume=True)
    both = await asyncio.gather(benchmarks.start(wanted), benchmarks.start(wanted), return_exceptions=True)
    refused = [str(one) for one in both if isinstance(one, AlitaError)]
    assert (len(refused), len(benchmarks.busy())) == (1, 1)
    await benchmarks.aclose()
    assert read_ledger(wanted.paths.ledger).header is not None


async def test_a_ledger_that_another_process_writes_is_left_to_it(benchmarks: PageBenchmarks, tmp_path: Path) -> None:
    questions = question_file(tmp_path, 2)
    wanted = choices_of(tmp_path, form(questions), resume=True)
    await benchmarks.start(wanted)
    running = benchmarks.of(wanted.paths.ledger)
    assert running is not None
    await running.task
    other = PageBenchmarks(benchmarks.settings)
    header = read_ledger(wanted.paths.ledger).header
    assert header is not None
    fingerprint = Fingerprint(header.dataset, header.configuration)
    refused = pytest.raises(AlitaError, match="Another benchmark is writing the ledger")
    with Ledger.open(wanted.paths.ledger, fingerprint=fingerprint), refused:
        await other.start(wanted)
    assert other.of(wanted.paths.ledger) is None


async def test_closing_ends_a_benchmark_that_can_be_continued(
    benchmarks: PageBenchmarks, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.default = lambda body: Step(text="late", delay=30)
    wanted = choices_of(tmp_path, form(question_file(tmp_path, 3)), resume=False)
    await benchmarks.start(wanted)
    await benchmarks.aclose()
    assert benchmarks.busy() == []
    assert viewed(benchmarks, wanted.paths.ledger).rows.count("data-row") == 3
    openai_server.default = lambda body: answers(asked(body))
    again = PageBenchmarks(benchmarks.settings)
    await again.start(choices_of(tmp_path, form(wanted.questions), resume=True))
    running = again.of(wanted.paths.ledger)
    assert running is not None
    await running.task
    assert "3 right of 3" in running.ending


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(None, "cannot be read", id="absent"),
        pytest.param(b"", "contains no questions. It is empty.", id="empty"),
        pytest.param(b"\xff\xfe\x00", "contains no question", id="no text"),
        pytest.param(b"[" * 50_000, "contains no question", id="deep"),
        pytest.param(b'{"task_id": "1"}\n', "question is missing", id="no question"),
        pytest.param(f'{{"task_id": "{FLAWS}\\n", "question": 1'.encode(), "contains no question", id="markup"),
    ],
)
async def test_a_bad_question_file_has_the_message_of_the_command(
    benchmarks: PageBenchmarks, tmp_path: Path, content: bytes | None, told: str
) -> None:
    questions = tmp_path / f"{'x' if content is None else 'bad'}.jsonl"
    if content is not None:
        questions.write_bytes(content)
    with pytest.raises(AlitaError) as error:
        await benchmarks.start(choices_of(tmp_path, form(questions), resume=False))
    ended = await asyncio.to_thread(
        called, questions, "--output", "out.json", folder=tmp_path, url="http://127.0.0.1:9"
    )
    assert told in error.value.message
    assert error.value.message in " ".join(ended.err.split())
    assert not BenchmarkPaths(tmp_path / "out.json").ledger.exists()


@pytest.mark.parametrize("name", ["../../evil.jsonl", "..", f"{'x' * 300}.jsonl", "a\nb.jsonl", ".jsonl"])
def test_an_upload_is_kept_in_the_folder_whatever_its_name(tmp_path: Path, name: str) -> None:
    kept, here = tmp_path / "sent", tmp_path / "here"
    kept.mkdir()
    here.mkdir()
    (kept / "file").write_bytes(question_file(tmp_path, 1).read_bytes())
    sent_as = kept / name.replace("/", "_")[:200]
    (kept / "file").rename(sent_as) if not sent_as.is_dir() else None
    source = sent_as if sent_as.is_file() else kept / "file"
    wanted = choices_of(here, {"sent": str(source)}, resume=False)
    assert wanted.output.parent == wanted.questions.parent == here
    assert wanted.questions.is_file()
    source.write_text("{}")
    with pytest.raises(AlitaError, match="contains other questions"):
        choices_of(here, {"sent": str(source)}, resume=False)


def hostile(tmp_path: Path) -> Path:
    """The ledger of somebody who wants to run code in the browser, and to read files elsewhere."""
    lines = [
        {"task_id": f"t{ATTACK}", "Question": ATTACK, "Level": 1, "file_name": f"{ATTACK}.csv", "Final answer": "1"}
    ]
    ledger = kept_benchmark(tmp_path, lines, right=1)
    kept = [json.loads(line) for line in ledger.read_text().splitlines()]
    for line in kept:
        if line["kind"] == "attempt":
            line |= {"answer": ATTACK, "raw_answer": ATTACK, "error": ATTACK, "reason": ATTACK, "model": ATTACK}
            line |= {"run_id": "../../../etc", "routes": [ATTACK], "tools_created": [ATTACK], "leaks": [ATTACK]}
            line |= {"resolution": ATTACK, "file_type": ATTACK}
    kept[0]["configuration"] |= {ATTACK: ATTACK, "library": ATTACK, "model": ATTACK}
    ledger.write_text("".join(json.dumps(line) + "\n" for line in kept) + f"{ATTACK}\n")
    return ledger


def test_nothing_of_a_hostile_ledger_is_markup_and_no_folder_elsewhere_is_read(
    benchmarks: PageBenchmarks, tmp_path: Path
) -> None:
    ledger = hostile(tmp_path)
    view = viewed(benchmarks, ledger)
    opened = one_of(benchmarks, ledger, "0")
    other = ledger.with_name("other.ledger.jsonl")
    shutil.copy(ledger, other)
    beside = compared(benchmarks, ledger, other)
    assert "Choose two different benchmarks" in compared(benchmarks, ledger, ledger)
    everything = view.figures + view.rows + opened + beside + str(found(benchmarks, tmp_path))
    assert "<img" not in everything
    assert "<script" not in everything
    assert "&lt;img src=x" in view.rows
    assert "There is no run" in opened or 'class="bad"' in opened


@pytest.mark.parametrize(("model", "offered"), [("scripted:theirs.jsonl", ""), ("m", "m")])
def test_a_ledger_from_elsewhere_chooses_no_script(tmp_path: Path, model: str, offered: str) -> None:
    ledger = kept_benchmark(tmp_path, [{"task_id": "1", "Question": "?"}], right=1)
    kept = [json.loads(line) for line in ledger.read_text().splitlines()]
    kept[0]["configuration"] |= {"model": model}
    ledger.write_text("".join(json.dumps(line) + "\n" for line in kept))
    names = ("source", "sent", "name", "model", "library", "mode", "max_seconds")
    assert filled({name: name for name in names}, ledger)["model"] == offered


@pytest.mark.parametrize("row", ["1", "-1", "0.5", "１", "9" * 9, "__class__", None, 0, ["0"]])
def test_a_row_that_is_not_there_opens_nothing(benchmarks: PageBenchmarks, tmp_path: Path, row: object) -> None:
    assert one_of(benchmarks, hostile(tmp_path), row) == ""


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 100, b'{"kind": "header", "ledger": 99}\n', b"x\n" * 10])
def test_what_is_no_ledger_is_told(benchmarks: PageBenchmarks, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"{FLAWS.replace('/', '')}.ledger.jsonl"
    path.write_bytes(content)
    view = viewed(benchmarks, path)
    assert "<script" not in view.figures
    assert 'class="bad"' in view.figures
    assert view.rows == ""


def test_numbers_that_cannot_be_are_a_message(benchmarks: PageBenchmarks, tmp_path: Path) -> None:
    ledger = kept_benchmark(tmp_path, [{"task_id": "1", "Question": "?"}], right=1)
    with ledger.open("a") as file:
        file.write('{"kind": "selection", "epochs": 1000000000, "tasks": []}\n')
        file.write('{"kind": "attempt", "task_id": "1", "seconds": Infinity}\n')
    shown = viewed(benchmarks, ledger).figures
    assert "`epochs`: Input should be less than or equal to 1000, not 1000000000" in shown
    assert "`seconds`: Input should be" in shown


def test_keys_are_masked(benchmarks: PageBenchmarks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-thekeythatnobodyshows1234567890")
    lines = [{"task_id": "1", "Question": "Is it sk-thekeythatnobodyshows1234567890?"}]
    ledger = kept_benchmark(tmp_path, lines, right=1)
    keyed = PageBenchmarks(read_settings({"model": "m"}))
    assert "Is it" in viewed(keyed, ledger).rows
    assert "thekeythat" not in "".join(viewed(keyed, ledger)) + one_of(keyed, ledger, "0")


def test_500_questions_are_opened_at_once(benchmarks: PageBenchmarks, tmp_path: Path) -> None:
    lines = [{"task_id": f"t{n}", "Question": f"Which card is number {n}?", "Level": n % 3 + 1} for n in range(500)]
    ledger = kept_benchmark(tmp_path, lines, right=300)
    viewed(benchmarks, ledger)
    began, worked = time.perf_counter(), time.process_time()
    view = viewed(benchmarks, ledger)
    worked = time.process_time() - worked
    assert view.rows.count("data-row") == 500
    assert worked < 1.0, f"{worked:.2f} s of work, {time.perf_counter() - began:.2f} s in all"


def test_results_are_meant_by_their_own_path_too(tmp_path: Path) -> None:
    ledger = kept_benchmark(tmp_path, [{"task_id": "1", "Question": "?"}], right=1)
    assert meant("kept.json", tmp_path) == meant(str(ledger), Path("/")) == ledger
    assert views.runs_of(ledger) == tmp_path / "kept.runs"
    assert meant(" ", tmp_path) is None


def test_what_was_not_shown_is_not_handed_in(benchmarks: PageBenchmarks, tmp_path: Path) -> None:
    with CourseServer() as course:
        rows = [{"task_id": f"card-{n}", "Question": f"Which colour has card {n}?", "Level": 1} for n in range(1, 21)]
        kept_benchmark(tmp_path, rows, right=20)
        (tmp_path / "kept.json").unlink()
        profile = Profile(str(tmp_path / "kept.json"), course.url, "somebody", "https://example.org/code")
        assert "Press Dry run first" in sent(benchmarks.settings, profile, None)[0]
        told, seen = shown_first(benchmarks.settings, profile)
        assert "Nothing was sent." in told
        other = profile._replace(username="somebody else")
        assert "changed" in sent(benchmarks.settings, other, seen)[0]
        assert course.submissions == []
        assert "20 answered" in sent(benchmarks.settings, profile, seen)[0]
        assert len(course.submissions) == 1
        nobody = shown_first(benchmarks.settings, profile._replace(username=" "))
        assert ("user name is missing" in nobody[0], nobody[1]) == (True, None)
    unreachable = shown_first(benchmarks.settings, profile._replace(course=f"http://127.0.0.1:9/{ATTACK}"))[0]
    assert ("cannot be reached" in unreachable, "<img" in unreachable) == (True, False)
    log = (tmp_path / "submission_payload.log").read_text().splitlines()
    assert [json.loads(line).get("sent") for line in log] == [False, True, None]


def test_a_ledger_that_a_command_writes_is_followed_for_a_while(benchmarks: PageBenchmarks, tmp_path: Path) -> None:
    ledger = kept_benchmark(tmp_path, [{"task_id": "1", "Question": "?"}], right=1)
    before = state_of(benchmarks, ledger)
    with ledger.open("a") as file:
        file.write('{"kind": "begun", "task_id": "1", "epoch": 1, "fingerprint": "", "run_id": "x"}\n')
    after = state_of(benchmarks, ledger)
    assert (after != before, after.may_change, after.is_busy) == (True, True, False)
    os.utime(ledger, (0, 0))
    assert not state_of(benchmarks, ledger).may_change
    ledger.unlink()
    assert not state_of(benchmarks, ledger).may_change


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_page_that_is_open_to_others_decides_nothing_for_its_owner(
    benchmarks: PageBenchmarks, tmp_path: Path, *, is_open: bool
) -> None:
    pytest.importorskip("gradio")
    visitors = Visitors()
    visits = Visits(benchmarks.settings, visitors, tmp_path, is_local=not is_open)
    address = "0.0.0.0:7860" if is_open else "127.0.0.1:7860"
    listen = listen_options(
        address, token="a-token-that-is-long-enough", token_file=None, no_token=False, host_names=()
    )
    page = PageAccess(
        page_of(visits, benchmarks, listen, read_settings, lambda _: ([], "")), listen, visitors, tmp_path
    )
    transport = httpx2.ASGITransport(app=page)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:7860") as client:
        await client.get("/", params={"token": "a-token-that-is-long-enough"})
        config = (await client.get("/config")).text
    assert "Runs" in config
    owner = ("benchmark-figures", "course-outcome", str(tmp_path), "Gap records", "Settings", "Doctor")
    owner += ("Review", "Approve", "Reject", "Try deliberate bugs", "Check everything", "Remove from my settings file")
    assert [name for name in owner if (name in config) == is_open] == []
    shown = [one["props"] for one in json.loads(config)["components"]]
    buttons = [one for one in shown if one.get("value") in ("Review", "Approve", "Reject")]
    assert not any(one["interactive"] for one in buttons)  # until a tool or record is chosen
