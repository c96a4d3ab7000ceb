"""Readers of workbooks, delimited text and databases."""
