"""What one client may ask for at most."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_tools.sandbox.protocol import Limits


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server. Past any of them a call ends with an error that names the limit."""

    argument_bytes: int = 1_000_000
    """The arguments of one call as JSON."""
    result_bytes: int = 1_000_000
    """The result of one call as JSON: what a client can still use."""
    message_bytes: int = 4 * 1024 * 1024
    """One message on the wire."""
    page: int = 1000
    """Tools of the library on one page of the list."""
    resource_page: int = 100
    """Tools whose resources are on one page."""
    call: Limits = field(default_factory=lambda: Limits(wall_seconds=30.0, cpu_seconds=30.0))
    """What one call of a tool may use in the sandbox."""
    program: Limits = field(default_factory=Limits)
    """What one program of `run_code` may use."""
    agent_seconds: float = 1800.0
    """One call of `ask` or `create_tool`."""
    body_seconds: float = 30.0
    """How long the body of one HTTP request may take to arrive."""
    session_idle_seconds: float = 3600.0
    """A session over HTTP with no request and no open stream for so long is forgotten; its client begins anew."""
    sessions: int = 1000
    """Sessions over HTTP at once, each of which takes some memory."""
    consent_seconds: float = 300.0
    """How long a person may take to answer."""
