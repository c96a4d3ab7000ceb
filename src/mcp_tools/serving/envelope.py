"""What results of 2026 carry beside their content; the SDK leaves it out for clients of 2025."""

from __future__ import annotations

from mcp_tools.tool import Json

COMPLETE: dict[str, Json] = {"resultType": "complete"}
"""Nothing more is asked of the client."""
FRESH: dict[str, Json] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
"""May not be kept by the client: the library grows while it is served."""
FIXED: dict[str, Json] = {**COMPLETE, "ttlMs": 3_600_000, "cacheScope": "public"}
"""Stays the same while the server runs."""
