"""The processes in which questions are asked: from outside, and from inside."""
