"""Traces of runs: read from a run's folder, and shown in the terminal or as a page."""
