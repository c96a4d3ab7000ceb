"""The web: searching, reading pages, and guards against hostile pages."""
