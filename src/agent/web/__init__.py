"""The web: searched, read page by page, and kept from doing harm."""
