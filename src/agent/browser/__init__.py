"""Operates web sites with browser-use in a separate process."""
