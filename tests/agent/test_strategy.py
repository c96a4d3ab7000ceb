"""A role's strategy is chosen once, by its model and the setting; what only small models need stays in one room."""

from __future__ import annotations

import ast
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


def imports(path: Path) -> set[str]:
    """The modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def importers(room: str) -> set[str]:
    """The files outside of a room's folder that import from it."""
    outside = [path for path in SOURCE.rglob("*.py") if SOURCE / room not in path.parents]
    module = room.replace("/", ".")
    found = {path for path in outside if any(f"{name}.".startswith(f"{module}.") for name in imports(path))}
    return {str(path.relative_to(SOURCE)) for path in found}


def test_what_only_small_models_need_is_imported_in_one_place() -> None:
    assert importers("agent/small") == {"agent/strategy.py"}


def test_nothing_asks_whether_a_model_is_weak() -> None:
    names = {
        name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None))
    }
    assert not names & {"is_weak", "WEAK_MODELS"}
