"""Where tool code runs: always, at test time and at every later call, under the same limits."""
