"""Who wants an action, and whether it may be done: origins, permission, approval, other people's servers."""
