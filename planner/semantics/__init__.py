"""The semantics of declared problems: states, conditions, effects, axioms, constraints and their simulation."""
