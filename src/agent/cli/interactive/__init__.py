"""The terminal that `alita` without a question opens: questions, commands, and what happens in between."""
