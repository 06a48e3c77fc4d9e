"""What happened in a run: its events, what they come to, and what is kept of it."""
