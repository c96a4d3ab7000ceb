"""No isolation: a fresh interpreter per call, with limits. Only when asked for by name."""

from __future__ import annotations

import tempfile

from mcp_tools.sandbox.environment import VARIABLES, Environment
from mcp_tools.sandbox.protocol import Isolation, Level
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import SCRATCHES, Ready, Settings, Zygote


class PlainSandbox(WarmSandbox):
    """Level weak: tool code can read and change whatever its user can."""

    calls_per_zygote = 1

    def _create(self, environment: Environment) -> Zygote:
        scratch = (tempfile.mkdtemp(prefix="alita-sandbox-"),) * SCRATCHES
        settings = Settings(environment=environment, scratch=scratch, layers=(), user_is_private=False)
        return Zygote(lambda command: command, settings, dict(VARIABLES))

    def _judge(self, ready: Ready) -> Isolation:
        return Isolation(level=Level.WEAK, backend="none", layers=(*ready.layers, "supervisor"))
