"""The GAIA benchmark: questions, files, answers, scores, and what is handed in."""
