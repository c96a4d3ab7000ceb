"""The search specialist: from a question to quotations, each with its place and its source."""
