"""The GAIA benchmark: questions, attempts in a ledger, scores and reports."""
