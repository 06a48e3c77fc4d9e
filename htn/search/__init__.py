"""Search for decompositions."""
