"""What an action needs beyond its node: tools to offer and to call, the Python session, specialists, refusals."""
