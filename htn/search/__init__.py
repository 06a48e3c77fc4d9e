"""Search for decompositions of ground problems."""
