"""Agents: a domain, its world and a language model; the planner checks each answer of the model."""
