"""Create, prove, run, store and serve tools. This package never imports `agent`."""
