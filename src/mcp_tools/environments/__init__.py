"""Locked environments: packages that tools and programs declare, resolved and built by uv, shared by their lock."""
