"""Made-up attempts and ledgers for tests of reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent.gaia.attempt import Attempt, Task


def attempt(task_id: str, correct: bool | None = True, **more: Any) -> Attempt:
    """Return an attempt that took one second."""
    told: dict[str, Any] = {
        "fingerprint": "f1",
        "level": 1,
        "answer": "42" if correct else "7",
        "seconds": 1.0,
        "input_tokens": 100,
        "output_tokens": 10,
        "cost": 0.01,
        "steps": 2,
        "routes": ("run_code", "answer"),
        "model": "m",
    }
    return Attempt(task_id, correct=correct, **(told | more))


def tasks(count: int, level: int = 1) -> tuple[Task, ...]:
    """Return questions named q1, q2 …"""
    return tuple(Task(f"q{n}", f"What is {n}?", level, "") for n in range(1, count + 1))


def write_ledger(path: Path, attempts: Iterable[Attempt], selected: Iterable[Task] = (), epochs: int = 1) -> Path:
    """Write a ledger as a runner does."""
    header = {"kind": "header", "ledger": 1, "alita": "0", "created": "2026-01-02T03:04:05+00:00", "fingerprint": "f1"}
    chosen = [{"task_id": t.task_id, "level": t.level, "file_name": t.file_name} for t in selected]
    lines = [
        header,
        *([{"kind": "selection", "fingerprint": "f1", "epochs": epochs, "tasks": chosen}] if chosen else []),
    ]
    lines += [a.as_json() for a in attempts]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")
    return path
