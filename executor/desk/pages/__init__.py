"""Pages: `forethought view` shows plans, decompositions, runs, domains and candidates as self-contained pages."""
