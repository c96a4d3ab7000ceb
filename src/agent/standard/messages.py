"""The conversation with a capable model. It is rebuilt from the state at each decision and only grows at the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agent.actions.server_tools import external_of, line_of, module_names, sentence_of
from agent.answering.answer_format import answer_of, variables_in, wanted_form
from agent.configuration.specialists import prompt_of
from agent.conversation import SHORT, Room
from agent.learning.planner import brief_text, plan_text
from agent.material.attached import files_text
from agent.material.picture_messages import PicturesOfSteps, Sight, not_shown, parts_of, without_pictures
from agent.models.protocol import Message
from agent.state import AttachedFile, Reply, State, Step
from agent.steps import preview
from mcp_tools.prompt import data_block, data_blocks, load_prompt
from mcp_tools.text import printable

_EARLIER = (
    "This program answered the question before, maybe with other values. If others would ask it too, make a tool of it."
)
_FORM = (
    "- Answer what was asked, no more, in the form asked for. Web facts end with their source's number: [1]; a bare "
    "value does not. What cannot be found: say what and why."
)
"""Instructions for the form of an answer, unless a benchmark has its own rules."""
_CONNECTED = (
    "Connected servers and what they say of their tools. Programs import them, with keyword arguments: "
    "`from servers.{module} import {name}`. Programs do not see a server's folders: they call its functions."
)
_AROUND = (
    "Make the tool around the package {label}, which is installed: import {module} or a module of it, and leave the "
    "work to it. The docstring must say enough for someone who does not know the package (what is accepted, refused "
    "and returned), and promise only what the material shows. If the package cannot serve the question, reply so in a "
    "sentence, without a call."
)
_NEAR = "More tools of the library, which programs import:"
_FOLDER = "The user's folder, which programs and `read` open: {path}"
_COPIED_FOLDER = (
    "A copy of the user's folder: {path}\nPrograms read and change files there, by absolute paths. The original stays "
    "as it is: the user sees the changes afterwards and decides. Say what you changed."
)
_STOPPED = "The user stopped this while it ran. What it did before stays done."
_WORD = re.compile(r"[^\W\d_]{2}")
_FEW_STEPS = 2
_MOST_PICTURES = 8


def messages_for(
    state: State, replies: Sequence[Reply], *, most_steps: int, room: Room | None = None, sight: Sight | None = None
) -> list[Message]:
    """Return the system prompt, the question with its files, and each reply with its results.

    Args:
        state: The state of the run.
        replies: All replies; a refused one may not be in the state yet.
        most_steps: The step limit. The model is warned before the last steps. A reply with all its calls is one step.
        room: The space for results.
        sight: True if the model is shown pictures; None without pictures.
    """
    room = room or Room()
    messages: list[Message] = load_prompt("agent", "standard").render(
        form="" if state.get("rules") else _FORM, question=_question(state, room)
    )
    sight = sight or Sight()
    attached = [file for file in state.get("attached", []) if "since" not in file]
    pictures = [picture for file in attached for picture in file.get("pictures", [])][:_MOST_PICTURES]
    # the same for all questions, so that it can be cached
    more = [prompt_of(state.get("agent", "")), state.get("rules", ""), sight.abilities]
    messages[0]["content"] = "\n\n".join(filter(None, [messages[0]["content"].rstrip(), *more]))
    if pictures:
        instead = [{"type": "text", "text": not_shown(picture, sight)} for picture in pictures]
        parts = parts_of(pictures) if sight.is_shown else instead
        messages[-1]["content"] = [{"type": "text", "text": messages[-1]["content"]}, *parts]
    by_call = {step["call"]: step for step in state.get("steps", []) if step.get("call")}
    short = _shown_in_short(list(by_call.values()), room)
    of_steps = PicturesOfSteps(sight, pictures, list(by_call.values()), short)
    if room.earlier:
        earlier = [message for turn in room.earlier for message in turn]
        messages[-1:-1] = earlier if sight.is_shown else without_pictures(earlier)
    if room.summary:
        messages.append({"role": "user", "content": f"Earlier calls:\n{data_block('summary', room.summary)}"})
    messages += _interjections(state, 0)
    left = most_steps
    for number, reply in enumerate(replies):
        calls = reply["message"].get("tool_calls", [])
        results = [_observation(call, reply, by_call, short, room, state) for call in calls]
        done = [by_call.get(call["id"]) for call in calls]
        for at, step in enumerate(done):
            results[at] += _no_answer(step, state["question"]) if step else ""
        if not reply.get("is_free") and any(done):
            left -= 1
            if 0 < left <= _FEW_STEPS:
                results[-1] += f"\n{left} step{'s' * (left != 1)} left."
        if number < room.folded:
            continue
        messages.append(reply["message"])
        for call, step, text in zip(calls, done, results, strict=True):
            shown = of_steps.of(step) if step else []
            parts = [{"type": "text", "text": text}, *shown]
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": parts if shown else text})
        if reply["remark"]:
            messages.append({"role": "user", "content": reply["remark"]})
        messages += _new_plans(state, number + 1) + _interjections(state, number + 1)
    return messages


def _question(state: State, room: Room) -> str:
    lines = [state["question"]]
    if schema := state.get("schema"):
        lines += ["", wanted_form(schema)]
    attached = [file for file in state.get("attached", []) if "since" not in file]
    if attached:
        lines += ["", "Files:", files_text(attached)]
    elif state.get("files"):
        lines += ["", "Files:", data_block("names", "\n".join(state["files"]))]
    if wraps := state.get("wraps"):
        about = _AROUND.format(label=wraps["label"], module=wraps["module"])
        lines += ["", about, data_block(wraps["label"], wraps["offers"])]
    lines += _folder(state)
    lines += ["", *remarks] if (remarks := state.get("remarks")) else []
    if earlier := state.get("earlier"):
        lines += ["", _EARLIER, data_block("program", earlier)]
    if planned := state.get("brief"):
        lines += ["", "A plan, made from what went wrong with such questions:", data_block("plan", brief_text(planned))]
    lines += _servers(state, room)
    if near := [f"- {tool.signature}: {sentence_of(tool)}" for tool in state["tools"] if tool.signature]:
        lines += ["", _NEAR, *near]
    if drafts := [tool.description for tool in state["tools"] if tool.is_draft]:
        lines += ["", "What tools that are not approved say of themselves:", *drafts]
    return "\n".join(lines)


def _folder(state: State) -> list[str]:
    """Return the text about the user's folder."""
    if (folder := state.get("folder")) is None:
        return []
    template = _COPIED_FOLDER if folder["writes"] else _FOLDER
    lines = ["", template.format(path=printable(folder["path"]))]
    return lines + ([data_block("names in it", folder["listing"])] if folder["listing"] else [])


def _new_plans(state: State, replies: int) -> list[Message]:
    """Return the plans made after this many replies. A failed plan has no text."""
    texts = [plan_text(plan) for plan in state.get("plans", []) if plan["replies"] == replies]
    head = "A new plan, made from what is known so far:"
    return [{"role": "user", "content": f"{head}\n{data_block('plan', text)}"} for text in texts if text]


def _interjections(state: State, replies: int) -> list[Message]:
    """Return the user's messages after this many replies."""
    texts = (message["text"] for message in state.get("interjections", []) if message["replies"] == replies)
    return [{"role": "user", "content": f"Meanwhile, the user says:\n{text}"} for text in texts]


def _servers(state: State, room: Room) -> list[str]:
    """Return the tool descriptions of connected servers, without tools that an earlier turn showed."""
    earlier = "\n".join(
        str(message["content"]) for turn in room.earlier for message in turn if message["role"] == "user"
    )
    servers: dict[str, list[str]] = {}
    tools = [tool for tool in external_of(state) if f"\n- {tool.name}: " not in earlier]
    for tool in tools:
        servers.setdefault(tool.server, []).append(f"- {line_of(tool)}")
    if not tools:
        return []
    module, name = module_names(tools[0])
    blocks = [data_block(server, "\n".join(lines)) for server, lines in servers.items()]
    return ["", _CONNECTED.format(module=module, name=name), data_blocks(blocks)]


def _observation(
    call: dict[str, Any],
    reply: Reply,
    by_call: dict[str, Step],
    short: set[str],
    room: Room,
    state: State,
) -> str:
    if call["id"] in reply["refused"]:
        return reply["refused"][call["id"]]
    step = by_call.get(call["id"])
    if step is None:
        is_under_way = "decision" in state and state["decision"].call == call["id"]
        return _STOPPED if is_under_way else "Not done: the run continued without it."
    size = SHORT if call["id"] in short else room.one
    shown = preview(step.get("result") or step["finding"].removeprefix("read_file "), size)  # the call is shown above
    if _WORD.search(shown):  # numbers alone cannot be instructions
        shown = data_block(call["function"]["name"], shown)
    note = f"\n{step['note']}" if step.get("note") else ""
    brought = [file for file in state.get("attached", []) if file.get("since") == step["number"]]
    note += _files_text(brought, shown) if brought and call["id"] not in short else ""
    return f"{shown}{note}"


def _files_text(brought: Sequence[AttachedFile], shown: str) -> str:
    """Return the files that a step brought. For files whose text was already shown, return only the paths."""
    known = [
        file
        for file in brought
        if file["parts"] and all(part.strip() in shown for part in file["parts"])
        # a file with extracted contents, or one that is shown in part, needs more text
        if {*file["data"]} <= {file["path"]} and not file["lost"]
    ]
    texts = [files_text([file for file in brought if file not in known])] if len(known) < len(brought) else []
    texts += [data_block(file["name"], f"path: {file['path']}, {file['size']:,} bytes") for file in known]
    return "\n".join(["\nFiles that came with it:", *texts])


def _no_answer(done: Step, question: str) -> str:
    """Return why a result declared as the answer was not accepted; empty otherwise."""
    try:
        answer_of(done, question)
    except ValueError as misfit:
        names = variables_in(done["ending"].form) if done["action"] == "run_code" else []
        remedy = f" Print a JSON object with {' and '.join(names)}." if names else ""
        return f"\nIt does not fit {done['ending'].form!r}: {misfit}.{remedy}"
    return ""


def _shown_in_short(steps: Sequence[Step], room: Room) -> set[str]:
    """Return the calls with observations too old to be shown whole.

    When the room is full, half is freed, so that the conversation stays the same for many replies.
    """
    short, whole, size = set[str](), list[Step](), 0
    for step in steps:
        whole.append(step)
        size += min(len(step["finding"]), room.one)
        if size > room.characters:
            while size > room.characters // 2 and len(whole) > 1:
                oldest = whole.pop(0)
                size -= min(len(oldest["finding"]), room.one)
                short.add(oldest["call"])
    return short
