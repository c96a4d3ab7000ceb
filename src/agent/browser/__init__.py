"""The browser, in a process of its own, driven with browser-use or by the specialist for small models."""
