"""Reads web pages as Markdown: directly, rendered in a browser, from an archive, or as a transcript."""
