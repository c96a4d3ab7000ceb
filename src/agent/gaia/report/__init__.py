"""Reports on a ledger: figures, tables, comparisons, and a web page."""
