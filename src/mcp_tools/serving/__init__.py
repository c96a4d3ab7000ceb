"""What the MCP server is made of: what it lists, how a call runs, what it tells and what it writes down."""
