"""What shells complete: read from the registries, written as a script for each shell."""
