"""Search algorithms, one file each; a new one is a file and a line in `REGISTRY`. None of them knows a heuristic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.search.astar import astar
from planner.search.breadth import breadth_first
from planner.search.greedy import greedy
from planner.search.run import Ending, Run, Search
from planner.search.space import Space
from planner.search.uniform import uniform_cost
from planner.search.weighted import weighted


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A search, and what may be relied on.

    `heuristic` names the one it works best with; None where it uses none. `needs_admissible`: what it proves about
    costs holds only with an admissible heuristic. `counts_steps`: its estimates count a step besides its cost, so that
    free actions do not keep it busy.
    """

    search: Search
    heuristic: str | None = None
    needs_admissible: bool = False
    counts_steps: bool = False


REGISTRY: Final[dict[str, Algorithm]] = {
    "astar": Algorithm(astar, "lmcut", needs_admissible=True),
    "greedy": Algorithm(greedy, "hff", counts_steps=True),
    "weighted": Algorithm(weighted, "hff", counts_steps=True),
    "uniform": Algorithm(uniform_cost),
    "breadth": Algorithm(breadth_first),
}

__all__ = ["REGISTRY", "Algorithm", "Ending", "Run", "Search", "Space"]
