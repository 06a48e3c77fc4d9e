"""The k best plans measured: ours against SymK and K*, on tasks of the competitions."""
