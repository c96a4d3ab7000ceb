"""Deterministic gates on a tool's source, without running it."""

from mcp_tools.checks.check import RULES, check
from mcp_tools.checks.findings import Finding, Report
from mcp_tools.checks.rule import Rule

__all__ = ["RULES", "Finding", "Report", "Rule", "check"]
