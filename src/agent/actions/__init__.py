"""The actions of a run, one per file, and their shared code."""
