"""What a run ends with: the answer, its form, its sources."""
