"""Other programs that use MCP servers, and their settings files, into which alita's server is entered."""
