"""What may come of steps, by the declared problem: the plan checker's simulation, once for each outcome.

It shares nothing with grounding, so it checks what was made of that.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.model import Problem
from planner.plan import Step
from planner.uncertain.determinise import ROUNDING, chances, with_outcomes
from planner.validate import Changes, Simulation


class Declared:
    """The decision process that `problem` declares; its states are simulations."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.initial = Simulation(problem)
        most = max([len(action.outcomes) for action in problem.domain.actions.values()], default=0)
        self._rules = [Simulation(with_outcomes(problem, number)).rules for number in range(most)]

    def outcomes(self, state: Simulation, step: Step) -> Iterator[tuple[float, Simulation]]:
        """Yield `(probability, next state)` for all that may come of `step`, which can be applied in `state`."""
        return ((share, after) for share, after, _ in self.ways(state, step))

    def ways(self, state: Simulation, step: Step) -> Iterator[tuple[float, Simulation, Changes | None]]:
        """Yield the same, each with what has changed on the way there."""
        action = self.problem.domain.actions[step.action]
        shares = chances(action, step.arguments)
        risk = 1 - sum(shares)
        if risk > ROUNDING:
            yield float(risk), state, None
        for number, share in enumerate(shares):
            if share:
                after = state.copy()
                if action.outcomes:
                    after.rules = self._rules[number]
                changes = after.apply(step)
                after.rules = state.rules
                yield float(share), after, changes
