"""What the runs of a period came to: questions, calls, tokens, money, tools and time."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.errors import RunError
from agent.models.protocol import Usage
from agent.store.retention import begun
from agent.store.runs import ids_in, load_run
from mcp_tools.tool import Json

_MOST_USED = 5


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a period. What is not known is None, never 0."""

    questions: int
    """Runs; neither plain arithmetic nor an answer from the cache makes one."""
    statuses: dict[str, int]
    usage: Usage
    cost: float | None
    """US dollars of the runs whose price is known; None where no run's is."""
    priced: int
    """Runs whose price is known."""
    tools_used: dict[str, int]
    """Runs that called each tool, the most used first."""
    tools_created: int
    median_seconds: float | None

    def as_json(self) -> dict[str, Json]:
        """What `--json` prints."""
        return asdict(self)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """For people."""
        asked, usage = self.questions, self.usage
        if not asked:
            return [("questions", "0")]
        by_status = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in self.statuses.items())
        used = [f"{name} {count} ×" for name, count in self.tools_used.items()]
        more = f" and {len(used) - _MOST_USED} more" if len(used) > _MOST_USED else ""
        cost = "not known" if self.cost is None else f"${self.cost:.4f}, ${self.cost / self.priced:.4f} per question"
        if 0 < self.priced < asked:
            cost += f" (price not known of {asked - self.priced} of {asked})"
        tokens = f"{usage.input_tokens:,} in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
        return [
            ("questions", f"{asked}: {by_status}"),
            ("model calls", f"{usage.calls:,}, {usage.calls / asked:.1f} per question"),
            ("tokens", tokens),
            ("cost", cost),
            ("tools used", (", ".join(used[:_MOST_USED]) + more) or "none"),
            ("tools created", str(self.tools_created)),
            ("time", "not known" if self.median_seconds is None else f"median {self.median_seconds:.1f} s"),
        ]


def statistics_of(runs: Path, *, since: float = 0.0) -> Statistics:
    """Looks through the runs that began at a time or later, in seconds since 1970."""
    statuses, used = Counter[str](), Counter[str]()
    usage, costs, seconds, created = Usage(), list[float](), list[float](), 0
    for run_id in ids_in(runs):
        if begun(run_id) < since:
            continue
        try:
            run = load_run(runs, run_id)
        except RunError:
            continue
        statuses[run.status] += 1
        if (answer := run.answer) is None:
            continue
        usage += answer.usage
        seconds.append(answer.seconds)
        used.update(answer.tools_used)
        created += len(answer.tools_created)
        if answer.usage.cost is not None:
            costs.append(answer.usage.cost)
    return Statistics(
        questions=statuses.total(),
        statuses=dict(statuses.most_common()),
        usage=usage,
        cost=sum(costs) if costs else None,
        priced=len(costs),
        tools_used=dict(used.most_common()),
        tools_created=created,
        median_seconds=statistics.median(seconds) if seconds else None,
    )
