"""Everything that can be set: the settings, the files and variables they come from, and the keys."""
