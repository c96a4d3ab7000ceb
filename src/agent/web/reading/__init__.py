"""Reads any page as Markdown: plain, rendered in a browser, archived, or as a transcript."""
