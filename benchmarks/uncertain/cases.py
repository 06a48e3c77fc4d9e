"""The ten problems, each with what is aimed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.uncertain.hands import blocks, gripper
from benchmarks.uncertain.roads import grid, navigation, river, tires
from benchmarks.uncertain.services import asking, courier, tools, tour
from planner import Objective, Problem


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of problem: `make` gives one of a size, of which `size` is the usual; `penalty` is that of giving up."""

    make: Callable[[int], Problem]
    size: int
    objective: Objective = Objective.SUCCESS
    penalty: int | None = None

    def options(self) -> dict[str, Any]:
        """Return what to tell `decide`."""
        return {"objective": self.objective, "penalty": self.penalty}


CASES: Final = {
    "tires": Case(tires, 5),
    "river": Case(river, 6),
    "navigation": Case(navigation, 8),
    "grid": Case(grid, 8, Objective.COST, 100),
    "blocks": Case(blocks, 5),
    "gripper": Case(gripper, 5),
    "tools": Case(tools, 4, Objective.COST, 40),
    "asking": Case(asking, 3, Objective.COST, 60),
    "courier": Case(courier, 3),
    "tour": Case(tour, 5, Objective.UTILITY),
}
