"""What no fact expresses: steps for it that a model proposes, simulated, and planned through; nothing confirms them."""

from executor.agent.unmodelled.answer import Proposed, Serving
from executor.agent.unmodelled.improvising import Improvised, Improviser, improvised_again

__all__ = ["Improvised", "Improviser", "Proposed", "Serving", "improvised_again"]
