"""Asks a model what to do next, and does it."""
