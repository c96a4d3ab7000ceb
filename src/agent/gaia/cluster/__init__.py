"""Questions of a benchmark as Ray tasks, on several machines."""
