"""Snippets: short pieces of working code, by theme, that a small model sees when a question is near to them."""

from mcp_tools.create.small.snippets.lookup import Snippet, all_snippets, as_beginning, as_prompt, nearest

__all__ = ["Snippet", "all_snippets", "as_beginning", "as_prompt", "nearest"]
