"""Pictures, sounds and films: the text and speech in them."""
