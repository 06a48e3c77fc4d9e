"""Compilations."""
