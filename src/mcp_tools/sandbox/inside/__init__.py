"""Code that runs inside the sandbox. It imports only the standard library and nothing else from this project."""
