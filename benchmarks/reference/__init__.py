"""The questions of `questions.jsonl` by kind, each with the reference function that computes its answer."""
