"""What no fact expresses: steps for it that a model proposes, simulated, and planned through; nothing confirms them."""

from executor.agent.unmodelled.improvising import Improvised, Improviser

__all__ = ["Improvised", "Improviser"]
