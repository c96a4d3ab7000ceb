"""Creating a tool with a small model: functions and whole programs from different prompts, whose results vote."""

from mcp_tools.create.small.create import create_tool

__all__ = ["create_tool"]
