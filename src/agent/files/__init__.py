"""Readers of attached files, one for each group of kinds. A reader also reports what its text leaves out."""
