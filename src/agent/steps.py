"""Formats steps and their findings for later prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent.state import Decision, Picture, State, Step
from mcp_tools.prompt import NO_DATA, DataText, data_block, data_blocks
from mcp_tools.text import middle_left_out, printable
from mcp_tools.tool import Json

PREVIEW = 1500
"""Maximum characters of a finding in a prompt. The journal keeps the full text."""
READING = 6000
"""Maximum characters of a file reading in a prompt."""
_SIZED = frozenset({"read_file", "search"})
_NOISE = 4
"""Number of digits that rounding to fifteen must save for the rest to be noise: 0.30000000000000004 has noise,
0.3333333333333333 does not."""
_SURROUNDINGS = 6500
"""Characters that a finding may have in addition to the text that was read."""


def decision_of(state: State) -> Decision:
    """Return the decision that is being carried out."""
    return state["decision"]


def step_number(state: State) -> int:
    """Return the number of the current step."""
    return len(state.get("steps", [])) + 1


def step(
    state: State,
    *,
    ok: bool,
    finding: str,
    value: Json = None,
    note: str = "",
    pictures: Sequence[Picture] = (),
) -> Step:
    """Return the step of the current decision."""
    decision = decision_of(state)
    done = Step(
        number=step_number(state),
        action=decision.action,
        input=decision.input,
        ok=ok,
        finding=finding,
        value=value,
        ending=decision.ending,
    )
    if note:
        done["note"] = note
    if pictures:
        done["pictures"] = list(pictures)
    if decision.call:
        done["call"] = decision.call
    return done


def preview(text: str, size: int = PREVIEW) -> str:
    """Return the text; if it is too long, its two ends with a note about the omitted part."""
    return middle_left_out(printable(text), size)


def evidence_text(steps: Sequence[Step]) -> DataText:
    """Return all findings, oldest first, marked as data."""
    if not steps:
        return NO_DATA
    shown = data_blocks(data_block(f"step {s['number']} {s['action']}", preview(_noted(s), _size(s))) for s in steps)
    return DataText(f"\n{shown}")


def _noted(step: Step) -> str:
    return f"{step['finding']}\n{step['note']}" if step.get("note") else step["finding"]


def _size(step: Step) -> int:
    """Return the shown characters of a finding. Readings and searches are shown whole, as they are already limited."""
    return READING + _SURROUNDINGS if step["action"] in _SIZED else PREVIEW


def reading_of(step: Step) -> str:
    """Return the text of a reading, without the lines that say where it is from and how to read on."""
    head, _, text = step["finding"].partition("\n")
    if not text or not head.startswith("read_file "):
        return step["finding"]
    return "\n".join(line for line in text.splitlines() if not line.startswith("To read on: "))


def value_text(value: Json) -> str:
    """Return a computed value as an answer: numbers as people write them, lists with commas, `none` for nothing."""
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, list) and all(not isinstance(inner, list | dict) for inner in value):
        return ", ".join(value_text(inner) for inner in value)
    if isinstance(value, dict) and all(not isinstance(inner, list | dict) for inner in value.values()):
        return ", ".join(f"{key}: {value_text(inner)}" for key, inner in value.items())
    if isinstance(value, str | bool):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _number_text(value: float) -> str:
    """Return all digits of a float without the noise of binary fractions: 0.1 + 0.2 is 0.3."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    exact, short = repr(value), f"{value:.15g}"
    return short if len(short) <= len(exact) - _NOISE else exact


def last_value(steps: Sequence[Step]) -> Json:
    """Return the newest computed result; None if no step has one."""
    return next((s["value"] for s in reversed(steps) if s["ok"] and s["value"] is not None), None)
