"""The action that asks a specialist. The question is answered on the same graph, with a separate state."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import cast

from agent.actions.action import TEXT, Action, FunctionCall, function_form
from agent.configuration.specialists import SHARE, SPECIALISTS, forbidden_actions
from agent.context import Context, Update
from agent.conversation import Room
from agent.events import ToolCalled
from agent.material.origins import is_private, origins_of
from agent.question import Purpose
from agent.state import AttachedFile, Decision, State, Step
from agent.steps import decision_of, step, step_number
from mcp_tools.text import one_line


class Ask(Action):
    """Asks a specialist. The answer is the finding."""

    name = "ask"
    function = function_form(
        "ask",
        "A specialist answers a question that stands alone.",
        {"question": TEXT, "agent": {"enum": [*SPECIALISTS]}},
        ["question", "agent"],
    )

    def decision(self, call: FunctionCall) -> Decision:
        """See `Action`."""
        question, agent = call.arguments["question"].strip(), call.arguments["agent"]
        return Decision(self.name, call.why, query=question, agent=agent, call=call.call_id)

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`."""
        decision, asked = decision_of(state), HandOvers(state)
        ok, text = await asked.ask(decision.query, decision.agent, context)
        return {"steps": [step(state, ok=ok, finding=text) | asked.marks], **asked.update}


@dataclass(slots=True)
class HandOvers:
    """Hands over the questions of one step in order, and collects the results."""

    state: State
    """The state of the run, updated after each question."""
    is_private: bool = False
    """True if an answer may contain private data of the user."""
    created: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    _asked: bool = False

    @property
    def marks(self) -> Step:
        """Fields to add to the step that handed the questions over."""
        return cast(Step, {"is_private": True} if self.is_private else {})

    @property
    def update(self) -> Update:
        """The update of the state without the step; empty if no specialist was asked."""
        names = ("turns", "sources", "links", "attached") if self._asked else ()
        more = {name: self.state[name] for name in names if name in self.state}  # type: ignore[literal-required]
        return {**more, "created": self.created, "used": self.used}

    async def ask(self, question: str, agent: str, context: Context) -> tuple[bool, str]:
        """Return True and the specialist's answer, or False and the reason why it did not answer.

        Its calls are recorded as calls of this step, and its steps count as steps of the run.
        """
        state, most = self.state, context.budget.limits.steps
        begun, turns = time.monotonic(), state.get("turns", 0)
        allowed = min(math.ceil(most * (SPECIALISTS[agent].share if agent else SHARE)), most - turns)
        if "agent" in state:
            return False, "A specialist answers its question without handing it on."
        if allowed <= 0:
            return False, f"Not asked: the limit of {most} steps leaves none for it."
        own = replace(
            context,
            python=context.python.another(),
            room=Room(context.room.characters, context.room.one),
            streams=False,
            gaps=None,
        )
        try:
            with context.journal.ahead(step_number(state)):
                found = await context.solve(self._start(question, agent, allowed, context), own)
        finally:
            await own.python.aclose()
        text = found.get("text", "")
        self._learn(found)
        summary = one_line(text or "no answer")
        context.emit(
            ToolCalled("ask", {"question": question, "agent": agent}, bool(text), summary, time.monotonic() - begun)
        )
        return bool(text), text or "No answer was found."

    def _start(self, question: str, agent: str, allowed: int, context: Context) -> State:
        """Return the specialist's first state. It keeps the user's own words, even if a model wrote the question."""
        state, origins = self.state, origins_of(self.state, context)
        known = set(context.web.texts)
        files = [AttachedFile(**{k: v for k, v in one.items() if k != "since"}) for one in state.get("attached", [])]  # type: ignore[typeddict-item]
        start = State(
            question=question,
            purpose=Purpose.HAND_OVER,
            said=state.get("said") or [state["question"]],
            files=state.get("files", []),
            agent=agent,
            most_turns=allowed,
            without=list(dict.fromkeys([*state.get("without", []), *forbidden_actions(agent)])),
            sources=state.get("sources", []),
            links=state.get("links", {}),
            known={
                "foreign": [text for text in origins.foreign if text not in known],
                "private": list(origins.private),
            },
        )
        if (folder := state.get("folder")) is not None:
            start["folder"] = folder
        return State(**{**start, "attached": files}) if files else start

    def _learn(self, found: State) -> None:
        state, self._asked = self.state, True
        before = {file["path"] for file in state.get("attached", [])}
        new = [
            AttachedFile(**{**file, "since": step_number(state)})
            for file in found.get("attached", [])
            if file["path"] not in before
        ]
        self.is_private |= any(is_private(done, found) for done in found.get("steps", []))
        self.created += found.get("created", [])
        self.used += found.get("used", [])
        self.state = State(
            **{
                **state,
                "turns": state.get("turns", 0) + found.get("turns", 0),
                "sources": found.get("sources", []),
                "links": found.get("links", {}),
                **({"attached": [*state.get("attached", []), *new]} if new else {}),
            }
        )
