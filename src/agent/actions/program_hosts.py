"""Finds doubtful requests to hosts, which untrusted text may have asked for or which may send private data away."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent.consent.program_text import ProgramText
from agent.consent.rulings import FINE, judge_address, judge_program, judge_typed
from agent.context import Context
from agent.material.origins import origins_of
from agent.state import State
from mcp_tools.hosts import HostRequest, key_names

if TYPE_CHECKING:
    pass


_USUAL = frozenset({"accept", "authorization", "content-type", "cookie", "user-agent"})
"""Headers that HTTP clients add themselves."""
_OF_CLIENTS = re.compile(
    r"user-agent: (?:Python-urllib|python-requests|python-httpx)/[\d.]{1,10}|accept: (?:\*/\*|application/json)|"
    r"content-type: (?:application/json|application/x-www-form-urlencoded|text/plain)(?:; ?charset=utf-8)?"
)


def doubts_of(state: State, context: Context, *, programs: bool = True) -> Callable[[HostRequest], bool]:
    """Return a check that is True if untrusted text may have asked for a request, or it may send private data away."""

    def doubts(request: HostRequest) -> bool:
        origins, text = origins_of(state, context), context.python.text
        sent = [request.body.decode("utf-8", "replace"), *_own_in_headers(request, text)]
        typed = (judge_typed(one, request.url, origins) for one in sent)
        verdict = next((one for one in (judge_address(request.url, origins), *typed) if one != FINE), FINE)
        if programs:
            verdict = judge_program(verdict, [request.url, *filter(None, sent)], text, origins)
        return verdict != FINE

    return doubts


def _own_in_headers(request: HostRequest, text: ProgramText) -> list[str]:
    """Return the values of a program's own headers, and header names missing from its text, except usual ones."""
    own = [pair for pair in request.headers if not _OF_CLIENTS.fullmatch(": ".join(pair))]
    return [value for _, value in own] + [name for name, _ in own if name not in _USUAL and not text.holds_name(name)]


def hosts_named(code: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the hosts that a call names, with the keys that its code names; empty without hosts."""
    hosts = arguments.get("hosts", [])
    return {"hosts": hosts, "keys": key_names(code)} if hosts else {}
