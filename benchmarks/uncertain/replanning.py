"""What agents without policies do: plan as if outcomes were certain, follow the plan, plan again where it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from planner import Atom, Objective, Plan, Problem, Step, decide, solve
from planner.model import COST, Number
from planner.uncertain.determinise import determinise
from planner.validate import Simulation

Key = tuple[frozenset[Atom], tuple[tuple[str, Number], ...]]


class Replanning:
    """A strategy: the first step of a cheapest plan of `certain`, whose actions stand for those that `names` gives.

    It plans once for a state, and is told nothing of chances. With `soft` goals it plans for the most utility.
    """

    def __init__(self, certain: Problem, names: Mapping[str, str], time_limit: float) -> None:
        self._certain, self._names, self._time_limit = certain, names, time_limit
        self._known: dict[Key, Step | None] = {}
        self.plans = 0

    def next_step(
        self,
        facts: frozenset[Atom],
        *,
        ran: frozenset[Atom] = frozenset(),  # noqa: ARG002 - nothing comes after anything in these problems
        spent: Mapping[str, Number] | None = None,
        unknown: frozenset[Atom] = frozenset(),  # noqa: ARG002 - nor is anything unknown
    ) -> Step | None:
        """Return the next step, or None where no plan is left to be found."""
        key = facts, tuple(sorted((spent or {}).items()))
        if key not in self._known:
            self._plan(key)
        return self._known[key]

    def _plan(self, key: Key) -> None:
        facts, spent = key
        left = {name: budget - dict(spent).get(name, 0) for name, budget in self._certain.budgets.items()}
        now = replace(self._certain, initial=tuple(sorted(facts, key=str)), budgets=left)
        self.plans += 1
        state, used = Simulation(now), dict(spent)
        for step in self._steps(now):
            here = state.facts, tuple(sorted(used.items()))
            self._known.setdefault(here, Step(self._names[step.action], step.arguments, step.cost))
            state.apply(step)
            used = {name: used.get(name, 0) + (step.cost if name == COST else 0) for name in left}
        self._known.setdefault((state.facts, tuple(sorted(used.items()))), None)

    def _steps(self, now: Problem) -> tuple[Step, ...]:
        if not now.goal.soft:
            plan = solve(now, time_limit=self._time_limit).plan
            return plan.steps if isinstance(plan, Plan) else ()
        policy = decide(now, objective=Objective.UTILITY, time_limit=self._time_limit).policy
        steps = []
        node = policy.nodes[0] if policy else None
        while policy and node and node.step:
            steps.append(node.step)
            node = policy.nodes[node.branches[0].node]
        return tuple(steps)


def as_intended(problem: Problem, time_limit: float) -> Replanning:
    """Return the strategy that takes all actions to come out as intended (FF-Replan: Yoon, Fern and Givan, 2007)."""
    actions = {
        name: replace(action, risk=Decimal(0), outcomes=(), cases=()) for name, action in problem.domain.actions.items()
    }
    certain = replace(problem, domain=replace(problem.domain, actions=actions))
    return Replanning(certain, dict(zip(actions, actions, strict=True)), time_limit)


def as_wished(problem: Problem, time_limit: float) -> Replanning:
    """Return the strategy that takes actions to come out as it likes, by all-outcomes determinisation (the same)."""
    compiled = determinise(problem)
    return Replanning(compiled.problem, {name: way.action for name, way in compiled.ways.items()}, time_limit)
