"""Search engines, hosted ones and keyless ones; tried one after the other."""
