"""Whether a tool may be served to MCP clients, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_tools.library.approvals import Approval, Found
from mcp_tools.library.files import Flaw
from mcp_tools.tool import Status, Tool

if TYPE_CHECKING:
    from mcp_tools.definition import Flag

SERVED = (Status.VERIFIED, Status.TRUSTED)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that clients do not get."""

    name: str
    reason: str
    """What is wrong, for people."""
    remedy: str
    """What to do, if possible the command."""
    is_approvable: bool = True
    """Whether somebody may approve it, once it is as it should be; a tool that was retired is not for that."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said of a tool without knowing what was approved."""

    status: Status
    errors: tuple[Flag, ...]
    """What of its definition must not be served."""
    approval: Approval | None
    """The hashes that must have been approved; None when its definition has errors."""


def judged(tool: Tool) -> Verdict:
    """What of a tool does not change while its files stay."""
    errors = errors_of(tool)
    return Verdict(tool.status, errors, None if errors else Approval.of(tool))


def errors_of(tool: Tool) -> tuple[Flag, ...]:
    """What of a tool's definition must not be served."""
    from mcp_tools.definition import definition_of, lint, surely_sound

    definition = definition_of(tool)
    return () if surely_sound(definition) else tuple(lint(definition, warnings=False))


def objection(name: str, verdict: Verdict, found: Found) -> Withheld | None:
    """Why a tool is not served; None when nothing speaks against it."""
    if verdict.status not in SERVED:
        remedy = f"ask for it anew, or remove it: alita tools delete {name}"
        return Withheld(name, f"it is {verdict.status}", remedy, is_approvable=False)
    if verdict.approval is None:
        first, *others = verdict.errors
        more = f" (and {len(others)} more)" if others else ""
        return Withheld(
            name,
            f"its definition breaks the rule {first.rule}: {first.where}: {first.message}{more}",
            f"correct {name}.json and {name}.py, then: alita tools approve {name}",
        )
    if found.damage:
        return Withheld(name, f"nothing counts as approved: {found.damage}", "alita tools approve --all")
    approved = found.by_name.get(name)
    if approved is None:
        return Withheld(name, "it was never approved here", f"alita tools approve {name} (or --all)")
    if changed := approved.differences(verdict.approval):
        reason = f"its {' and '.join(changed)} changed since it was approved on {approved.approved[:10]}"
        return Withheld(name, reason, f"alita tools approve {name}")
    return None


def flawed(flaw: Flaw) -> Withheld:
    """A flaw as the reason why nothing is served under its name."""
    return Withheld(flaw.name, flaw.message, flaw.remedy)
