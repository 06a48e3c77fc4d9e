"""Goal reading."""
