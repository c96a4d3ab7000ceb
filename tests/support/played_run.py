"""A run whose journal holds a call of each kind, for pages and timelines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.store.journal import Journal
from agent.store.runs import create_run, journal_path, save_run

SECRET = "a-key-of-no-known-shape"
CODE = "def weekly(rows: list[float]) -> float:\n    return sum(rows)  # <b>total</b>\n"


async def played(runs: Path, question: str = "What is the total? </script><b>bold</b>") -> str:
    """The id of a run with six calls; one of its texts holds a key."""
    run = create_run(runs, question, model="m")
    journal = Journal.create(journal_path(runs, run.run_id))

    async def call(kind: str, request: Any, output: Any) -> None:
        async def perform() -> Any:
            return output

        await journal.call(kind, request, perform)

    journal.step = 1
    journal.mark("create_tool", "nothing fits")
    usage = {"calls": 1, "input_tokens": 90, "output_tokens": 10, "cached_tokens": 0, "cost": None}
    reply = {"text": f"use {SECRET}", "usage": usage, "role": "writer", "by": "m", "tool_calls": []}
    await call("model", {"model": "m", "messages": [{"role": "user", "content": "write"}]}, reply)
    failed = {"ok": False, "problem": {"kind": "ValueError", "message": "no number", "traceback": ""}}
    await call("sandbox", {"source": CODE, "entry": "weekly", "arguments": {}}, failed)
    await call("file", {"do": "read", "path": "/x/sales.xlsx"}, {"text": "a sheet"})
    await call("web", {"query": "leagues"}, {"found": []})
    await call("library", {"register": "weekly", "source": CODE}, {"name": "weekly"})
    await call("library", {"register": "refused", "source": CODE + "#"}, None)
    save_run(runs, replace(run, status="answered"))
    return run.run_id
