"""The tabs for benchmarks and the Agents Course."""
