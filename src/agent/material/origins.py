"""Collects the texts that a run knows by origin: the user, files, pages and servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.consent.encodings import address_parts
from agent.consent.permission import words_of_user
from agent.consent.text_origins import Origins
from agent.material.pages import is_page_read
from agent.state import KnownTexts, State, Step
from agent.web.address import is_address
from agent.web.evidence import credibility_of

if TYPE_CHECKING:
    from agent.context import Context


def origins_of(state: State, context: Context) -> Origins:
    """Return the texts that the run knows so far, by origin."""
    files = [text for file in state.get("attached", []) for text in (file["name"], file["summary"], *file["parts"])]
    if (folder := state.get("folder")) is not None:
        files.append(folder["listing"])
    steps, known = state.get("steps", []), state.get("known", KnownTexts(foreign=[], private=[]))
    own = [done["finding"] for done in steps if is_private(done, state)]
    described = [
        json.dumps([tool.description, tool.input_schema]) for tool in state.get("tools", []) if tool.is_external
    ]
    return Origins(
        wanted=words_of_user(state),
        foreign=[*known["foreign"], *files, *(done["finding"] for done in steps), *context.web.texts],
        described=described,
        private=[*known["private"], *files, *own],
        answers=[state["question"]] if "said" in state else [],
        sent=[*(parts_of_input(done["input"]) for done in steps), *context.python.sent],
        secrets=context.secrets,
        links=context.web.links,
        trusts=lambda url: credibility_of(url).level == "high",
    )


def parts_of_input(asked: str) -> dict[str, str]:
    """Return the arguments of a step in parts, by position."""
    action, _, rest = asked.partition(" ")
    if action == "read_file" and is_address(rest.split(" ")[0]):
        return address_parts(rest.split(" ")[0])
    if action == "search":
        return {"argument 0": rest}
    return {"argument 0": asked.partition("(")[2]} if "(" in action else {}


def results_of(server: str, state: State, context: Context) -> list[str]:
    """Return the results of a server, which the run may send back to it."""
    own = [tool.name for tool in state.get("tools", []) if tool.server == server]
    given = (done["finding"] for done in state.get("steps", []) if done["input"].partition("(")[0] in own)
    return [*given, *context.python.results.get(server, ())]


def is_private(done: Step, state: State) -> bool:
    """Return True if a step found the user's private data."""
    if done["action"] == "use_tool":
        name = done["input"].partition("(")[0]
        return any(tool.is_external and tool.name == name for tool in state.get("tools", []))
    if done.get("is_private"):
        return True
    has_files = state.get("attached") or state.get("folder")
    return bool(has_files) and done["action"] in {"read_file", "run_code"} and not is_page_read(done)
