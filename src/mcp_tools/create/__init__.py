"""Creates tools: checks, trial, tests by an examiner, proof and registration."""
