"""How the sample set is made: a module for each family of attachments, a function for each question."""
