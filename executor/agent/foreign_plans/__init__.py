"""Plans from elsewhere: read in many forms, and repaired with the fewest changes."""
