"""Contingent planning: translations of problems with unknown facts."""
