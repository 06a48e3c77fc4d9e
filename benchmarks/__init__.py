"""Suites, runners, peers and reports."""
