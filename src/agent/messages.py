"""The conversation with a capable model: written anew from the state at each decision, and growing only at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent.attached import files_text
from agent.external import SERVER
from agent.functions import DRAFT
from agent.models.protocol import Message
from agent.pictures import can_be_sent, picture_part
from agent.state import AttachedFile, Reply, State, Step
from agent.steps import preview
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt

OBSERVATION = 16_000
"""Characters of one observation; what was read was sized when it was read."""
CONVERSATION = 240_000
"""Characters of all observations together; beyond them the oldest are shown in short."""
_SHORT = 400
_FEW_STEPS = 2
_MOST_PICTURES = 8


def messages_for(
    state: State, replies: Sequence[Reply], *, most_steps: int, with_pictures: bool = False
) -> list[Message]:
    """The system prompt, the question with its files, and each reply with what it brought.

    Args:
        state: Of the run.
        replies: All of them; a refused one may not be in the state yet.
        most_steps: The limit of steps, of which the last ones are announced.
        with_pictures: Whether the model reads pictures: it is sent those that are attached.
    """
    messages: list[Message] = load_prompt("agent", "standard").render(question=_question(state))
    pictures = [
        file for file in state.get("attached", []) if with_pictures and "since" not in file and can_be_sent(file)
    ][:_MOST_PICTURES]
    if pictures:
        parts = [{"type": "text", "text": messages[-1]["content"]}, *map(picture_part, pictures)]
        messages[-1] = {"role": "user", "content": parts}
    by_call = {step["call"]: step for step in state.get("steps", []) if step.get("call")}
    short = _shown_in_short(list(by_call.values()))
    for reply in replies:
        messages.append(reply["message"])
        for call in reply["message"].get("tool_calls", []):
            content = _observation(call["id"], reply, by_call, short, most_steps, state.get("attached", []))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        if reply["remark"]:
            messages.append({"role": "user", "content": reply["remark"]})
    return messages


def _question(state: State) -> str:
    lines = [state["question"]]
    attached = [file for file in state.get("attached", []) if "since" not in file]
    if attached:
        lines += ["", "Files:", files_text(attached)]
    elif state.get("files"):
        lines += ["", "Files:", data_block("names", "\n".join(state["files"]))]
    if external := [tool for tool in state["tools"] if SERVER in tool]:
        lines += ["", "What connected servers say of their functions:", _told_by_servers(external)]
    if drafts := [str(tool["description"]) for tool in state["tools"] if tool.get(DRAFT)]:
        lines += ["", "What tools that are not approved say of themselves:", *drafts]
    return "\n".join(lines)


def _told_by_servers(tools: Sequence[dict[str, Any]]) -> DataText:
    return data_blocks(data_block(f"{tool['name']} of {tool[SERVER]}", _told_of(tool)) for tool in tools)


def _told_of(tool: dict[str, Any]) -> str:
    """What a server says of its tool and of the tool's arguments, of which the function itself shows the form alone."""
    return f"{tool['description']}\nArguments: {json.dumps(tool.get('inputSchema'), ensure_ascii=False)}"


def _observation(
    call: str,
    reply: Reply,
    by_call: dict[str, Step],
    short: set[str],
    most_steps: int,
    attached: Sequence[AttachedFile],
) -> str:
    if call in reply["refused"]:
        return reply["refused"][call]
    step = by_call.get(call)
    if step is None:
        return "Not done: the run went on without it."
    size = _SHORT if call in short else OBSERVATION
    shown = preview(step["finding"], size)
    left = most_steps - step["number"]
    warning = f"\n{left} step{'s' * (left != 1)} left." if 0 < left <= _FEW_STEPS else ""
    note = f"\n{step['note']}" if step.get("note") else ""
    brought = [file for file in attached if file.get("since") == step["number"]]
    note += f"\nFiles that came with it:\n{files_text(brought)}" if brought and call not in short else ""
    return f"{data_block(step['action'], shown)}{note}{warning}"


def _shown_in_short(steps: Sequence[Step]) -> set[str]:
    """The calls whose observations are too old to be shown whole.

    Whenever there is no room left, half of it is made free, so that the conversation stays the same for many replies.
    """
    short, whole, size = set[str](), list[Step](), 0
    for step in steps:
        whole.append(step)
        size += _size(step)
        if size > CONVERSATION:
            while size > CONVERSATION // 2 and len(whole) > 1:
                oldest = whole.pop(0)
                size -= _size(oldest)
                short.add(oldest["call"])
    return short


def _size(step: Step) -> int:
    return min(len(step["finding"]), OBSERVATION)
