"""Recorders of a run's outside calls: each call enters the journal and is held to the budget."""
