"""The strategy for capable models: a growing conversation with function calls."""
