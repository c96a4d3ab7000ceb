"""The tools on disk: their files, their evidence, and the search over them."""

from mcp_tools.library.names import free_name, valid_name

__all__ = ["free_name", "valid_name"]
