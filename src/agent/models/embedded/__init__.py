"""The embedded model: its weights, its server, and prompts that are read once."""
