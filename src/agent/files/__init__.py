"""Attached files: one reader per kind, each telling what it read and what was lost."""
