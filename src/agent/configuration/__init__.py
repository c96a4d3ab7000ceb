"""The settings, the files and variables that set them, and stored keys."""
