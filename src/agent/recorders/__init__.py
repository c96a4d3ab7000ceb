"""What every outside call of a run goes through: into its journal, and within its budget."""
