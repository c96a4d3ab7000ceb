"""search, browse: routes that exist, and say clearly that nothing stands behind them yet."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.events import Note
from agent.state import Action, State
from agent.steps import step

_WANTED = {
    "search": "searching the web",
    "browse": "driving a browser",
}


def _refuse(action: Action, state: State, context: Context) -> dict[str, Any]:
    text = f"{action} is not configured: this version of alita has no {_WANTED[action]} yet."
    context.emit(Note(text))
    return {"steps": [step(state, ok=False, finding=text)]}


async def search(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Says that searching is not configured."""
    return _refuse("search", state, runtime.context)


async def browse(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Says that browsing is not configured."""
    return _refuse("browse", state, runtime.context)
