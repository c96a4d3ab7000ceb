"""What the runs of a period came to: questions, answers, calls, tokens, money, tools, failures and time."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.models.protocol import Usage
from agent.store.retention import begun
from agent.store.runs import Run, ids_in, journal_path, load_run
from mcp_tools.tool import Json

CALLS = {
    "model": "model calls",
    "sandbox": "tools in the sandbox",
    "session": "programs",
    "web": "searches and pages",
    "browse": "browser tasks",
    "file": "reads of files",
    "external": "external tools",
}
"""Kinds of the journal that can fail for a reason outside the run, in words."""
_CALL = b'{"seq":'
"""What a line of the journal begins with that records a call."""
_MOST_USED = 5


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a period. What is not known is None, never 0."""

    since: float | None
    """When it begins, in seconds since 1970; None for everything that is kept."""
    questions: int
    """Runs; neither plain arithmetic nor an answer from the cache makes one."""
    statuses: dict[str, int]
    unreadable: int
    scored: int
    """Questions of benchmarks with learning, whose scores are known; their runs are kept elsewhere."""
    right: int
    cache_hits: int
    usage: Usage
    """Of all runs; its cost is None where the price of one is unknown."""
    cost: float | None
    """US dollars of the runs whose price is known; None where no run's is."""
    priced: int
    tools_used: dict[str, int]
    """Runs that called each tool, the most used first."""
    tools_created: int
    calls: dict[str, int]
    failed: dict[str, int]
    median_seconds: float | None
    p95_seconds: float | None

    def as_json(self) -> dict[str, Json]:
        """What `--json` prints."""
        told = asdict(self)
        usage = told.pop("usage")
        del usage["cost"]
        return {**told, "accuracy": self.right / self.scored if self.scored else None, "usage": usage}

    @property
    def rows(self) -> list[tuple[str, str]]:
        """For people."""
        asked, usage = self.questions, self.usage
        if not asked:
            return [("questions", "0"), ("answered before", _hits(self.cache_hits)), ("right", self._right)]
        by_status = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.statuses.items())
        used = ", ".join(f"{name} {count} ×" for name, count in list(self.tools_used.items())[:_MOST_USED])
        more = len(self.tools_used) - _MOST_USED
        cost = "not known" if self.cost is None else f"${self.cost:.4f}, ${self.cost / self.priced:.4f} per question"
        if 0 < self.priced < asked:
            cost += f" (price not known of {asked - self.priced} of {asked})"
        lasted = "not known"
        if self.median_seconds is not None:
            lasted = f"median {self.median_seconds:.1f} s, 95 % within {self.p95_seconds:.1f} s"
        tokens = f"{usage.input_tokens:,} in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
        per_question = (usage.input_tokens + usage.output_tokens) / asked
        return [
            ("questions", f"{asked}: {by_status}"),
            *([("unreadable", f"{self.unreadable}: alita runs list shows the others")] if self.unreadable else []),
            ("right", self._right),
            ("answered before", _hits(self.cache_hits)),
            ("model calls", f"{usage.calls:,}, {usage.calls / asked:.1f} per question"),
            ("tokens", f"{tokens}; {per_question:,.0f} per question"),
            ("cost", cost),
            ("tools used", (used + (f" and {more} more" if more > 0 else "")) or "none"),
            ("tools created", str(self.tools_created)),
            *((f"{CALLS[kind]} failed", _share(self.failed.get(kind, 0), made)) for kind, made in self.calls.items()),
            ("time", lasted),
        ]

    @property
    def _right(self) -> str:
        if not self.scored:
            return "not known: no question of this time was scored"
        return f"{_share(self.right, self.scored)} that a benchmark with learning scored"


def statistics_of(runs: Path, *, since: float | None, scores: Mapping[str, bool], cache_hits: int) -> Statistics:
    """Looks through the runs of a period.

    Args:
        runs: Their folder.
        since: When the period begins, in seconds since 1970; None for all.
        scores: Whether a run's answer was right, where that is known, by its id.
        cache_hits: How many questions of the period were answered from the cache.
    """

    def is_of_the_period(run_id: str) -> bool:
        return since is None or begun(run_id) >= since

    statuses, used, made, failed = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    usage, costs, seconds = Usage(), list[float](), list[float]()
    unreadable = created = 0
    for run_id in filter(is_of_the_period, ids_in(runs)):
        try:
            run = load_run(runs, run_id)
        except RunError:
            unreadable += 1
            continue
        statuses[run.status] += 1
        for kind, is_failed in _calls(runs, run):
            made[kind] += 1
            failed[kind] += is_failed
        if (answer := run.answer) is None:
            continue
        usage += answer.usage
        seconds.append(answer.seconds)
        used.update(answer.tools_used)
        created += len(answer.tools_created)
        if answer.usage.cost is not None:
            costs.append(answer.usage.cost)
    scored = [right for run_id, right in scores.items() if is_of_the_period(run_id)]
    return Statistics(
        since=since,
        questions=statuses.total(),
        statuses=_ranked(statuses),
        unreadable=unreadable,
        scored=len(scored),
        right=sum(scored),
        cache_hits=cache_hits,
        usage=usage,
        cost=sum(costs) if costs else None,
        priced=len(costs),
        tools_used=_ranked(used),
        tools_created=created,
        calls={kind: made[kind] for kind in CALLS if made[kind]},
        failed={kind: failed[kind] for kind in CALLS if made[kind]},
        median_seconds=statistics.median(seconds) if seconds else None,
        p95_seconds=_p95(seconds),
    )


def _calls(runs: Path, run: Run) -> Iterator[tuple[str, bool]]:
    """The kind of each call of a run, and whether it failed; a line that is damaged tells nothing."""
    try:
        lines = journal_path(runs, run.run_id).read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith(_CALL):
            try:
                call: dict[str, Any] = json.loads(line)
            except ValueError:
                continue
            yield call["kind"], "error" in call or _has_failed(call.get("output"))


def _has_failed(output: Json) -> bool:
    """Whether an output tells of a failure: of a tool, a program, a file, or another server."""
    if not isinstance(output, dict):
        return False
    return bool(output.get("problem")) or output.get("ok") is False or _has_failed(output.get("outcome"))


def _ranked(counted: Counter[str]) -> dict[str, int]:
    """The most frequent first, the others by name."""
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def _p95(seconds: list[float]) -> float | None:
    """The shortest time within which 95 of 100 runs ended."""
    return sorted(seconds)[-(-len(seconds) * 95 // 100) - 1] if seconds else None


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({count / of:.1%})"


def _hits(count: int) -> str:
    return f"{count} from the cache"
