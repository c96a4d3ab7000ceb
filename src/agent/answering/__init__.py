"""The result of a run: the answer, its form and its quality."""
