"""The action that ends a run with its answer, or with the best guess if a limit is reached."""

from __future__ import annotations

from agent.actions.action import Action
from agent.answering.answer_format import answer_text
from agent.context import Context, Update
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Role
from agent.state import Decision, State, Step
from agent.steps import decision_of, last_value


class GiveAnswer(Action):
    """Ends the run with the text of the decision, else the newest result, else the model's best guess."""

    name = "answer"

    def refusal(self, decision: Decision, state: State) -> str:
        """See `Action`."""
        return "" if decision.answer.strip() else "an answer needs text."

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True: an answer does not count as a repetition."""
        return True

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`. There is no guess if the run must make a tool."""
        text = decision_of(state).answer.strip()
        if not text:
            value = last_value(state.get("steps", []))
            text = "" if value is None else answer_text(value, state["question"])
        if not text and not state["purpose"].wants_tool:
            text = await _best_guess(state, context)
        if text:
            text = await context.strategy(Role.COORDINATOR).confirmed(text, state, context)
        return {"text": text}


async def _best_guess(state: State, context: Context) -> str:
    if state["purpose"].is_users:  # only the final answer of a run may exceed its limits
        context.budget.last_call = context.budget.limits.cost != 0
    try:
        return await context.strategy(Role.COORDINATOR).best_guess(state, context)
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no best guess was made: {failure.message}"))
        return ""
