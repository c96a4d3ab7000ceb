"""Our browser specialist for small models: small questions over numbered elements, and rules beside the model."""

DRIVER = f"{__name__}.driver"
"""The module whose `main` drives the browser."""
