"""Why a decision cannot be carried out."""

from __future__ import annotations

from collections.abc import Sequence

from agent.actions.server_tools import SERVER_TOOL
from agent.material.pages import is_page_read, means_page, no_such_link, resolved
from agent.state import Decision, State, Step
from agent.steps import preview
from mcp_tools.prompt import data_block

_HINT_LENGTH = 200


def refusal_of(decision: Decision, state: State) -> str | None:
    """Why a decision cannot be carried out; None when it can."""
    tool = decision.arguments.get("name") if decision.tool == SERVER_TOOL else decision.tool
    if decision.action == "use_tool" and tool not in {tool["name"] for tool in state["tools"]}:
        known = ", ".join(str(tool["name"]) for tool in state["tools"]) or "none"
        return f"there is no tool {tool!r:.80}; the tools are: {known}."
    if decision.action in state.get("without", []):
        return f"{decision.action} is not possible in this run."
    if means_page(decision) and "search" in state.get("without", []):
        return "pages of the web are not read in this run."
    if (problem := no_such_link(decision, state)) is not None:
        return problem
    if decision.action == "answer":
        return None if decision.answer.strip() else "an answer needs text."
    steps, wanted = state.get("steps", []), resolved(decision, state).input
    repeated = [step for step in steps if step["action"] == decision.action and step["input"] == wanted]
    if repeated and not _knows_more(state.get("files", []), steps, repeated[-1], decision):
        done = f"{preview(wanted, _HINT_LENGTH)}\n{preview(repeated[-1]['finding'], _HINT_LENGTH)}"
        result = data_block("what was done, and its result", done)
        return f"{decision.action} was already done and gave a result.\n{result}\nChoose another action, or answer."
    return None


def _knows_more(files: Sequence[str], steps: Sequence[Step], last: Step, decision: Decision) -> bool:
    """Whether an action may be done again.

    Code when something was found since, reading while a file is left, the web while it goes on giving something new.
    """
    if decision.action == "read_file":
        return unread(files, steps) and not means_page(decision)
    if decision.action in {"search", "browse"}:
        return last["ok"] and not any(step["finding"] == last["finding"] for step in steps if step is not last)
    if decision.action not in {"create_tool", "run_code"}:
        return False
    return any(step["ok"] and step["number"] > last["number"] and step["action"] != decision.action for step in steps)


def unread(files: Sequence[str], steps: Sequence[Step]) -> bool:
    """Whether a file is left to read: each is read in a step of its own, and one that fails ends it."""
    reads = [step["ok"] for step in steps if step["action"] == "read_file" and not is_page_read(step)]
    return len(reads) < len(files) and all(reads)
