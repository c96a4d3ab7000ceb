"""Search engines: hosted ones, keyless ones, and an index of one's own pages; tried one after the other."""
