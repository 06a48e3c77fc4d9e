"""From a sentence to goals: what a model takes it to mean, parsed, type-checked and checked for what can be reached."""

from executor.agent.reading.reading import Reader, Reading, Understood
from executor.agent.reading.remembered import Readings

__all__ = ["Reader", "Reading", "Readings", "Understood"]
