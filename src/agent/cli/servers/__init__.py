"""`alita serve` and `alita mcp`."""
