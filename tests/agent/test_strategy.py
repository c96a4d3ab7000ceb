"""A role's strategy is chosen once, by its model and the setting; what only small models need stays in one room."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agent
from agent.configuration.settings import Settings, configuration_of, settings_as_in
from agent.models.protocol import Request, Role
from agent.models.scripted import ScriptedModel
from agent.small.small import Small
from agent.standard.standard import Standard
from agent.store.runs import Run
from support.decisions import Weak, context_with

SOURCE = Path(agent.__file__).parent.parent


@pytest.mark.parametrize(
    ("model", "setting", "strategy"),
    [
        (Weak, "auto", Small),
        (ScriptedModel, "auto", Standard),
        (ScriptedModel, "small", Small),
        (Weak, "standard", Standard),
    ],
)
def test_the_setting_or_else_the_model_decides(model: Any, setting: Any, strategy: type) -> None:
    context = replace(context_with(model([])), strategy_of=lambda _: setting)
    assert isinstance(context.strategy(Role.COORDINATOR), strategy)


class Recording(ScriptedModel):
    """Remembers how much it may write."""

    async def complete(self, request: Request) -> Any:
        self.most = request.max_tokens
        return await super().complete(request)


@pytest.mark.parametrize(("setting", "room"), [("small", 0), ("standard", 12_000)])
async def test_a_model_has_as_much_room_to_think_as_its_strategy_gives(setting: Any, room: int) -> None:
    model = Recording(["yes", "yes"])
    context = replace(context_with(model), strategy_of=lambda _: setting)
    for last_call, most in ((False, 5 + room), (True, 5)):
        context.budget.last_call = last_call
        await context.complete(Role.PLANNER, [{"role": "user", "content": "?"}], max_tokens=5)
        assert model.most == most


def test_a_run_goes_on_with_the_strategy_that_it_began_with() -> None:
    usual, small = Settings(model="m"), Settings(model="m", strategy="small")
    assert "strategy" not in configuration_of(usual)
    for began in (usual, small):
        run = Run("r", "?", "m", 0.0, configuration=configuration_of(began))
        assert settings_as_in(run, Settings(strategy="standard")).strategy == began.strategy


def test_nothing_asks_whether_a_model_is_weak() -> None:
    asking = re.compile(r"\bis_weak\b|\bWEAK_MODELS\b")
    assert not [path for path in SOURCE.rglob("*.py") if asking.search(path.read_text("utf-8"))]
