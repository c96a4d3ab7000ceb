"""`alita gaia` and `alita course`."""
