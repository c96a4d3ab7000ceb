"""The tools on disk: their files, their evidence, and the search over them."""

from mcp_tools.library.approvals import ApprovedHashes, Withheld
from mcp_tools.library.arguments import validate_arguments, validate_result
from mcp_tools.library.calls import Stats
from mcp_tools.library.library import Hit, Library
from mcp_tools.library.tool_files import Flaw, free_name, valid_name

__all__ = [
    "ApprovedHashes",
    "Flaw",
    "Hit",
    "Library",
    "Stats",
    "Withheld",
    "free_name",
    "valid_name",
    "validate_arguments",
    "validate_result",
]
