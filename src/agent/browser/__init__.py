"""The browser, in a separate process, driven with browser-use or by the specialist for small models."""
