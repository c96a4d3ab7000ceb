"""Creating a tool: checks, trial, examination, proof, registration."""
