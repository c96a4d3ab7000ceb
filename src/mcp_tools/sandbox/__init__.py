"""The sandbox, in which all model-written code runs, under the same limits in tests and in later calls."""
