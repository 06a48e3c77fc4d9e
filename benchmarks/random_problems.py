"""Random declared problems, small enough to enumerate and wild enough to reach every corner of the semantics.

A seed, or anything else with the interface of `random.Random`, determines a problem. Problems are well-typed and
stratified, and no fact goes stale in a circle. An action is drawn again if it leads to no new state.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count, islice, product
from typing import Final

from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.actions import Action, CostTerm, Literal, Outcome, When
from planner.model.domain import Axiom, DomainModel, Function, Predicate, TypeHierarchy
from planner.model.formulas import OPEN, TRUE, Object, Variable, conjunction
from planner.model.problem import Goal, Metric, Problem
from planner.plan import Step
from planner.semantics.simulation import Simulation

TYPES: Final = {"thing": (), "box": ("thing",), "cart": ("thing",), "hybrid": ("box", "cart")}
HIERARCHY: Final = TypeHierarchy(TYPES)
VARIABLE_TYPES: Final = (
    *[("object",)] * 3,
    *[("thing",)] * 4,
    ("box",),
    ("box",),
    ("cart",),
    ("hybrid",),
    ("box", "cart"),
)

Scope = tuple[Variable | Object, ...]
"""What an argument may be: variables and objects, with their types."""
Signature = Predicate | Function


@dataclass(frozen=True, slots=True)
class Features:
    """What random problems may contain; `actions` and `objects` are the largest numbers of each.

    With `universal_recursion`, a derived predicate may depend on itself inside `forall`: PDDL allows that (it is
    monotone), Fast Downward does not.
    """

    actions: int = 5
    objects: int = 4
    either: bool = True
    negative: bool = True
    disjunctive: bool = True
    quantified: bool = True
    equality: bool = True
    conditional: bool = True
    universal: bool = True
    modifies: bool = True
    stale: bool = True
    after: bool = True
    axioms: bool = True
    universal_recursion: bool = True
    costs: bool = True
    decimals: bool = False
    lengths: bool = True
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Readable:
    """The predicates that a formula may use where their truth helps it, and where their falsity does."""

    positive: Sequence[Predicate]
    negative: Sequence[Predicate]

    @property
    def flipped(self) -> Readable:
        """What may be used inside a negation."""
        return Readable(self.negative, self.positive)

    @property
    def either_way(self) -> Readable:
        """What may be used whatever surrounds it."""
        both = [predicate for predicate in self.positive if predicate in self.negative]
        return Readable(both, both)


class FormulaDrawer:
    """Draws formulas with at most the constructs that `features` allow."""

    def __init__(self, rng: random.Random, features: Features) -> None:
        self.rng = rng
        self.features = features
        self._names = count()

    def variables(self, least: int, most: int) -> tuple[Variable, ...]:
        """Return new variables."""
        allowed = VARIABLE_TYPES if self.features.either else VARIABLE_TYPES[:-1]
        number = self.rng.randint(least, most)
        return tuple([Variable(f"?v{next(self._names)}", self.rng.choice(allowed)) for _ in range(number)])

    def atom(self, signatures: Iterable[Signature], scope: Scope, *, prefer: Scope = ()) -> Atom | None:
        """Return a well-typed atom, with arguments of `prefer` where they fit; None where none can be formed."""
        order = list(signatures)
        self.rng.shuffle(order)
        for signature in order:
            args = [self._argument(parameter.types, scope, prefer) for parameter in signature.parameters]
            if None not in args:
                return Atom(signature.name, tuple([arg for arg in args if arg is not None]))
        return None

    def _argument(self, types: tuple[str, ...], scope: Scope, prefer: Scope) -> str | None:
        fitting = [term.name for term in scope if fits(term, types)]
        preferred = [term.name for term in prefer if fits(term, types)]
        return self.rng.choice(preferred * 2 + fitting) if fitting else None

    def formula(self, readable: Readable, scope: Scope, depth: int, *, prefer: Scope = ()) -> Formula:
        """Return a formula whose free variables are in `scope`."""
        makers = self._makers() if depth else []
        if not makers or self.rng.random() < 0.45:
            return self._leaf(readable, scope, prefer)
        return self.rng.choice(makers)(readable, scope, depth - 1, prefer)

    def _makers(self) -> list[Callable[[Readable, Scope, int, Scope], Formula]]:
        makers: list[Callable[[Readable, Scope, int, Scope], Formula]] = [self._and]
        if self.features.disjunctive:
            makers += [self._or, self._or, self._imply]
        if self.features.negative and self.features.disjunctive:
            makers.append(self._not)
        if self.features.quantified:
            makers += [self._exists, self._forall]
        return makers

    def _leaf(self, readable: Readable, scope: Scope, prefer: Scope) -> Formula:
        if self.features.equality and len(scope) > 1 and self.rng.random() < 0.12:
            left, right = self.rng.sample(list(scope), 2)
            same = Equals(left.name, right.name)
            return Not(same) if self.rng.random() < 0.6 else same
        if self.features.negative and self.rng.random() < 0.35:
            atom = self.atom(readable.negative, scope, prefer=prefer)
            return TRUE if atom is None else Not(atom)
        return self.atom(readable.positive, scope, prefer=prefer) or TRUE

    def _and(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        return And(tuple([self.formula(readable, scope, depth, prefer=prefer) for _ in range(self.rng.randint(2, 3))]))

    def _or(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        return Or(tuple([self.formula(readable, scope, depth, prefer=prefer) for _ in range(self.rng.randint(2, 3))]))

    def _imply(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        premise = self.formula(self._guarded(readable).flipped, scope, depth, prefer=prefer)
        return Imply(premise, self.formula(readable, scope, depth, prefer=prefer))

    def _not(self, readable: Readable, scope: Scope, depth: int, prefer: Scope) -> Formula:
        return Not(self.formula(self._guarded(readable).flipped, scope, depth, prefer=prefer))

    def _exists(self, readable: Readable, scope: Scope, depth: int, _: Scope) -> Formula:
        variables = self.variables(1, 1)
        return Exists(variables, self.formula(readable, (*scope, *variables), depth, prefer=variables))

    def _forall(self, readable: Readable, scope: Scope, depth: int, _: Scope) -> Formula:
        variables = self.variables(1, 1)
        return Forall(variables, self.formula(self._guarded(readable), (*scope, *variables), depth, prefer=variables))

    def _guarded(self, readable: Readable) -> Readable:
        return readable if self.features.universal_recursion else readable.either_way

    def literal(self, writable: Sequence[Predicate], scope: Scope, *, prefer: Scope = ()) -> Literal | None:
        """Return a fact to provide, or one to retract."""
        atom = self.atom(writable, scope, prefer=prefer)
        return Not(atom) if atom is not None and self.rng.random() < 0.35 else atom


def fits(term: Variable | Object, types: tuple[str, ...]) -> bool:
    """Return whether every object that `term` may be belongs to one of `types`."""
    if isinstance(term, Object):
        return HIERARCHY.is_a(term.types, types)
    return all(HIERARCHY.is_a((name,), types) for name in term.types)


def instances(signatures: Iterable[Signature], objects: Sequence[Object]) -> list[Atom]:
    """Return every well-typed ground atom."""
    return [
        Atom(signature.name, names)
        for signature in signatures
        for names in product(
            *([item.name for item in objects if fits(item, each.types)] for each in signature.parameters)
        )
    ]


StateKey = tuple[frozenset[Atom], frozenset[Atom]]
"""What a state is to the plan checker: its facts, and the actions that have run as far as any `after` asks."""


def key_of(simulation: Simulation) -> StateKey:
    """Return what tells the present state from all others."""
    return simulation.facts, frozenset([*simulation.history, *simulation.values.items()])


def successors(simulation: Simulation) -> Iterator[tuple[Step, Simulation]]:
    """Yield the applicable steps, in order of declaration and arguments, and what each leads to."""
    for step in simulation.applicable():
        after = simulation.copy()
        after.apply(step)
        yield step, after


def reachable(problem: Problem) -> Iterator[Simulation]:
    """Yield every reachable state once, breadth first."""
    start = Simulation(problem)
    seen, queue = {key_of(start)}, [start]
    yield start
    for state in queue:
        for _, after in successors(state):
            key = key_of(after)
            if key not in seen:
                seen.add(key)
                queue.append(after)
                yield after


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
