"""All actions. To add an action, write its file and list it here."""

from __future__ import annotations

from agent.actions.action import Action
from agent.actions.answer import GiveAnswer
from agent.actions.ask import Ask
from agent.actions.browse import Browse
from agent.actions.create_tool import CreateTool
from agent.actions.read import Read
from agent.actions.run_python import RunPython
from agent.actions.search import Search
from agent.actions.use_tool import UseTool
from agent.material.pages import resolved
from agent.state import ActionName, Decision, State
from agent.steps import preview
from mcp_tools.prompt import data_block

_HINT_CHARS = 200
_ALL = (RunPython(), CreateTool(), Read(), Search(), Browse(), Ask(), UseTool(), GiveAnswer())
ACTIONS: dict[ActionName, Action] = {action.name: action for action in _ALL}
"""All actions by name, in the order of their functions in prompts. A fixed order keeps prompts cacheable."""


def refusal_of(decision: Decision, state: State) -> str | None:
    """Return the reason why a decision cannot be carried out; None if it can."""
    action = ACTIONS[decision.action]
    if action.name in state.get("without", []):
        return f"{action.name} is not possible in this run."
    if why := action.refusal(decision, state):
        return why
    wanted = resolved(decision, state).input
    repeated = [one for one in state.get("steps", []) if one["action"] == action.name and one["input"] == wanted]
    if repeated and not action.may_repeat(decision, repeated[-1], state):
        done = f"{preview(wanted, _HINT_CHARS)}\n{preview(repeated[-1]['finding'], _HINT_CHARS)}"
        result = data_block("what was done, and its result", done)
        return f"{action.name} was already done and gave a result.\n{result}\nChoose another action, or answer."
    return None
