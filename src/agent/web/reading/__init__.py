"""Reads any page as Markdown: plain, rendered in a browser, or as a transcript."""
