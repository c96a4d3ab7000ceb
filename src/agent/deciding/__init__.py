"""What holds of every decision, whoever makes it."""
