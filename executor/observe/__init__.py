"""What a run believes, and how it looks at the world."""
