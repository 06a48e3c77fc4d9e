"""Compilations of hierarchical problems and methods."""
