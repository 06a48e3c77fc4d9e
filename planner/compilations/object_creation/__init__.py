"""Object creation."""
