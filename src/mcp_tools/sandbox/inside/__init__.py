"""Code that runs inside the sandbox. It uses the standard library alone, and nothing of the rest of the project."""
