"""Task."""
