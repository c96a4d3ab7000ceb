"""The GAIA benchmark: questions, files, runs, scores and submissions."""
