"""Reports on a ledger, with figures, tables, comparisons and a web page."""
