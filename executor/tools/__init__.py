"""What authors write: handlers, observers, policies, and what handlers are given and give back."""
