"""How often each action would have to be used: where no numbers fit, there is no plan.

columns     the state equation: what actions add to the values of variables, and what a plan adds in all
parity      whether whole numbers may fit, as far as even and odd tell
linear      whether numbers that are not negative may fit, in any parts: by a linear program, checked exactly
proof       both
"""

from planner.equations.columns import Equation, equation
from planner.equations.linear import shows, weights
from planner.equations.parity import is_odd
from planner.equations.proof import disproof

__all__ = ["Equation", "disproof", "equation", "is_odd", "shows", "weights"]
