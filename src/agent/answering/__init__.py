"""The result of a run: the answer, its form, its sources."""
