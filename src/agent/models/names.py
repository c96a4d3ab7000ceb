"""Names of models that are no model's own name."""

from __future__ import annotations

EMBEDDED = "embedded"
"""The model that runs on this machine."""
FIRST_LISTED = "auto"
"""The first model that the endpoint lists."""
SCRIPTED = "scripted:"
"""Before the path of a script."""
