"""Creating a tool: checks, trial, examination, proof, registration."""

from mcp_tools.create.interfaces import Creation, Examiner, Proposal, Shelf, Test, Watcher
from mcp_tools.create.prove import prove

__all__ = [
    "Creation",
    "Examiner",
    "Proposal",
    "Shelf",
    "Test",
    "Watcher",
    "prove",
]
