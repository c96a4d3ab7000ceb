"""The page of a report holds everything, and nothing in a text of others can act in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.gaia.attempt import Task
from agent.gaia.report.html import as_html, rows_of, timeline_of
from agent.gaia.report.opened import report_of
from agent.gaia.report.plots import MOST_MARKS, accuracy_by_level, outcomes, tools_over_time
from agent.store.redact import Redactor
from support.attempts import attempt, tasks
from support.played_run import CODE, SECRET

VOID = {"meta", "input"}
EVIL = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\u202eback"


class Seen(HTMLParser):
    """What a browser would see: tags in balance, and the text of each script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.words += data

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.scripts[0])
        return found


def page_of(attempts: Any, selected: Any, runs: Path = Path("/nowhere"), **more: Any) -> str:
    return as_html(report_of(attempts, selected, name="l.jsonl", **more), runs, Redactor())


def test_the_page_reaches_no_network_and_runs_its_own_script_only(tmp_path, run_id):
    html = page_of([attempt("q1", run_id=run_id)], tasks(2), tmp_path / "runs")
    seen = Seen(html)
    policy = next(a["content"] for tag, a in seen.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not {tag for tag, _ in seen.tags} & {"img", "link", "iframe", "object", "base", "video"}
    assert not [a for _, a in seen.tags if {"src", "style", "onclick", "onerror"} & a.keys()]
    assert {a["href"] for tag, a in seen.tags if tag == "a"} == {"#questions"}


def test_texts_of_others_are_escaped_wherever_they_stand(tmp_path):
    evil = attempt(
        "q1" + EVIL, answer=EVIL, error=EVIL, tools_created=(EVIL,), routes=(EVIL,), model=EVIL, leaks=(EVIL,)
    )
    html = page_of([evil], [Task("q1" + EVIL, EVIL, 1, f"a.{EVIL}")], created=EVIL, flaws=[EVIL])
    seen = Seen(html)
    assert len(seen.scripts) == 2
    assert "\u202e" not in html
    assert html.count("<script") == 2
    assert "<img" not in html
    assert seen.rows[0]["answer"] == EVIL.replace("\u202e", "")


@settings(max_examples=15)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_a_page(one, other):
    told = attempt("q1", answer=one, error=other, raw_answer=other, tools_created=(one,), routes=(other,), model=one)
    seen = Seen(page_of([told], [Task("q1", other, 1, one)]))
    assert len(seen.rows) == 1


def test_a_timeline_has_every_call_with_its_kind_time_and_cost(tmp_path, run_id):
    timeline = timeline_of(tmp_path / "runs", run_id)
    assert timeline is not None
    assert [event["kind"] for event in timeline["events"]] == ["model", "tool", "file", "web", "tool", "tool"]
    model, sandbox, file, web, *_ = timeline["events"]
    assert (model["tokens"], model["cost"], model["action"]) == (100, None, "create_tool")
    assert not sandbox["ok"]
    assert sandbox["asked"] == CODE
    assert "sales.xlsx" in file["title"]
    assert "leagues" in web["title"]
    starts = [event["start"] for event in timeline["events"]]
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert timeline["made"] == [{"name": "weekly", "code": CODE}]


def test_keys_are_masked_on_the_page(tmp_path, run_id):
    path = tmp_path / "runs" / run_id / "journal.jsonl"
    assert SECRET in path.read_text()
    shaped = "sk-abcdefghijklmnopqrstuvwxyz0123"
    report = report_of([attempt("q1", run_id=run_id, answer=f"{SECRET} {shaped}", model=SECRET)], tasks(1))
    html = as_html(report, tmp_path / "runs", Redactor([SECRET]))
    assert SECRET not in html
    assert shaped not in html
    assert Seen(html).rows[0]["events"][0]["came"] == "use [redacted]"


def test_without_its_journal_an_attempt_is_shown_and_this_is_told(tmp_path, run_id):
    attempts = [attempt("q1", run_id=run_id), attempt("q2", run_id="261122-000000-zzzz"), attempt("q3")]
    seen = Seen(page_of(attempts, tasks(3), tmp_path / "runs"))
    assert ["events" in row for row in seen.rows] == [True, False, False]
    assert "the journals of 1 attempt no longer exist" in seen.words


def test_a_run_is_named_by_its_id_and_by_nothing_that_leads_elsewhere(tmp_path, run_id):
    for name in (f"../runs/{run_id}", run_id[:-1], "..", "/", ""):
        assert timeline_of(tmp_path / "runs", name) is None


def test_a_damaged_journal_gives_what_can_be_read(tmp_path, run_id):
    path = tmp_path / "runs" / run_id / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    timeline = timeline_of(tmp_path / "runs", run_id)
    assert timeline is not None
    assert len(timeline["events"]) == 5
    assert timeline["flaws"]


def test_timelines_of_wrong_answers_come_first_where_not_all_have_room(tmp_path, run_id):
    attempts = [attempt("q1", True, run_id=run_id), attempt("q2", False, run_id=run_id)]
    rows, notices = rows_of(report_of(attempts, tasks(2)), tmp_path / "runs", Redactor(), most=1)
    assert ["events" in row for row in rows] == [False, True]
    assert notices[0].startswith("1 timeline would have made this page too large")


def test_pages_without_attempts_and_without_questions_are_pages():
    for report in (page_of([], tasks(3)), page_of([], [])):
        seen = Seen(report)
        assert "unknown" in seen.words or "0 of 3" in seen.words
        assert "NaN" not in report


def test_an_unknown_price_is_unknown_on_the_page():
    seen = Seen(page_of([attempt("q1", cost=None)], tasks(1)))
    assert seen.rows[0]["cost"] is None
    assert not re.search(r"\$\d", seen.words)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([True, False, None]),
            st.floats(allow_nan=True),
            st.none() | st.floats(0, 1e6),
            st.integers(0, 10**9),
        ),
        max_size=12,
    )
)
def test_every_mark_of_a_plot_has_a_place(values):
    attempts = [
        attempt(f"q{n}", correct, seconds=seconds, cost=cost, input_tokens=tokens, tools_created=("t",) * (n % 3))
        for n, (correct, seconds, cost, tokens) in enumerate(values)
    ]
    levels = accuracy_by_level(report_of(attempts, tasks(12)).summary)
    for plot in (levels, outcomes(attempts), tools_over_time(attempts)):
        places = [*(x for x, _ in plot.x), *(y for y, _ in plot.y), *(place for dot in plot.dots for place in dot[:2])]
        places += [place for whisker in plot.whiskers for place in whisker]
        places += [place for line in plot.lines.values() for point in line for place in point]
        assert all(0 <= place <= 1 for place in places)


def test_of_many_attempts_a_plot_draws_a_sample_and_tells_it():
    attempts = [attempt(f"q{n}") for n in range(4_000)]
    plot = outcomes(attempts)
    assert len(plot.dots) <= MOST_MARKS
    assert "one of 3 attempts is drawn" in plot.note


def test_a_thousand_attempts_are_less_than_a_megabyte():
    count = 1_000
    attempts = [attempt(f"q{n}", n % 2 == 0) for n in range(1, count + 1)]
    html = page_of(attempts, tasks(count))
    assert len(html) < 1_000_000
    assert len(Seen(html).rows) == count
