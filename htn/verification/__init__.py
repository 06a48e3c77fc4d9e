"""Plan verification."""
