"""The kinds of things that a domain is loaded from, one a module; `planner.load` chooses."""
