"""Learning from failures: a brief before a question, new plans on its way, and gap records after wrong answers."""
