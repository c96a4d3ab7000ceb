"""Programs over attached files: how they open them, how a weak model's vote, and how an attached one is run."""
