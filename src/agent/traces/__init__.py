"""Traces of runs, read from their folders, for the terminal or as an HTML page."""
