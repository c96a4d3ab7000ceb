"""The planner writes a brief before a question if gap records match, and a new plan every few steps.

The planner calls no functions. The answering model receives its text as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from agent.answering.arithmetic import compute
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note, Planned
from agent.files.kinds import BY_SUFFIX
from agent.models.protocol import Role
from agent.state import NewPlan, State, Step
from agent.steps import evidence_text
from agent.web.address import addresses_in, video_id
from mcp_tools.prompt import NO_DATA, data_block, data_blocks, load_prompt
from mcp_tools.text import one_line
from mcp_tools.tool import object_schema

if TYPE_CHECKING:
    from agent.context import Context, Update

_TOKENS = 700
_STUCK = 3
"""After this many consecutive steps without a new fact, a new plan is made regardless of the setting."""


_LINES = {"type": "array", "items": {"type": "string"}}
_BRIEF = object_schema(
    {
        "question_class": {"type": "string"},
        "functions": {**_LINES, "description": "Those that are likely needed, in order."},
        "approach": {"type": "string"},
        "avoid": {**_LINES, "description": "What of the records holds for this question."},
        "answer_format": {"type": "string"},
        "used": {**_LINES, "description": "Ids of the records that hold for this question; else empty."},
    },
    ("question_class", "functions", "approach", "avoid", "answer_format"),
)
_PLAN = object_schema({"known": _LINES, "to_find": _LINES, "plan": _LINES})


async def brief(state: State, context: Context, functions: Sequence[str]) -> Update:
    """Write a brief for a question. If no gap record matches, no model is called and no brief is written."""
    if context.gaps is None:
        return {}
    files = state.get("files", [])
    records = await context.gaps.find(state["question"], kind_of(state["question"], files))
    if not records:
        return {}
    messages = load_prompt("agent.learning", "brief").render(
        question=state["question"],
        files=data_block("names", "\n".join(files)) if files else NO_DATA,
        functions=", ".join(functions),
        records=data_blocks(data_block(f"record {record.id}", record.text) for record in records),
    )
    try:
        completion = await context.complete(Role.PLANNER, messages, schema=_BRIEF, temperature=0, max_tokens=_TOKENS)
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no plan was made: {failure.message}"))
        return {}
    used = completion.parsed.get("used")
    ids = [record.id for record in records if used is None or record.id in used]
    if not ids:
        return {}
    context.emit(Planned(one_line(str(completion.parsed["approach"]), 200), tuple(ids)))
    return {"brief": {**completion.parsed, "records": ids}}


def brief_text(brief: dict[str, Any]) -> str:
    """Format a brief for the answering model."""
    lines = [
        f"Kind of question: {brief['question_class']}",
        f"Functions: {', '.join(brief['functions'])}",
        f"Approach: {brief['approach']}",
        *(f"Avoid: {line}" for line in brief["avoid"]),
        f"Form of the answer: {brief['answer_format']}",
    ]
    return "\n".join(lines)


def why_replan(state: State, every: int) -> str:
    """Return the reason why a new plan is needed now; an empty string if none is needed."""
    steps = state.get("steps", [])
    since = steps[max((plan["step"] for plan in state.get("plans", [])), default=0) :]
    if not every or not since:
        return ""
    if len(since) >= _STUCK and all(_brought_nothing(step, steps) for step in since[-_STUCK:]):
        return f"the last {_STUCK} steps brought nothing new"
    return f"{len(since)} steps were made" if len(since) >= every else ""


def _brought_nothing(step: Step, steps: Sequence[Step]) -> bool:
    earlier = steps[: step["number"] - 1]
    if step["ok"] and step.get("pictures"):
        return False
    return not step["ok"] or any(step["finding"] == other["finding"] for other in earlier)


async def replan(state: State, context: Context, functions: Sequence[str], why: str) -> NewPlan:
    """Ask a model for known facts, facts to find, and a plan. The model does not see the old plan."""
    steps = state["steps"]
    messages = load_prompt("agent.learning", "replan").render(
        question=state["question"], functions=", ".join(functions), findings=evidence_text(steps)
    )
    plan = NewPlan(step=len(steps), replies=len(state.get("replies", [])), why=why, known=[], to_find=[], plan=[])
    try:
        completion = await context.complete(Role.PLANNER, messages, schema=_PLAN, temperature=0, max_tokens=_TOKENS)
        plan |= {name: [str(line) for line in completion.parsed[name]] for name in ("known", "to_find", "plan")}  # type: ignore[typeddict-item]
        context.emit(Planned(one_line("; ".join(plan["plan"]), 200)))
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no new plan was made: {failure.message}"))
    return plan


def plan_text(plan: NewPlan) -> str:
    """Format a plan for the answering model; an empty string if there is no plan."""
    parts = [("Known", plan["known"]), ("To find", plan["to_find"]), ("Plan", plan["plan"])]
    return "\n".join(f"{name}:\n" + "\n".join(f"- {line}" for line in lines) for name, lines in parts if lines)


KINDS = (
    "table", "document", "picture", "sound or film", "archive", "program", "data file",
    "film on the web", "web page", "calculation", "lookup",
)  # fmt: skip
_BY_GROUP = {
    "table": "table",
    **dict.fromkeys(("text", "document", "mail"), "document"),
    "picture": "picture",
    **dict.fromkeys(("sound", "film"), "sound or film"),
    "archive": "archive",
}
"""Kinds of questions by the group of their first file."""
_BY_SUFFIX = {"parquet": "table", "svg": "picture", "7z": "archive", "ipynb": "program"}
"""Suffixes that `files/kinds.py` does not have, or not in this group."""
_COMPUTES = re.compile(
    r"\b(?:calculat|comput|how (?:many|much|long|far)|sum|total|average|mean|median|product|percent|probabilit|convert"
    r"|solve|equation|integral|distance|area|volume|ratio|round(?:ed)?|decimal)",
    re.IGNORECASE,
)


def kind_of(question: str, files: Iterable[str] = ()) -> str:
    """Determine the kind of a question from its first file, a URL in it, or its words."""
    for name in files:
        return _kind_of_file(PurePath(name).suffix.lower().lstrip("."))
    addresses = addresses_in(question)
    if any(map(video_id, addresses)):
        return "film on the web"
    if addresses:
        return "web page"
    computes = compute(question) is not None or (_COMPUTES.search(question) and re.search(r"\d", question))
    return "calculation" if computes else "lookup"


def _kind_of_file(suffix: str) -> str:
    row = BY_SUFFIX.get(suffix)
    if suffix in _BY_SUFFIX or row is None:
        return _BY_SUFFIX.get(suffix, "data file")
    return "program" if row.name == "source" else _BY_GROUP.get(row.group, "data file")
