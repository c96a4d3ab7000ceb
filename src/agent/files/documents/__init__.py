"""Readers of PDF, Word, slides, web pages, books and mail."""
