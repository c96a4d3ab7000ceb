"""What is kept of a run: its folder and its journal."""
