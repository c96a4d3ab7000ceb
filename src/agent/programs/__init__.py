"""One-off programs, and attached ones that are run."""
