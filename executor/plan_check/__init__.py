"""Plan check."""
