"""Tools: written, proved, run, kept, served. Never imports `agent`."""
