"""Creating a tool: spec, tests, code, checks, trial, vote, proof, registration."""

from mcp_tools.create.examiner import Examiner
from mcp_tools.create.propose import Proposal, prove
from mcp_tools.create.protocol import Candidate, Creation, Request, Shelf, Test, Watcher, Writer

__all__ = [
    "Candidate",
    "Creation",
    "Examiner",
    "Proposal",
    "Request",
    "Shelf",
    "Test",
    "Watcher",
    "Writer",
    "prove",
]
