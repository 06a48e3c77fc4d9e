"""The best plans, one after the other: in the order of their costs, proved, each once.

explore      the states that plans of up to some cost go through, in plain Python
part         those states, with what it costs from each to the goal
commuting    which steps may change places
sleep        which of them need not be tried, as the same comes in another order
completions  the ways on from a state, the next best one whenever it is asked for
listing      raising the bound until there are plans enough
iterator     plans for whoever asks for them, within limits
iterate      `candidates`: those of a classical problem, checked
filling      plans of which nothing is proved
best         `k_best`: a set of plans, and what is proved of it
walks        plans drawn at random
drawing      those within a bound, one after the other
distances    how different plans are
dispersion   some of them, far from each other
diversity    how different the plans of a set are
differing    `diverse`: a set of plans that differ
"""

from planner.candidates.best import CandidateSet, k_best
from planner.candidates.differing import diverse
from planner.candidates.diversity import Diversity
from planner.candidates.iterate import candidates
from planner.candidates.iterator import Candidates

__all__ = ["CandidateSet", "Candidates", "Diversity", "candidates", "diverse", "k_best"]
