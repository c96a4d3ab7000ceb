"""The embedded model: its weights, its server, and stored prompt prefixes."""
