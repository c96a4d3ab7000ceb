"""Idioms: short pieces of working code, by theme, that a small model sees when a question is near to them."""

from mcp_tools.create.idioms.lookup import Idiom, all_idioms, as_beginning, as_prompt, nearest

__all__ = ["Idiom", "all_idioms", "as_beginning", "as_prompt", "nearest"]
