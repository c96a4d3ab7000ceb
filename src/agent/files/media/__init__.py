"""Readers of pictures, sounds and films: the text and speech in them."""
