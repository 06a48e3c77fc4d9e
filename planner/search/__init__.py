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
    """A search, `what` it does in a few words, and what may be relied on.

    `heuristic` names the one it works best with; None where it uses none. `needs_admissible`: what it proves about
    costs holds only with an admissible heuristic. `counts` is what its estimates count. `complete`: it ends as
    EXHAUSTED only where there is no (better) plan; else that proves nothing. `stops_at_first` plan: it looks for no
    better one.
    """

    search: Search
    what: str
    heuristic: str | None = None
    needs_admissible: bool = False
    counts: Counts = Counts.COSTS
    complete: bool = True
    stops_at_first: bool = False


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
