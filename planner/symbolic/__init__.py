"""Search over sets of states, kept as decision diagrams (Bryant, 1986): where many states are alike, few nodes do.

The library for diagrams is OxiDD; nothing is imported from here before a search has lasted.
"""
