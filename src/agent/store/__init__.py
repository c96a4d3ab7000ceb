"""Storage of runs, journals, sessions and cached answers."""
