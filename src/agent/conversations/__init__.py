"""Earlier turns, and a follow-up as a question that stands alone."""
