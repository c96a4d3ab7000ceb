"""Tables: workbooks, delimited text, databases."""
