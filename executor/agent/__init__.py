"""Agents: a domain, its world and a language model together; what the model says is checked by the planner."""
