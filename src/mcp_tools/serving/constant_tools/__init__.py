"""The tools that every server has beside those of the library."""
