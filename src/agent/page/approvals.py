"""Renders questions that a run asks its user as HTML."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.consent.hosts import NEW_TOOL, HostToReach
from agent.consent.questions import CallProposal, PackagesToInstall, ToolToApprove
from agent.page.html import text
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from agent.consent.consent import Asked
    from agent.consent.questions import Scope


def described(asked: Asked) -> str:
    """Render a question in full, with everything that matters for the decision."""
    title, facts, code = _parts(asked)
    listed = "".join(f"<li>{text(fact, whole=True)}</li>" for fact in facts if fact)
    source = f"<details open><summary>Code</summary><pre>{text(code, whole=True)}</pre></details>" if code else ""
    if isinstance(asked, ToolToApprove) and asked.tests:
        tests = text("\n".join(asked.tests), whole=True)
        source += f"<details><summary>{count_of(len(asked.tests), 'test')}</summary><pre>{tests}</pre></details>"
    return f'<div class="asked" role="alert"><h4>{text(title)}</h4><ul>{listed}</ul>{source}</div>'


def scopes_of(asked: Asked, *, lasting: bool) -> dict[Scope, str]:
    """Return the possible scopes of a permission, each with the label of its button.

    If `lasting` is true, a permission may outlast the conversation. Only the owner of this machine is offered that.
    """
    if isinstance(asked, PackagesToInstall) and not lasting:
        return {}  # installed packages always stay allowed
    scopes: dict[Scope, str] = {"once": "Allow"}
    if isinstance(asked, ToolToApprove):
        return scopes | {"always": "Allow all in this conversation"}
    if lasting and isinstance(asked, CallProposal):
        scopes |= {"always": "Always for this tool"} if asked.tool else {}
        scopes |= {"folder": f"Always below {', '.join(asked.folders)}"} if asked.folders else {}
    if lasting and isinstance(asked, HostToReach) and asked.source:
        scopes |= {"always": "Always for this tool"}
    return scopes


def _parts(asked: Asked) -> tuple[str, list[str], str]:
    if isinstance(asked, ToolToApprove):
        return f"Keep this tool? {asked.signature}", [asked.purpose, *asked.checks], asked.source
    if isinstance(asked, PackagesToInstall):
        size = f"{asked.size / 1e6:.0f} MB to download" if asked.size else ""
        unknown = f"few people use {', '.join(asked.unknown)}" if asked.unknown else ""
        names = ", ".join(asked.wanted or asked.unknown)
        if not asked.releases:
            return f"Look up the package {names}?", [unknown, "the package index learns the name"], ""
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
            "the request may change data there" if asked.is_writing else "",
        ]
        return f"{who} wants to send a request to {asked.host} ({asked.method}). Allow it?", facts, ""
    return f"{who} wants to {' and '.join(asked.uses)}. Allow it?", [], ""
