"""The protocol over stdio and over HTTP."""
