"""Where everything comes from that a run knows: the user, files, pages, servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.consent.external_tools import SERVER
from agent.consent.permission import words_of_user
from agent.consent.provenance import Origins
from agent.material.pages import is_page_read
from agent.state import KnownTexts, State, Step
from agent.web.evidence import credibility_of

if TYPE_CHECKING:
    from agent.context import Context


def origins_of(state: State, context: Context) -> Origins:
    """Where everything comes from that the run knows so far."""
    files = [text for file in state.get("attached", []) for text in (file["name"], file["summary"], *file["parts"])]
    steps, known = state.get("steps", []), state.get("known", KnownTexts(foreign=[], private=[]))
    own = [done["finding"] for done in steps if is_private(done, state)]
    told = [json.dumps([tool["description"], tool["inputSchema"]]) for tool in state.get("tools", []) if SERVER in tool]
    return Origins(
        wanted=words_of_user(state),
        foreign=[*known["foreign"], *files, *(done["finding"] for done in steps), *context.web.texts],
        described=told,
        private=[*known["private"], *files, *own],
        secrets=context.secrets,
        links=context.web.links,
        trusts=lambda url: credibility_of(url).level == "high",
    )


def is_private(done: Step, state: State) -> bool:
    """Whether a step found what is the user's, and not everybody's."""
    if done["action"] == "use_tool":
        name = done["input"].partition("(")[0]
        return any(SERVER in tool and tool["name"] == name for tool in state.get("tools", []))
    if done.get("is_private"):
        return True
    return bool(state.get("attached")) and done["action"] in {"read_file", "run_code"} and not is_page_read(done)
