"""Creating a tool: checks, trial, examination, proof, registration."""

from mcp_tools.create.propose import prove
from mcp_tools.create.protocol import Creation, Examiner, Proposal, Shelf, Test, Watcher

__all__ = [
    "Creation",
    "Examiner",
    "Proposal",
    "Shelf",
    "Test",
    "Watcher",
    "prove",
]
