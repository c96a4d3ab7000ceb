"""Learning from failures: gap records are written after wrong answers, and used for briefs and new plans."""
