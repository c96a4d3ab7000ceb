"""External calls of a run. The recorder handles each call's journal entry, budget, consent, cost and events."""
