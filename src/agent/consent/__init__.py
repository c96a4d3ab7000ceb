"""Decides who wants an action and whether it is allowed: origins, permissions, approval, external servers."""
