"""The `alita` command."""
