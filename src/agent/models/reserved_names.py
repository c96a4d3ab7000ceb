"""Names of models that are no model's own name."""

from __future__ import annotations

EMBEDDED = "embedded"
"""The model that runs on this machine."""
FIRST_LISTED = "auto"
"""The first model that the endpoint lists."""
OPENAI_URL = "https://api.openai.com/v1"
"""The endpoint when none is named."""
SCRIPTED = "scripted:"
"""Before the path of a script."""
