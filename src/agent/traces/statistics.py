"""Statistics of the runs in a period: questions, answers, calls, tokens, cost, tools, failures and durations."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from agent.errors import RunError
from agent.models.protocol import Usage
from agent.store.retention import begun
from agent.store.runs import Run, ids_in, journal_path, load_run
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of
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
"""Kinds of calls that can fail for reasons outside the run, with their display names."""
_CALL = b'{"seq":'
"""Start of journal lines that record a call."""
_MOST_USED = 5


def statistics_of(runs: Path, *, since: float | None, scores: Mapping[str, bool], cache_hits: int) -> dict[str, Json]:
    """Return the statistics of the runs in a period, as printed by `--json`. Unknown values are None, never 0.

    Args:
        runs: The folder that contains the runs.
        since: Unix time at which the period starts; None for all runs.
        scores: Known scores by run id: True if the answer was right.
        cache_hits: Number of questions in the period that were answered from the cache.
    """
    statuses, used, made, failed = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    usage, costs, seconds = Usage(), list[float](), list[float]()
    unreadable = created = 0
    for run_id in ids_in(runs):
        if since is not None and begun(run_id) < since:
            continue
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
    scored = [right for run_id, right in scores.items() if since is None or begun(run_id) >= since]
    return {
        "since": since,
        "questions": statuses.total(),  # excludes plain arithmetic and cached answers, which need no run
        "statuses": _ranked(statuses),
        "unreadable": unreadable,
        "scored": len(scored),  # includes benchmarks with learning, whose runs are stored elsewhere
        "right": sum(scored),
        "accuracy": sum(scored) / len(scored) if scored else None,
        "cache_hits": cache_hits,
        "usage": {name: amount for name, amount in asdict(usage).items() if name != "cost"},
        "cost": sum(costs) if costs else None,
        "priced": len(costs),  # number of runs with a known price; `cost` covers only these
        "tools_used": _ranked(used),
        "tools_created": created,
        "calls": {kind: made[kind] for kind in CALLS if made[kind]},
        "failed": {kind: failed[kind] for kind in CALLS if made[kind]},
        "median_seconds": statistics.median(seconds) if seconds else None,
        "p95_seconds": sorted(seconds)[-(-len(seconds) * 95 // 100) - 1] if seconds else None,
    }


def rows_of(found: dict[str, Json]) -> list[tuple[str, str]]:
    """Format the statistics as rows of text."""
    asked, priced, cost, usage = (found[name] for name in ("questions", "priced", "cost", "usage"))
    right = "unknown (nothing scored in this period)"
    if found["scored"]:
        right = f"{_share(found['right'], found['scored'])} that a benchmark with learning scored"
    rows = [("accuracy", right), ("answered before", f"{found['cache_hits']} from the cache")]
    if found["unreadable"]:
        rows.insert(0, ("unreadable", f"{found['unreadable']}: alita runs list shows the others"))
    if not asked:
        return [("questions", "0"), *rows]
    by_status = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found["statuses"].items())
    tools = [f"{name} {count} ×" for name, count in found["tools_used"].items()]
    more = f" and {len(tools) - _MOST_USED} more" if len(tools) > _MOST_USED else ""
    price = "unknown" if cost is None else f"${cost:.4f} for {count_of(priced, 'question')}"
    if 0 < priced < asked:
        price += f"; price of {asked - priced} unknown"
    tokens = f"{usage['input_tokens']:,} in ({usage['cached_tokens']:,} cached), {usage['output_tokens']:,} out"
    per_question = (usage["input_tokens"] + usage["output_tokens"]) / asked
    lasted = "unknown"
    if found["median_seconds"] is not None:
        lasted = f"median {found['median_seconds']:.1f} s, 95th percentile {found['p95_seconds']:.1f} s"
    return [
        ("questions", f"{asked}: {by_status}"),
        *rows,
        ("model calls", f"{usage['calls']:,}, {usage['calls'] / asked:.1f} per question"),
        ("tokens", f"{tokens}; {per_question:,.0f} per question"),
        ("cost", price),
        ("tools used", (", ".join(tools[:_MOST_USED]) + more) or "none"),
        ("tools created", str(found["tools_created"])),
        *((f"{CALLS[kind]} failed", _share(found["failed"][kind], made)) for kind, made in found["calls"].items()),
        ("time", lasted),
    ]


def _calls(runs: Path, run: Run) -> Iterator[tuple[str, bool]]:
    """Yield the kind of each call of a run, and True if the call failed. Damaged lines are skipped."""
    try:
        lines = read_small(journal_path(runs, run.run_id), JOURNAL).splitlines()
    except OSError:
        return
    for line in lines:
        if line.startswith(_CALL):
            try:
                call = json.loads(line)
            except (ValueError, RecursionError):
                continue
            yield call["kind"], "error" in call or _has_failed(call.get("output"))


def _has_failed(output: Json) -> bool:
    """Return True if an output reports that a tool, program, file or server failed."""
    if not isinstance(output, dict):
        return False
    return bool(output.get("problem")) or output.get("ok") is False or _has_failed(output.get("outcome"))


def _ranked(counted: Counter[str]) -> dict[str, int]:
    """Sort counts in descending order, and equal counts by name."""
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({count / of:.1%})"
