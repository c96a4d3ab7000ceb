"""Imports what every question needs, once, in the process that workers are forked from."""

from importlib import import_module

for _name in (
    "langgraph.graph",
    "langgraph.checkpoint.sqlite.aio",
    "openai",
    "agent.alita",
    "agent.graph",
    "agent.gaia.worker",
    "mcp_tools.sandbox",
):
    import_module(_name)
