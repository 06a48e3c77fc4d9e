"""Acting under constraints, by the declared problem: the plan checker looks at what happens."""

from __future__ import annotations

from collections.abc import Iterator

from planner.annotations import Any
from planner.model import Formula, Problem
from planner.plan import Step, exact_sum
from planner.uncertain.declared import Declared
from planner.uncertain.evaluation import Spent, View, World
from planner.uncertain.kept import Kept
from planner.validate.constraints import Watches
from planner.validate.simulation import Objection, Simulation


class Seen(View):
    """A `simulation`, what has happened of the constraints, and what a policy is told of that."""

    def __init__(self, simulation: Simulation, watches: Watches, kept: Kept) -> None:
        super().__init__(simulation)
        self.watches, self.kept = watches, kept

    def objection(self, step: Step) -> Objection | None:
        """Return why `step` cannot be taken now; None where it can."""
        return self.simulation.objection(step)

    def holds(self, formula: Formula) -> bool:
        """Return whether the ground `formula` holds."""
        return self.simulation.holds(formula)


class WatchedWorld(World):
    """`problem`, which has constraints, as one acts in it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        first: Simulation = self.declared.initial
        self.declared = _Watching(self.declared, Seen(first, Watches(first), Kept.of(problem)))

    def key(self, state: Seen, spent: Spent) -> tuple[object, ...]:
        """Return what tells states apart."""
        return state.facts, frozenset(state.history), spent, state.watches.key, state.kept.facts

    def said(self, strategy: Any, state: Seen, spent: Spent, **more: Any) -> Step | None:
        """Return the step that `strategy` takes where it is told the state, and how far constraints are kept."""
        return super().said(strategy, state, spent, kept=state.kept.facts, **more)

    def worth(self, state: Seen) -> tuple[bool, float]:
        """Return whether `state` is a goal that was reached within the constraints, and what ending there is worth."""
        watches, goal = state.watches, self.problem.goal
        if watches.broken or any(watches.unmet) or not state.holds(goal.hard):
            return False, 0.0
        lost = [wish.utility or 0 for wish in watches.forgone]
        lost += [wish.utility for wish in goal.soft if not state.holds(wish.condition)]
        return True, float(exact_sum([*[wish.utility or 0 for wish in self.problem.wishes], *[-each for each in lost]]))


class _Watching:
    """The outcomes of steps, with what they make of the constraints."""

    def __init__(self, declared: Declared, initial: Seen) -> None:
        self._declared, self.initial = declared, initial

    def outcomes(self, state: Seen, step: Step) -> Iterator[tuple[float, Seen]]:
        """Yield `(probability, next state)` for all that may come of `step`, which can be taken in `state`."""
        for share, after, changes in self._declared.ways(state.simulation, step):
            if changes is None:
                yield share, state
                continue
            watches = state.watches.copy()
            watches.look(state.simulation, step)
            watches.look(after)
            yield share, Seen(after, watches, state.kept.after(state.facts, step))
