"""A page as Markdown, whatever it is and however it must be had: plain, drawn, archived, as a transcript."""
