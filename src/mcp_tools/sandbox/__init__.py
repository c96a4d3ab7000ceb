"""The sandbox: all model-written code runs here, under the same limits in tests and in later calls."""
