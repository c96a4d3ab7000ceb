"""What the MCP conformance suite asks for by name; `alita serve --conformance-fixtures` serves it."""
