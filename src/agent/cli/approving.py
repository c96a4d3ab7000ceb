"""What `alita tools approve` shows and does, one tool after the other."""

from __future__ import annotations

from typing import Any

from agent.cli.output import print_note, print_text
from agent.sandboxes import open_for
from agent.settings import Settings
from mcp_tools.approve import Review, approve, review
from mcp_tools.errors import UserError
from mcp_tools.library import Approval, Library
from mcp_tools.library.trust import SERVED
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Tool

_MOST_DIFF_LINES = 60


class _Opened:
    """A sandbox that is opened when the first edited file needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sandbox: Sandbox | None = None

    async def get(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = await open_for(self._settings)
        return self._sandbox

    async def aclose(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.aclose()


def approvable(library: Library) -> list[str]:
    """The names of what is withheld, without the tools whose status keeps them from being served."""
    standing = {one.name: library.standing(one.name) for one in library.withheld()}
    return [name for name, found in standing.items() if not isinstance(found, Tool) or found.status in SERVED]


async def approve_all(settings: Settings, library: Library, names: list[str], *, tell: bool) -> dict[str, Any]:
    """Approves tools by name; what one of them lacks does not keep the others.

    Returns:
        The object that `--json` prints: `ok`, `approved`, `refused` with reasons, and `tools`, what was seen of each.
    """
    approved: list[str] = []
    refused: list[dict[str, str]] = []
    seen: list[dict[str, Any]] = []
    if tell and (damage := library.approvals.read().damage):
        print_note(f"Nothing counted as approved until now: {damage}. That file is put aside.")
    opened = _Opened(settings)
    try:
        for name in names:
            try:
                found = await review(library, name, opened.get)
                seen.append(_as_json(found))
                if tell:
                    _show(found)
                approve(library, found)
                approved.append(name)
                if tell:
                    print_text(f"Approved {name}.")
            except UserError as error:
                refused.append({"name": name, "reason": error.message, "remedy": error.remedy})
                if tell:
                    print_note(f"Not approved: {error.message}\n  {error.remedy}".rstrip())
    finally:
        await opened.aclose()
    if tell and not names:
        print_note("Every tool is approved as it stands.")
    return {"ok": not refused, "approved": approved, "refused": refused, "tools": seen}


def _show(seen: Review) -> None:
    """What a person should know before the tool is served."""
    name, before, now = seen.tool.name, seen.before, seen.now
    if seen.is_approved:
        print_note(f"{name} is approved as it stands.")
    elif before is None:
        print_note(f"{name} was never approved here: {seen.tool.description.partition(chr(10))[0]}")
    else:
        print_note(f"{name} was approved on {before.approved[:10]}; since then changed: {', '.join(seen.changed)}")
    for part in ("source", "definition"):
        old, new = _short(before, part), _short(now, part)
        print_note(f"  {part:<10}  {new if old in ('', new) else f'{old} → {new}'}")
    lines = seen.diff.splitlines()
    for line in lines[:_MOST_DIFF_LINES]:
        print_note(f"  {line}")
    if len(lines) > _MOST_DIFF_LINES:
        print_note(f"  … {len(lines) - _MOST_DIFF_LINES} more lines")
    for flag in seen.flags:
        print_note(f"  {flag}")
    for call in seen.failed:
        print_note(f"  warning: a test that it passed before now fails: {call}")


def _short(approval: Approval | None, part: str) -> str:
    return f"{getattr(approval, part)[:12]}…" if approval else ""


def _as_json(seen: Review) -> dict[str, Any]:
    return {
        "name": seen.tool.name,
        "changed": seen.changed,
        "edited": seen.is_edited,
        "before": _hashes(seen.before),
        "now": _hashes(seen.now),
        "diff": seen.diff,
        "flags": [
            {"rule": flag.rule, "where": flag.where, "message": flag.message, "severity": flag.severity}
            for flag in seen.flags
        ],
        "failed_tests": seen.failed,
    }


def _hashes(approval: Approval | None) -> dict[str, str] | None:
    return {"source": approval.source, "definition": approval.definition} if approval else None
