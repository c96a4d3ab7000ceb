"""The final form of an answer, and its score."""
