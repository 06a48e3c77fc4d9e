"""Search algorithms, one file each; a new one is a file and a line in `REGISTRY`. None of them knows a heuristic."""

from __future__ import annotations

from enum import Enum

from planner.lightweight import Final, dataclass
from planner.search.astar import astar
from planner.search.best_first_width import bfws
from planner.search.breadth_first import breadth_first
from planner.search.greedy_best_first import greedy
from planner.search.mcts import mcts
from planner.search.search_run import Ending, Run, Search
from planner.search.symbolic.search import symbolic_search
from planner.search.uniform_cost import uniform_cost
from planner.search.weighted_astar import weighted
from planner.task.state_space import Space


class Counts(Enum):
    """What the estimates for a search count (Richter and Westphal, 2010)."""

    COSTS = "what the actions cost"
    STEPS = "1 for every action: what is near is found first"
    BOTH = "1 more than every action costs: free actions do not keep the search busy"

    def of(self, costs: list[int]) -> list[int]:
        """Return the costs to estimate with; where all actions cost the same, only their number counts."""
        if self is Counts.COSTS:
            return costs
        if self is Counts.STEPS or len(set(costs)) <= 1:
            return [1] * len(costs)
        return [cost + 1 for cost in costs]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A search, and what may be relied on.

    `heuristic` names the one it works best with; None where it uses none. `needs_admissible`: what it proves about
    costs holds only with an admissible heuristic. `counts` is what its estimates count.
    """

    search: Search
    heuristic: str | None = None
    needs_admissible: bool = False
    counts: Counts = Counts.COSTS


REGISTRY: Final[dict[str, Algorithm]] = {
    "astar": Algorithm(astar, "lmcut", needs_admissible=True),
    "greedy": Algorithm(greedy, "hff", counts=Counts.STEPS),
    "weighted": Algorithm(weighted, "hff", counts=Counts.BOTH),
    "bfws": Algorithm(bfws, "hff", counts=Counts.STEPS),
    "mcts": Algorithm(mcts, "hff", counts=Counts.BOTH),
    "uniform": Algorithm(uniform_cost),
    "breadth": Algorithm(breadth_first),
    "symbolic": Algorithm(symbolic_search),
}

__all__ = ["REGISTRY", "Algorithm", "Counts", "Ending", "Run", "Search", "Space"]
