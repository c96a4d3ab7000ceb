"""The sandbox, in which all tool code runs under the same limits, in tests and in every later call."""
