"""A tool as MCP clients see it: its definition, the hash of it, and what speaks against serving it."""

from mcp_tools.definition.lint import LINT_RULES, Flag, LintRule, lint
from mcp_tools.definition.mcp_object import canonical, definition_hash, definition_of, surely_sound

__all__ = ["LINT_RULES", "Flag", "LintRule", "canonical", "definition_hash", "definition_of", "lint", "surely_sound"]
