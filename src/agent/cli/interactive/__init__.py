"""The interactive session that `alita` opens if no question is given."""
