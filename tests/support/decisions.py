"""States, steps and models for tests of decisions, without a run."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from agent.budget import Budget, RunLimits
from agent.calls.external_tools import ExternalTools
from agent.calls.recorder import Recorder
from agent.calls.web_access import RecordedWeb
from agent.consent.consent import Consent
from agent.context import Context
from agent.material.workspace import Workspace
from agent.models.protocol import Role
from agent.models.scripted import ScriptedModel
from agent.question import Purpose
from agent.state import LOOK, Decision, State, Step, ToolRef
from agent.store.journal import Journal
from agent.store.redact import Redactor
from agent.strategy import strategy_for

FIBONACCI = ToolRef(
    "nth_fibonacci",
    "Return the n-th Fibonacci number.",
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False},
)
USE = {"json": {"n": 57}}
"""Arguments from a small model."""
SEARCHING = {"tool": "search", "arguments": {"query": "q"}}
"""A function call from a capable model."""


class Weak(ScriptedModel):
    """A scripted model with the name of the embedded model."""

    @property
    def name(self) -> str:
        return "embedded"


class OneModel:
    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    def for_role(self, role: str) -> ScriptedModel:
        return self.model


def context_with(model: ScriptedModel | None = None, **given: Any) -> Context:
    """Return the context of a run with this model. It has no web, and only the parts that decisions use."""
    rest = {field.name: None for field in fields(Context) if field.default is field.default_factory is MISSING}
    calls = Recorder(
        given.pop("journal", None) or Journal(Path("run/journal.jsonl"), Redactor(), []),
        given.pop("budget", None) or Budget(RunLimits()),
        given.pop("emit", lambda event: None),
    )
    consent, workspace = Consent(None, calls), Workspace(Path("run/workspace"))
    made = {
        "models": model and OneModel(model),
        "calls": calls,
        "run_id": "run",
        "strategy_of": strategy_for,
        "external": ExternalTools(None, calls, consent, workspace.keep_bytes),
        "consent": consent,
        "workspace": workspace,
        "web": RecordedWeb(None, calls),
    }
    return Context(**{**rest, **made, **given})


async def choose(state: State, context: Context) -> Decision:
    """Let the strategy of the coordinator's model choose the next action."""
    return (await context.strategy(Role.COORDINATOR).decide(state, context)).decisions[0]


def state_of(
    question: str,
    *,
    tools: list[ToolRef] | None = None,
    steps: list[Step] | None = None,
    files: list[str] | None = None,
) -> State:
    state: State = {"question": question, "purpose": Purpose.ANSWER, "files": files or []}
    return {**state, "tools": tools or [], "steps": steps or []}


def done(
    action: Any, input_: str = "", *, ok: bool = True, value: Any = None, finding: str = "", number: int = 1
) -> Step:
    input_ = input_ or action
    found = finding or f"{input_} = {value}"
    return Step(number=number, action=action, input=input_, ok=ok, finding=found, value=value, ending=LOOK)
