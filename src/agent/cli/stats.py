"""`alita stats`: what the questions of a period came to."""

from __future__ import annotations

import time
from typing import Annotated

from agent.cli import options
from agent.cli.options import opt
from agent.cli.output import print_json, print_rows
from agent.configuration.periods import start_of
from agent.errors import UsageError
from agent.learning.gap_records import GapRecords
from agent.store.answer_cache import hits_since
from agent.traces.statistics import statistics_of

app = options.new_app("Statistics of the questions that were asked.")


@app.command()
def stats(
    since: Annotated[
        str | None,
        opt("--since PERIOD", "From 7d, 12h … ago, or a day such as 2026-11-01; all kept runs if not given."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Shows questions, answers, calls, tokens, cost, tools, failures and times of a period."""
    settings = options.settings()
    try:
        begin = None if since is None else start_of(since, time.time())
    except ValueError as error:
        raise UsageError(f"--since: {error}.", remedy="For example: alita stats --since 7d") from None
    scores: dict[str, bool] = {}
    if settings.gaps_file.exists():
        records = GapRecords(settings.gaps_file)
        scores = records.scores()
        records.close()
    hits = hits_since(settings.cache_hits_file, begin or 0.0)
    found = statistics_of(settings.runs_dir, since=begin, scores=scores, cache_hits=hits)
    if as_json:
        print_json(found.as_json())
    else:
        print_rows(found.rows)
