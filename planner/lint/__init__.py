"""Lint: findings about domains and problems, without planning."""
