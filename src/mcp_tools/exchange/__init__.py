"""Tools that travel: out of a library in forms for other programs, in from archives, modules and registries."""
