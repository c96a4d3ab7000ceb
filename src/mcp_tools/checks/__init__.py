"""Checks of a tool's source, without running it."""

from mcp_tools.checks.check import RULES, Finding, Report, Rule, check

__all__ = ["RULES", "Finding", "Report", "Rule", "check"]
