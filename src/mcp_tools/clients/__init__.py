"""External MCP servers: their configuration, the user's trust decisions, connections and tools."""
