"""Imports and builds what every question needs, once, in the process that workers are forked from.

Memory that is filled before the fork is shared by all workers.
"""

from __future__ import annotations

import gc
from importlib import import_module

for _name in (
    "agent.alita",
    "agent.gaia.worker",
    "agent.graph",
    "agent.configuration.settings",
    "agent.standard.standard",
    "agent.recorders.journaled_web",
    "anyio._backends._asyncio",
    "h11",
    "httpcore2",
    "mcp_tools.sandbox.warm",
    "openai",
):
    import_module(_name)
import_module("agent.graph").build_graph()
gc.collect()
gc.freeze()
