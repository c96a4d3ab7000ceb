"""Export tools in several formats, and import tools from archives, Python files and registries."""

from pathlib import Path

STARTER = "starter"
STARTER_FOLDER = Path(__file__).with_name(STARTER)
"""Folder of the tools that come with alita, which are imported like any other tools."""
