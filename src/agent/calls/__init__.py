"""Outside calls of a run. Each passes the recorder: journal, budget, consent, the call itself, cost, events."""
