"""Plans as data, and which of their steps come before which."""
