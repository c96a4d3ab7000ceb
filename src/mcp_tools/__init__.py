"""Writes, proves, runs, keeps and serves tools. Never imports `agent`."""
