"""The slash commands: one registry, one file for each group of them."""
