"""What is done when a plan does not go as planned."""
