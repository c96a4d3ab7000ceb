"""What a run did: read from its folder, and shown in the terminal or as a page."""
