"""The commands of `alita`."""
