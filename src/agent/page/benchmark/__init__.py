"""Benchmarks and the course on the page."""
