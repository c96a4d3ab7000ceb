"""Traces of runs, read from their folders and shown in the terminal or as an HTML page."""
