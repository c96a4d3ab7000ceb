"""The web: searching, reading pages, and guards against hostile ones."""
