"""The declared properties of a heuristic."""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Protocol, dataclass
from planner.task.ground_task import State, Task

Check = Callable[[], None]
"""Called during long work; raises to give up."""


class Heuristic(Protocol):
    """A function from states to the estimated cost of reaching the goal; `INFINITY` for dead ends.

    Searches use two optional extensions: `planner.search.search_run.IncrementalHeuristic` and
    `planner.search.search_run.AdvisingHeuristic`.
    """

    def __call__(self, state: State) -> int:
        """Return the estimate."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of heuristic: how to `build` it for a task, `what` it estimates in a few words, and its properties.

    `admissible`: never above the cost of the cheapest plan, also with conditional effects and axioms. `consistent`:
    never falls by more than the cost of a step. `safe`: `INFINITY` only for states without a plan. `guides`: has
    preferred actions. `sums_costs`: estimates are in the unit of the costs. `build` takes the task, the costs to assume
    for its actions, and a `Check`; if it `draws` random numbers, also their seed.
    """

    build: Callable[..., Heuristic]
    what: str
    admissible: bool = False
    consistent: bool = False
    safe: bool = True
    conditional_effects: bool = True
    axioms: bool = True
    draws: bool = False
    sums_costs: bool = True

    def build_for(self, task: Task, costs: list[int], check: Check, seed: int) -> Heuristic:
        """Build the heuristic for `task` under these `costs`; its random numbers, if any, are drawn from `seed`."""
        return self.build(task, costs, check, seed) if self.draws else self.build(task, costs, check)

    def supports(self, task: Task) -> bool:
        """Return whether the declared properties hold for `task`."""
        return (self.conditional_effects or not task.has_conditional_effects) and (self.axioms or not task.has_axioms)
