"""What `alita tools approve` shows and does, one tool after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.cli.output import print_note, print_text
from agent.configuration.settings import Settings
from agent.resources import open_for
from mcp_tools.approve import Review, Tests, approve, review, run_tests, tests_of
from mcp_tools.errors import UserError
from mcp_tools.library import Approval, Library
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
    return [one.name for one in library.withheld() if one.is_approvable]


async def approve_all(
    settings: Settings, library: Library, names: list[str], *, read: Sequence[Path] = (), tell: bool
) -> dict[str, Any]:
    """Approves tools by name whose tests pass; what one of them lacks does not keep the others.

    Args:
        settings: Name the sandbox.
        library: Where the tools are.
        names: Which.
        read: Files outside the library that their tests may read.
        tell: Whether people read along.

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
                found = await review(library, name, opened.get, read)
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


async def tested(settings: Settings, library: Library, tool: Tool, read: Sequence[Path]) -> Tests:
    """Runs the tests of a tool, if it has any."""
    if not tests_of(tool):
        return Tests()
    opened = _Opened(settings)
    try:
        return await run_tests(library, tool, await opened.get(), read)
    finally:
        await opened.aclose()


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
    if may := _capabilities(seen.tool):
        print_note(f"  {'may':<10}  {may}")
    if seen.tests.passed:
        print_note(f"  {'tests':<10}  {len(seen.tests.passed)} passed")


def _capabilities(tool: Tool) -> str:
    """What a tool may use beside computing, for people; empty when that is all."""
    may = tool.capabilities
    return "; ".join(
        part
        for part in (
            "read files that a call grants" if may.read else "",
            f"import {', '.join(may.packages)}" if may.packages else "",
            f"speak to {', '.join(may.hosts)}" if may.hosts else "",
            f"take {may.seconds:g} seconds" if may.seconds else "",
            f"use {may.memory_mb} MiB of memory" if may.memory_mb else "",
        )
        if part
    )


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
        "passed_tests": len(seen.tests.passed),
        "failed_tests": seen.tests.failed,
    }


def _hashes(approval: Approval | None) -> dict[str, str] | None:
    return {"source": approval.source, "definition": approval.definition} if approval else None
