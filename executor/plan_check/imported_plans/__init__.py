"""Imported plans."""
