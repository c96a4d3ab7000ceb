"""Locked environments with the packages that tools and programs declare, resolved and built by uv."""
