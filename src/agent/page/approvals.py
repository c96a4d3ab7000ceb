"""Questions of a run, as the page asks them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.consent.hosts import NEW_TOOL, HostToReach
from agent.consent.questions import CallProposal, PackagesToInstall, ToolToApprove
from agent.page.shown import text

if TYPE_CHECKING:
    from agent.consent.consent import Asked


def described(asked: Asked) -> str:
    """A question with all that decides about it: nothing is left out."""
    title, facts, code = _parts(asked)
    listed = "".join(f"<li>{text(fact)}</li>" for fact in facts if fact)
    source = f"<details open><summary>Code</summary><pre>{text(code)}</pre></details>" if code else ""
    return f'<div class="asked" role="alert"><h4>{text(title)}</h4><ul>{listed}</ul>{source}</div>'


def _parts(asked: Asked) -> tuple[str, list[str], str]:
    if isinstance(asked, ToolToApprove):
        return f"Keep this tool? {asked.signature}", [asked.purpose, *asked.checks], asked.source
    if isinstance(asked, PackagesToInstall):
        size = f"{asked.size / 1e6:.0f} MB to fetch" if asked.size else ""
        unknown = f"few people use {', '.join(asked.unknown)}" if asked.unknown else ""
        names = ", ".join(asked.wanted or asked.unknown)
        if not asked.releases:
            return f"Look up the package {names}?", [unknown, "the index learns its name"], ""
        return f"Install {names} for programs and tools?", [", ".join(asked.releases), size, unknown], ""
    if isinstance(asked, CallProposal):
        call = str(asked.arguments.get("action") or json.dumps(asked.arguments, indent=1, ensure_ascii=False))
        definition = f"its server now defines it as: {asked.definition}" if asked.definition else ""
        paths = [f"path: {path}" for path in asked.paths]
        return f"Run {asked.tool or asked.name}?", [f"Why you are asked: {asked.reason}", definition, *paths], call
    who = "A program" if not asked.tool else "The new tool" if asked.tool == NEW_TOOL else f"The tool {asked.tool}"
    if isinstance(asked, HostToReach):
        facts = [
            f"with the key {', '.join(asked.keys)}" if asked.keys else "",
            "you did not approve this tool" if asked.is_doubtful and asked.tool not in ("", NEW_TOOL) else "",
            "it may change something there" if asked.is_writing else "",
        ]
        return f"{who} wants to send a request to {asked.host} ({asked.method}). Allow it?", facts, ""
    return f"{who} wants to {' and '.join(asked.uses)}. Allow it?", [], ""
