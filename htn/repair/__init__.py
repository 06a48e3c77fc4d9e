"""Plan repair."""
