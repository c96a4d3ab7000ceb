"""The library: the files of tools, their approvals and call counts, and the search."""
