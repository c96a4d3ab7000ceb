"""Creating a tool: spec, tests, code, checks, trial, vote, proof, registration."""

from mcp_tools.create.create import create_tool
from mcp_tools.create.examiner import Examiner
from mcp_tools.create.propose import Proposal, prove
from mcp_tools.create.protocol import Candidate, Creation, Request, Shelf, Test, Watcher, Writer
from mcp_tools.create.recipe import Recipe, StandardRecipe

__all__ = [
    "Candidate",
    "Creation",
    "Examiner",
    "Proposal",
    "Recipe",
    "Request",
    "Shelf",
    "StandardRecipe",
    "Test",
    "Watcher",
    "Writer",
    "create_tool",
    "prove",
]
