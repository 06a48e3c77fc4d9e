"""Domains in Python for GTPyhop, and what runs them in an environment that has GTPyhop and nothing of ours."""
