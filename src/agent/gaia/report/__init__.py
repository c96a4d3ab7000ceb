"""What a ledger says: figures, tables, comparisons, and a page to look at."""
