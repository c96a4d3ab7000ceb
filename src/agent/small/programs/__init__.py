"""Programs that a small model writes over files and texts; the answer that most of them print counts."""
