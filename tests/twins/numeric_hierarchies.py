"""Random hierarchical problems with numbers: random classical ones whose actions, methods and goals get numbers, too.

Bounds keep the states few. What is drawn is linear.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Final

from benchmarks.random_hierarchies import HtnFeatures, random_htn
from htn.model import HtnProblem
from planner.model import Action, Atom, Formula, Goal, Not, Number, TypeHierarchy, Variable, When
from planner.model.actions import NumericEffect
from planner.model.domain import Function
from planner.model.formulas import And, Arithmetic, Comparison, Expression, Or, conjunction
from planner.model.problem import TOTAL_COST, NumericMetric

RELATIONS: Final = ("<", "<=", "=", ">=", ">")
SPENT: Final = Atom("spent")
"""A fluent that only grows, up to a bound, which metrics read."""


def random_numeric_htn(seed: int, features: HtnFeatures, *, bounded: bool = True) -> HtnProblem:
    """Return a random problem with numbers; the same seed and features give the same problem."""
    rng = random.Random(f"numbers {seed}")
    return _Numbers(rng, random_htn(rng, features), bounded=bounded).problem()


class _Numbers:
    def __init__(self, rng: random.Random, source: HtnProblem, *, bounded: bool) -> None:
        self._rng, self._source, self._bounded = rng, source, bounded
        types = [*source.classical.domain.types, "object"]
        self._fluents = [Function("level", (), 0, rng.choice([2, 3, 4]) if bounded else None)]
        self._fluents.append(Function("stock", (Variable("?x", (rng.choice(types),)),), 0, rng.choice([1, 2])))
        self._static = Function("rate", ())
        self._is_a = TypeHierarchy(source.classical.domain.types).is_a
        self._constants = source.classical.domain.constants

    def problem(self) -> HtnProblem:
        """Return the problem with numbers."""
        source, classical = self._source, self._source.classical
        with_metric = self._chance(0.3)
        actions = {name: self._action(each, with_metric) for name, each in classical.domain.actions.items()}
        functions = {each.name: each for each in (*self._fluents, self._static, Function("spent", high=6))}
        domain = replace(classical.domain, actions=actions, functions={**classical.domain.functions, **functions})
        methods = {
            name: replace(each, precondition=self._with_test(each.precondition, each.parameters, 0.2))
            for name, each in source.domain.methods.items()
        }
        hard = self._with_test(classical.goal.hard, (), 0.3)
        metric = NumericMetric(Arithmetic("+", (TOTAL_COST, Arithmetic("*", (2, SPENT)))))
        problem = replace(
            classical,
            domain=domain,
            goal=Goal(hard, classical.goal.soft),
            values={**classical.values, **self._values()},
            metric=metric if with_metric else classical.metric,
            seal=(),
        )
        hierarchical = replace(source.domain, classical=domain, methods=methods)
        return replace(source, domain=hierarchical, classical=problem, seal=())

    def _chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def _values(self) -> dict[Atom, Number]:
        found: dict[Atom, Number] = {Atom("rate"): self._rng.choice([1, Decimal("0.5")]), SPENT: 0}
        for function in self._fluents:
            domains = [
                [each.name for each in self._source.classical.all_objects if self._is_a(each.types, parameter.types)]
                for parameter in function.parameters
            ]
            for args in product(*domains):
                if not self._chance(0.1):
                    found[Atom(function.name, args)] = self._rng.randint(0, int(function.high or 2))
        return found

    def _term(self, scope: Sequence[Variable]) -> Atom:
        function = self._rng.choice(self._fluents)
        args = []
        for parameter in function.parameters:
            fitting = [each.name for each in scope if self._is_a(each.types, parameter.types)]
            fitting += [each.name for each in self._constants if self._is_a(each.types, parameter.types)]
            if not fitting:
                return Atom("level")
            args.append(self._rng.choice(fitting))
        return Atom(function.name, tuple(args))

    def _amount(self, scope: Sequence[Variable]) -> Expression:
        kind = self._rng.random()
        if kind < 0.6:
            return self._rng.choice([1, 1, 2, Decimal("0.5")])
        if kind < 0.75:
            return Atom("rate")
        term = self._term(scope)
        return term if kind < 0.85 else Arithmetic("-", (3, term))

    def _test(self, scope: Sequence[Variable]) -> Formula:
        left: Expression = self._term(scope)
        if self._chance(0.2):
            left = Arithmetic("+", (left, Arithmetic("*", (2, self._term(scope)))))
        test: Formula = Comparison(left, self._rng.choice(RELATIONS), self._rng.choice([0, 1, 1, 2, Decimal("1.5")]))
        kind = self._rng.random()
        if kind < 0.15 and all(term.predicate == "level" for term in test.functions):  # type: ignore[attr-defined]
            return Not(test)
        return Or((test, self._test(scope))) if kind > 0.85 else test

    def _with_test(self, formula: Formula, scope: Sequence[Variable], probability: float) -> Formula:
        if not self._chance(probability):
            return formula
        if scope == () and not self._constants and self._chance(0.5):
            return And((formula, Comparison(Atom("level"), self._rng.choice(RELATIONS), 1)))
        return conjunction([formula, self._test(scope)])

    def _effect(self, scope: Sequence[Variable]) -> NumericEffect:
        fluent, kind = self._term(scope), self._rng.random()
        if kind < 0.75:
            return NumericEffect(fluent, self._rng.choice(["+=", "+=", "-="]), self._amount(scope))
        return NumericEffect(fluent, ":=", self._amount(scope))

    def _action(self, action: Action, with_metric: bool) -> Action:
        scope = action.parameters
        effects = [self._effect(scope) for _ in range(self._rng.choice([0, 1, 1, 2]))]
        effects = list({each.fluent.predicate: each for each in effects}.values())
        if with_metric and self._chance(0.5):
            effects.append(NumericEffect(SPENT, "+=", self._rng.choice([1, 2])))
        when = list(action.when)
        if self._chance(0.2) and not any(each.operator == ":=" for each in effects):
            when.append(When(self._test(scope), numbers=(NumericEffect(self._term(scope), "+=", 1),)))
        return replace(
            action,
            requires=self._with_test(action.requires, scope, 0.2),
            numbers=tuple(effects),
            when=tuple(when),
        )
