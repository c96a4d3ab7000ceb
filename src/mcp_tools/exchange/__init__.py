"""Tools that travel: out of a library in forms for other programs, in from archives, modules and registries."""

from pathlib import Path

STARTER = "starter"
STARTER_FOLDER = Path(__file__).with_name(STARTER)
"""The tools that come with alita, two files each: data that is imported like any other."""
