"""Abstractions: what is left of a task where only part of a state is looked at, and how they share costs.

    moves       what actions do to variables, one by one    space       abstract states, distances, what these need
    patterns    which variables to look at together         projection  abstract states by the values of a pattern
    aims        what every plan reaches, or comes by        cartesian   abstract states by boxes, split where need be
    partition   who takes how much of the costs

Every plan is one of each abstraction, too, so distances there never are too high; and they may be added up where each
action's cost is shared out among the abstractions (Katz and Domshlak, 2010; Yang et al., 2008).
"""
