"""Drives websites with browser-use in a separate process."""
