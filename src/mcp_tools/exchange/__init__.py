"""Exports tools in several formats, and imports tools from archives, Python files and registries."""

from pathlib import Path

STARTER = "starter"
STARTER_FOLDER = Path(__file__).with_name(STARTER)
"""The tools that come with alita. They are imported like any other tools."""
