"""Search engines, tried one after the other."""
