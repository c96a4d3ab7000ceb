"""Documents: PDF, Word, slides, web pages, books, mail."""
