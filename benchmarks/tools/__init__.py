"""Generated libraries of agent tools with certified optima, and what planning with them takes.

`benchmarks.tools.tool_profiles.generate` makes a library of any size in one of the `PROFILES`, the same one for the
same seed. Its optimum is certified without our solver: by regression, by an exhaustive search, or by its construction
(see `benchmarks.tools.certify`).
"""
