"""HTTP with guarded addresses, limits, robots.txt and retries; downloads; the proxy that a browser goes through."""
