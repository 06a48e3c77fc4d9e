"""Random problems for tests: ground, as a Hypothesis strategy, with random constraints, and with soft goals."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from typing import Final

from hypothesis import strategies

from benchmarks.random_problems import ALL, Features, FormulaDrawer, Readable, random_problem
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model.actions import Constraint, ConstraintKind, Done, Happening
from planner.model.domain import TypeHierarchy
from planner.model.formulas import OPEN, Atom, Formula, Number
from planner.model.problem import Goal, Problem, SoftGoal

UTILITIES: Final[tuple[Number, ...]] = (1, 2, 5, 8, Decimal("2.5"))
_RELATING: Final = frozenset({ConstraintKind.BEFORE, ConstraintKind.NEVER_AFTER})


def random_task(seed: int | random.Random, features: Features = ALL):
    """Return a random problem, ground."""
    return ground(random_problem(seed, features), Limits())


def problems(features: Features = ALL):
    """Return a Hypothesis strategy for random problems."""
    return strategies.randoms(use_true_random=False).map(lambda rng: random_problem(rng, features))


def with_random_constraints(
    problem: Problem, rng: random.Random, features: Features, *, most: int = 3, soft: float = 0.0
) -> Problem:
    """Return `problem` with one to `most` random constraints; each is soft with probability `soft`."""
    drawer = _Drawer(problem, rng, features)
    constraints = tuple([drawer.constraint(soft) for _ in range(rng.randint(1, most))])
    return replace(problem, constraints=constraints)


def with_random_wishes(problem: Problem, rng: random.Random, features: Features, *, most: int = 3) -> Problem:
    """Return `problem` with up to `most` random soft goals, beside its constraints."""
    drawer = _Drawer(problem, rng, features)
    soft = tuple([SoftGoal(drawer.condition(), drawer.utility()) for _ in range(rng.randint(0, most))])
    return replace(problem, goal=Goal(problem.goal.hard, soft))


class _Drawer:
    def __init__(self, problem: Problem, rng: random.Random, features: Features) -> None:
        self._problem = problem
        self._rng = rng
        self._draw = FormulaDrawer(rng, features)
        self._hierarchy = TypeHierarchy(problem.domain.types)

    def constraint(self, soft: float) -> Constraint:
        """Return a constraint that is soft with this probability."""
        kind = self._rng.choice(list(ConstraintKind))
        what = self.condition() if kind is ConstraintKind.ALWAYS else self._happening()
        other = self._happening() if kind in _RELATING else None
        times = self._rng.choice([0, 1, 1, 2, 3]) if kind is ConstraintKind.AT_MOST else 1
        utility = self.utility() if self._rng.random() < soft else None
        return Constraint(kind, what, other, times, utility)

    def utility(self) -> Number:
        """Return what a wish is worth."""
        return self._rng.choice(UTILITIES)

    def _happening(self) -> Happening:
        return self.condition() if self._rng.random() < 0.5 else self._steps()

    def condition(self) -> Formula:
        """Return a condition without free variables."""
        predicates = [*self._problem.domain.predicates.values()]
        scope = self._problem.all_objects
        depth = self._rng.choice([0, 1, 1, 2])
        return self._draw.formula(Readable(predicates, predicates), scope, depth, prefer=scope)

    def _steps(self) -> Done:
        action = self._rng.choice([*self._problem.domain.actions.values()])
        args = []
        for parameter in action.parameters:
            fitting = [
                each.name for each in self._problem.all_objects if self._hierarchy.is_a(each.types, parameter.types)
            ]
            args.append(OPEN if not fitting or self._rng.random() < 0.6 else self._rng.choice(fitting))
        return Done(Atom(action.name, tuple(args)))
