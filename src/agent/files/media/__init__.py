"""Pictures, sounds and films: what is written in them and said in them."""
