"""Readers and writers of hierarchical domains, problems and plans."""
