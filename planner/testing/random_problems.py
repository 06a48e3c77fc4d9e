"""Random declared problems, small enough to enumerate and wild enough to reach every corner of the semantics.

The generator draws from anything with the interface of `random.Random`, so that a seed and Hypothesis (which shrinks
what it finds) can both drive it. What it gives is well-typed, stratified and free of stale cycles.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Final

from planner.limits import Limits
from planner.model.actions import Action, CostTerm, Literal, Outcome, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate
from planner.model.formulas import OPEN, TRUE, Atom, Formula, Not, Object, Variable, conjunction
from planner.model.problem import Goal, Metric, Problem
from planner.semantics.simulation import Simulation
from planner.testing.brute import reachable
from planner.testing.random_formulas import TYPES, Features, FormulaDrawer, Readable, Scope, fits, instances

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from planner.task.ground_task import Task

OBJECT_TYPES: Final = (("thing",), ("box",), ("box",), ("cart",), ("cart",), ("hybrid",), ("box", "cart"))
ALL: Final = Features()
STRIPS: Final = Features(
    either=False,
    negative=False,
    disjunctive=False,
    quantified=False,
    equality=False,
    conditional=False,
    universal=False,
    modifies=False,
    stale=False,
    after=False,
    axioms=False,
    lengths=False,
)
"""What pyperplan takes, costs apart."""


def random_problem(seed: int | random.Random, features: Features = ALL) -> Problem:
    """Return a random problem; the same seed and features give the same problem."""
    return _ProblemDrawer(random.Random(seed) if isinstance(seed, int) else seed, features).problem()


def random_task(seed: int | random.Random, features: Features = ALL) -> Task:
    """Return a random problem, ground."""
    from planner.grounding.ground import ground

    return ground(random_problem(seed, features), Limits())


def problems(features: Features = ALL) -> SearchStrategy[Problem]:
    """Return a Hypothesis strategy for random problems; needs hypothesis, which the extra `test` installs."""
    from hypothesis import strategies

    return strategies.randoms(use_true_random=False).map(lambda rng: random_problem(rng, features))


class _ProblemDrawer:
    def __init__(self, rng: random.Random, features: Features) -> None:
        self.rng = rng
        self.features = features
        self.draw = FormulaDrawer(rng, features)
        allowed = OBJECT_TYPES if features.either else OBJECT_TYPES[:-1]
        objects = [
            Object(f"o{number}", rng.choice(allowed))
            for number in range(rng.randint(min(3, features.objects), features.objects))
        ]
        self.constants, self.objects = tuple(objects[:1]), tuple(objects[1:])
        self.base = self._base_predicates()
        self.derived: list[Predicate] = []
        self.functions = [Function("weight", self.draw.variables(1, 1)), Function("fee", ())]

    def problem(self) -> Problem:
        axioms = self._axioms() if self.features.axioms and self._chance(0.6) else ()
        domain = DomainModel(
            "random",
            TYPES,
            self.constants,
            {predicate.name: predicate for predicate in (*self.base, *self.derived)},
            {function.name: function for function in self.functions} if self.features.costs else {},
            axioms=axioms,
        )
        everything = (*self.constants, *self.objects)
        initial = tuple([fact for fact in instances(self.base, everything) if self._chance(0.35)])
        values = {fact: self._number() for fact in instances(domain.functions.values(), everything)}
        metric = Metric.LENGTH if self.features.lengths and self._chance(0.15) else Metric.COST
        problem = Problem("random", domain, self.objects, initial, Goal(), values, metric)
        for number in range(self.rng.randint(2, self.features.actions)):
            problem = self._with_action(problem, f"act{number}")
        return replace(problem, goal=Goal(self._goal(problem)))

    def _with_action(self, problem: Problem, name: str) -> Problem:
        """Return `problem` with one more action, if three draws find one that leads to new states."""
        known = self._size(problem)
        for _ in range(3):
            action = self._action(name, list(problem.domain.actions.values()))
            domain = replace(problem.domain, actions={**problem.domain.actions, name: action})
            extended = replace(problem, domain=domain)
            if self._size(extended, known + 1) > known:
                break
        return extended

    @staticmethod
    def _size(problem: Problem, limit: int = 6) -> int:
        """Return the number of reachable states, at most `limit`."""
        return sum(1 for _ in islice(reachable(problem), limit))

    def _goal(self, problem: Problem) -> Formula:
        """Return a goal: often the conjunction of facts that hold in a state some steps away, else any formula."""
        if self._chance(0.3):
            parts = range(self.rng.randint(1, 2))
            scope = problem.all_objects
            return conjunction([self.draw.formula(self._readable, scope, 1, prefer=scope) for _ in parts])
        *_, far = islice(reachable(problem), self.rng.randint(2, 30))
        news = [fact for fact in instances(self._readable.positive, problem.all_objects) if far.holds(fact)]
        fresh = [fact for fact in news if not Simulation(problem).holds(fact)] or news
        kept: list[Literal] = [*self.rng.sample(fresh, min(len(fresh), self.rng.randint(1, 3)))]
        if self.features.negative:
            gone: list[Literal] = [Not(fact) for fact in problem.initial if not far.holds(fact)]
            kept += self.rng.sample(gone, min(len(gone), 1))
        return conjunction(kept)

    @property
    def _readable(self) -> Readable:
        everything = [*self.base, *self.derived, *self.derived]
        return Readable(everything, everything)

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _number(self) -> int | Decimal:
        number = self.rng.choice([0, 0, 1, 1, 2, 3, 5])
        return Decimal(number) / 4 if self.features.decimals and number % 4 else number

    def _base_predicates(self) -> list[Predicate]:
        found: list[Predicate] = []
        for number in range(self.rng.randint(2, 4)):
            parameters = tuple(
                [
                    Variable(f"?p{place}", variable.types)
                    for place, variable in enumerate(self.draw.variables(0, self.rng.choice([1, 1, 1, 1, 2, 2, 2, 3])))
                ]
            )
            stale = self._stale_with(found, parameters) if self.features.stale and self._chance(0.5) else ()
            found.append(Predicate(f"p{number}", parameters, stale))
        return found

    def _stale_with(self, earlier: Sequence[Predicate], parameters: Scope) -> tuple[Atom, ...]:
        patterns = [self._pattern(earlier, (*parameters, *self.constants), 0.3) for _ in range(self.rng.randint(1, 2))]
        return tuple(dict.fromkeys(pattern for pattern in patterns if pattern is not None))

    def _pattern(self, predicates: Sequence[Predicate], scope: Scope, openness: float) -> Atom | None:
        """Return an atom with some arguments left open; those that nothing in `scope` fits always are."""
        if not predicates:
            return None
        predicate = self.rng.choice(predicates)
        args: list[str] = []
        for parameter in predicate.parameters:
            fitting = [term.name for term in scope if fits(term, parameter.types)]
            again = [name for name in fitting if name in args]
            if not fitting or self._chance(openness):
                args.append(OPEN)
            else:
                args.append(self.rng.choice(again if again and self._chance(0.3) else fitting))
        return Atom(predicate.name, tuple(args))

    def _axioms(self) -> tuple[Axiom, ...]:
        axioms: list[Axiom] = []
        for number in range(self.rng.randint(1, 2)):
            lower = [*self.base, *self.derived]
            own = Predicate(f"d{number}", self.draw.variables(0, 2))
            for _ in range(self.rng.randint(1, 2)):
                head = tuple([Variable(f"?h{place}", each.types) for place, each in enumerate(own.parameters)])
                readable = Readable([*lower, own, own], lower)
                body = self.draw.formula(readable, (*head, *self.constants), 3, prefer=head)
                axioms.append(Axiom(own.name, head, body))
            self.derived.append(own)
        return tuple(axioms)

    def _action(self, name: str, earlier: Sequence[Action]) -> Action:
        parameters = self.draw.variables(0, self.rng.choice([1, 1, 2, 2, 2, 3]))
        scope: Scope = (*parameters, *self.constants)
        conditions = [
            self.draw.formula(self._readable, scope, self.rng.choice([0, 0, 1, 2]), prefer=parameters)
            for _ in range(self.rng.choice([0, 1, 1, 2]))
        ]
        provides, modifies = self._effects(scope, parameters)
        when: list[When] = []
        if self.features.conditional:
            when = [self._when(scope, parameters) for _ in range(self.rng.choice([0, 0, 1, 2]))]
        after: tuple[Atom, ...] = ()
        if self.features.after and earlier and self._chance(0.15):
            ran = self._pattern([Predicate(each.name, each.parameters) for each in earlier], scope, 0.4)
            after = () if ran is None else (ran,)
        action = Action(
            name,
            parameters,
            conjunction(conditions) if conditions else TRUE,
            provides,
            modifies,
            tuple(when),
            self._cost(parameters),
            after,
        )
        return self._uncertain(action, scope) if self.features.uncertain else action

    def _uncertain(self, action: Action, scope: Scope) -> Action:
        """Return `action` with a risk, or with several outcomes, or both, or as it is."""
        risk = self.rng.choice([Decimal(0), Decimal(0), Decimal("0.25"), Decimal("0.5")])
        shares = self.rng.choice([(), (), ("0.5", "0.5"), ("0.75", "0.25"), ("0.125", "0.5", "0.375")])
        others = [self._effects(scope, action.parameters) if self._chance(0.7) else ((), ()) for _ in shares[1:]]
        effects = [(action.provides, action.modifies), *others]
        outcomes = [Outcome(Decimal(share), *effect) for share, effect in zip(shares, effects, strict=False)]
        return replace(action, risk=risk, outcomes=tuple(outcomes))

    def _effects(self, scope: Scope, prefer: Scope) -> tuple[tuple[Literal, ...], tuple[Atom, ...]]:
        literals = [self.draw.literal(self.base, scope, prefer=prefer) for _ in range(self.rng.choice([1, 1, 2]))]
        patterns: list[Atom | None] = []
        if self.features.modifies and self._chance(0.4):
            patterns.append(self._pattern(self.base, scope, 0.4))
        provides = tuple(dict.fromkeys(literal for literal in literals if literal is not None))
        return provides, tuple([pattern for pattern in patterns if pattern is not None])

    def _when(self, scope: Scope, parameters: Scope) -> When:
        variables = self.draw.variables(1, 1) if self.features.universal and self._chance(0.5) else ()
        inner = (*scope, *variables)
        condition = self.draw.formula(self._readable, inner, 1, prefer=variables or parameters)
        provides, modifies = self._effects(inner, variables or parameters)
        return When(condition, provides, modifies, variables)

    def _cost(self, parameters: tuple[Variable, ...]) -> tuple[CostTerm, ...]:
        if not self.features.costs:
            return (1,)
        term = self.draw.atom(self.functions, (*parameters, *self.constants)) if self._chance(0.4) else None
        return (self._number(),) if term is None else self.rng.choice([(term,), (term, self._number())])
