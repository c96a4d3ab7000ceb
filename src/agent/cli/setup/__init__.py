"""`alita config`, `keys`, `model` and `doctor`."""
