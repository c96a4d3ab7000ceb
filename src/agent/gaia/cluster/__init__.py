"""Runs questions of a benchmark as Ray tasks on several machines."""
