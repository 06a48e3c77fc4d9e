"""What lint says about hierarchies: tasks, methods, and what these are for."""
