"""h_FF: the cost of a relaxed plan (Hoffmann and Nebel, 2001), made of h_add's achievers (Keyder and Geffner, 2008)."""

from __future__ import annotations

from planner.heuristics.hadd import explorer
from planner.heuristics.kind import Check, Heuristic, Kind
from planner.heuristics.relaxed import AXIOM, relax
from planner.task import INFINITY, State, Task


class RelaxedPlan:
    """The heuristic of a task; its preferred actions are those of the relaxed plan."""

    def __init__(self, task: Task, costs: list[int], check: Check) -> None:
        self._relaxed = relax(task, costs)
        self._explore = explorer(self._relaxed)
        self._costs = costs
        self._check = check

    def __call__(self, state: State) -> int:
        """Return the cost of the relaxed plan for `state`."""
        return self.advise(state)[0]

    def advise(self, state: State) -> tuple[int, set[int]]:
        """Return the cost of the relaxed plan for `state`, and its actions: those that apply are preferred."""
        self._check()
        value, achiever = self._explore(state)
        if value == INFINITY:
            return INFINITY, set()
        preconditions, goal = self._relaxed.preconditions, self._relaxed.goal
        operators: set[int] = set()
        marked = {goal}
        waiting = [goal]
        for fact in waiting:
            operator = achiever[fact]
            if operator >= 0 and operator not in operators:
                operators.add(operator)
                for condition in preconditions[operator]:
                    if condition not in marked:
                        marked.add(condition)
                        waiting.append(condition)
        actions = {self._relaxed.actions[operator] for operator in operators}
        actions.discard(AXIOM)
        costs = self._costs
        return sum([costs[action] for action in actions]), actions


def build(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Return the heuristic for `task`."""
    return RelaxedPlan(task, costs, check)


HFF = Kind(build)
