"""The registry of search algorithms. No search imports a heuristic."""

from __future__ import annotations

from enum import Enum

from planner.lightweight import Final, dataclass
from planner.search.astar import astar, breadth_first, uniform_cost
from planner.search.best_first_width import bfws
from planner.search.lazy_best_first import greedy, weighted
from planner.search.mcts import mcts
from planner.search.search_run import Ending, Run, Search
from planner.search.symbolic import symbolic_search
from planner.task.successor_generator import Space


class Counts(Enum):
    """The action costs that a search's heuristic sums up (Richter and Westphal, 2010)."""

    COSTS = "the costs of the actions"
    STEPS = "1 for each action: plans with few steps are found first"
    BOTH = "the cost of each action plus 1: free actions do not keep the search busy"

    def of(self, costs: list[int]) -> list[int]:
        """Return the costs that the heuristic sums up; 1 for each action if all actions cost the same."""
        if self is Counts.COSTS:
            return costs
        if self is Counts.STEPS or len(set(costs)) <= 1:
            return [1] * len(costs)
        return [cost + 1 for cost in costs]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A search and its declared properties."""

    search: Search
    what: str
    """A description in a few words, for the help of the command."""
    heuristic: str | None = None
    """The default heuristic; None for a search without one."""
    needs_admissible: bool = False
    """Whether its bounds hold only with an admissible heuristic."""
    counts: Counts = Counts.COSTS
    complete: bool = True
    """Whether EXHAUSTED proves that there is no plan, or no cheaper one."""
    stops_at_first: bool = False
    """Whether it stops at the first plan."""


REGISTRY: Final[dict[str, Algorithm]] = {
    "astar": Algorithm(astar, "A*: cheapest cost so far plus estimate first", "lmcut", needs_admissible=True),
    "greedy": Algorithm(
        greedy, "greedy best-first search for any plan", "hff", counts=Counts.STEPS, stops_at_first=True
    ),
    "weighted": Algorithm(weighted, "weighted A*, restarted with ever less weight", "hff", counts=Counts.BOTH),
    "bfws": Algorithm(
        bfws, "best-first width search for any plan: new facts first", "hff", counts=Counts.STEPS, stops_at_first=True
    ),
    "mcts": Algorithm(mcts, "Monte Carlo tree search, the same for the same seed", "hff", counts=Counts.BOTH),
    "uniform": Algorithm(uniform_cost, "uniform-cost search, without an estimate"),
    "breadth": Algorithm(breadth_first, "breadth-first search for the fewest steps", stops_at_first=True),
    "symbolic": Algorithm(symbolic_search, "bidirectional search over sets of states"),
}

__all__ = ["REGISTRY", "Algorithm", "Counts", "Ending", "Run", "Search", "Space"]
