"""What a server lists, page by page, and who hears that it changed."""
