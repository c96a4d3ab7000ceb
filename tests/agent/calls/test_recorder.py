"""Every outside call passes the same stations in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.budget import Budget, RunLimits
from agent.calls.recorder import Recorder
from agent.errors import ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Usage
from agent.store.journal import Journal

USAGE = Usage(10, 5, 0, 1, 0.5)


class Stations:
    """What happens to one kind of call, in the order in which it happens."""

    def __init__(self, journal: Journal, budget: Budget | None = None) -> None:
        self.seen: list[str] = []
        self.calls = Recorder(journal, budget or Budget(), lambda event: self.seen.append(str(event.text)))  # type: ignore[attr-defined]

    async def call(self, *, refused: Any = None, **options: Any) -> Any:
        async def consent() -> Any:
            self.seen.append("consent")
            return refused

        async def work() -> Any:
            self.seen.append("call")
            return "done"

        def cost(result: Any) -> Usage:
            written = self.calls.journal.path.read_text() if self.calls.journal.path.exists() else ""
            self.seen.append("cost" if '"key"' in written else "cost before record")
            return USAGE

        def events(result: Any) -> list[Note]:
            return [Note(f"event {result}")]

        stations: dict[str, Any] = {"consent": consent, "cost": cost, "events": events}
        return await self.calls.call("web", {"q": 1}, work, **stations, limit="model", **options)


async def test_a_call_is_limited_permitted_made_recorded_paid_and_reported(tmp_path: Path) -> None:
    stations = Stations(journal := Journal.create(tmp_path / "journal.jsonl"))

    assert await stations.call() == "done"

    assert stations.seen == ["consent", "call", "cost", "event done"]
    assert stations.calls.budget.usage == Usage() + USAGE
    await journal.aclose()


async def test_a_replay_asks_and_calls_nobody(tmp_path: Path) -> None:
    await Stations(journal := Journal.create(tmp_path / "journal.jsonl")).call()
    await journal.aclose()
    over = Budget(RunLimits(tokens=0))

    stations = Stations(Journal.replay(tmp_path / "journal.jsonl"), over)

    assert await stations.call() == "done"
    assert stations.seen == ["cost", "event done"]


async def test_a_refusal_is_the_recorded_result(tmp_path: Path) -> None:
    stations = Stations(journal := Journal.create(tmp_path / "journal.jsonl"))

    assert await stations.call(refused="no") == "no"

    assert stations.seen == ["consent", "cost", "event no"]
    await journal.aclose()
    assert await Stations(Journal.replay(tmp_path / "journal.jsonl")).call() == "no"


async def test_nobody_is_asked_for_consent_when_the_budget_is_used_up(tmp_path: Path) -> None:
    stations = Stations(journal := Journal.create(tmp_path / "journal.jsonl"), Budget(RunLimits(tokens=0)))

    with pytest.raises(StoppedError):
        await stations.call()

    assert stations.seen == []
    await journal.aclose()


async def test_a_call_that_reports_itself_is_reported_again_only_by_a_replay(tmp_path: Path) -> None:
    live = Stations(journal := Journal.create(tmp_path / "journal.jsonl"))
    await live.call(reports_itself=True)
    await journal.aclose()

    replayed = Stations(Journal.replay(tmp_path / "journal.jsonl"))
    await replayed.call(reports_itself=True)

    assert live.seen == ["consent", "call"]
    assert replayed.seen == ["cost", "event done"]


async def test_an_unusable_reply_is_paid_too(tmp_path: Path) -> None:
    calls = Recorder(journal := Journal.create(tmp_path / "journal.jsonl"))

    async def fail() -> str:
        raise ModelOutputError("no JSON", usage=USAGE)

    with pytest.raises(ModelOutputError):
        await calls.call("model", {}, fail, cost=lambda reply: getattr(reply, "usage", None) or Usage())

    assert calls.budget.usage == Usage() + USAGE
    await journal.aclose()
