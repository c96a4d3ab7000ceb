"""Learning from failures: briefs and new plans from gap records, and gap records after wrong answers."""
