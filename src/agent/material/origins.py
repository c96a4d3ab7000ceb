"""Where everything comes from that a run knows: the user, files, pages, servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.consent.external_tools import SERVER
from agent.consent.permission import words_of_user
from agent.consent.provenance import Origins
from agent.material.attached import shown_of
from agent.material.pages import is_page_read
from agent.state import State, Step
from agent.web.evidence import credibility_of
from agent.web.queries import terms_of

if TYPE_CHECKING:
    from agent.context import Context


def origins_of(state: State, context: Context) -> Origins:
    """Where everything comes from that the run knows so far."""
    files = [text for file in state.get("attached", []) for text in shown_of(file)]
    steps = state.get("steps", [])
    servers = {str(tool["name"]) for tool in state.get("tools", []) if SERVER in tool}
    own = [done["finding"] for done in steps if _is_private(done, servers, has_files=bool(files))]
    told = [json.dumps([tool["description"], tool["inputSchema"]]) for tool in state.get("tools", []) if SERVER in tool]
    return Origins(
        wanted=words_of_user(state),
        foreign=[*files, *(done["finding"] for done in steps), *(context.web.texts if context.web is not None else ())],
        described=told,
        private=[*files, *own],
        secrets=context.secrets,
        links=context.web.links if context.web is not None else frozenset(),
        trusts=lambda url: credibility_of(url, terms_of("")).level == "high",
    )


def _is_private(done: Step, servers: set[str], *, has_files: bool) -> bool:
    """Whether a step found what is the user's, and not everybody's."""
    if done["action"] == "use_tool":
        return done["input"].partition("(")[0] in servers
    return has_files and done["action"] in {"read_file", "run_code"} and not is_page_read(done)
