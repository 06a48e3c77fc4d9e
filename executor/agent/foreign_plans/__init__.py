"""Foreign plans."""
