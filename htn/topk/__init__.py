"""Top-k plans."""
