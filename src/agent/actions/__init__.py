"""The actions of a run, a file each, and what they share."""
