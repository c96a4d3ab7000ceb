"""The tools on disk: their files, their evidence, and the search over them."""
