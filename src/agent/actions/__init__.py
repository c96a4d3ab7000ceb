"""The actions of a run, one file each, and their shared code."""
