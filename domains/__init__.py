"""Ready-made domains, loaded by name."""
