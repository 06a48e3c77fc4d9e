"""Excuses: changes of the initial state, compiled to actions (Göbelbecker, Keller, Eyerich, Brenner and Nebel, 2010).

Each candidate becomes an action that costs `PRICE` and is applicable only before the first step of the source problem.
Each other step costs 1, so that a cheapest plan of at most `STEPS` steps makes the fewest assumptions.

An assumed value of an item replaces its present value. Items are invariants of the action schemas: a candidate is a set
of predicates in which all arguments but at most one are the item's key, as `at(ball, _)` and `carried(ball, _)` give
the place of a ball. It is invariant if every action that adds a value also deletes the required one, or all values
(Helmert, 2009; here tested on schemas, since assumed values may be unreachable).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.compilations import reserve_name
from planner.compilations.normal_form import Conjunction, NormalProblem, Schema, SchemaEffect
from planner.explain.near_misses import atom_of
from planner.model import OPEN, Action, Atom, Literal, Metric, Not, Number, Predicate, Problem, Term
from planner.model.actions import NumericEffect
from planner.plan import Step, json_number
from planner.semantics.undefined_values import keep_needed

CANDIDATES: Final = 300
"""Most candidates for invariants that are tested."""

Parts = tuple[tuple[str, tuple[int, ...]], ...]
"""Predicates, each with the argument positions of the key, in the order of the key."""


@dataclass(frozen=True, slots=True)
class _Writes:
    """The effects of a schema: it requires and deletes `swapped` atoms, and deletes all facts of `cleared` patterns."""

    adds: tuple[Atom, ...]
    swapped: tuple[Atom, ...]
    cleared: tuple[Atom, ...]
    uncertain: frozenset[str]
    """The predicates that conditional effects add to."""


class Items:
    """The invariants of a problem in normal form."""

    def __init__(self, normal: NormalProblem) -> None:
        self._writes = [_writes_of(schema) for schema in normal.schemas]
        arities = {atom.predicate: len(atom.args) for writes in self._writes for atom in writes.adds}
        self.invariants = list(self._search(arities))

    def _search(self, arities: dict[str, int]) -> Iterator[Parts]:
        queue: list[Parts] = [
            ((name, tuple([place for place in range(arity) if place != counted])),)
            for name, arity in arities.items()
            for counted in range(arity + 1)
        ]
        seen = {frozenset(parts) for parts in queue}
        for parts in queue:
            failure = next(
                (found for writes in self._writes if (found := _find_failure(parts, writes)) is not None), None
            )
            if failure is None:
                yield parts
                continue
            for extended in _extend(parts, *failure):
                if frozenset(extended) not in seen and len(queue) < CANDIDATES:
                    seen.add(frozenset(extended))
                    queue.append(extended)

    def rivals(
        self, facts: Iterable[Atom], initial: Iterable[Atom], *, one_predicate: bool = False
    ) -> dict[Atom, list[Atom]]:
        """Return, for each of `facts`, those of `facts` and `initial` that are other values of the same item.

        Items with several initial values have no rivals. With `one_predicate`, only items of one predicate count, such
        as the place of a robot: an invariant over several may be a stock that is used up, such as "the key is there, or
        the door is open", and more of a stock is no contradiction.
        """
        wanted, held = list(facts), list(initial)
        found: dict[Atom, dict[Atom, None]] = {fact: {} for fact in wanted}
        for parts in self.invariants:
            if one_predicate and len(parts) > 1:
                continue
            before, after = _group_by_item(parts, held), _group_by_item(parts, wanted)
            for key, values in after.items():
                others = before.get(key, [])
                if len(others) <= 1:
                    for fact in values:
                        found[fact].update((other, None) for other in (*others, *values) if other != fact)
        return {fact: list(others) for fact, others in found.items()}


def _group_by_item(parts: Parts, facts: Iterable[Atom]) -> dict[tuple[Term, ...], list[Atom]]:
    positions = dict(parts)
    found: dict[tuple[Term, ...], list[Atom]] = defaultdict(list)
    for fact in facts:
        if fact.predicate in positions:
            found[_key(fact, positions[fact.predicate])].append(fact)
    return found


def _key(atom: Atom, positions: tuple[int, ...]) -> tuple[Term, ...]:
    return tuple([atom.args[place] for place in positions])


def _writes_of(schema: Schema) -> _Writes:
    return _Writes(
        schema.adds,
        tuple([atom for atom in schema.condition.atoms if atom in schema.deletes]),
        tuple(
            [
                _open_pattern(atom, effect)
                for effect in schema.effects
                for atom in effect.deletes
                if effect.condition == Conjunction(effect.condition.variables)
            ]
        ),
        frozenset(atom.predicate for effect in schema.effects for atom in effect.adds),
    )


def _open_pattern(atom: Atom, effect: SchemaEffect) -> Atom:
    return atom.substitute({variable.name: OPEN for variable in effect.variables})


def _find_failure(parts: Parts, writes: _Writes) -> tuple[_Writes, tuple[Term, ...]] | None:
    """Return `writes` and the key of an item that they may give a second value; None if there is none."""
    positions = dict(parts)
    swapped = [_key(atom, positions[atom.predicate]) for atom in writes.swapped if atom.predicate in positions]
    cleared: set[tuple[Term, ...]] = set()
    for atom in writes.adds:
        if atom.predicate in positions:
            key = _key(atom, positions[atom.predicate])
            if key in swapped:
                swapped.remove(key)
            elif key not in cleared and _is_cleared(parts, key, writes.cleared):
                cleared.add(key)
            else:
                return writes, key
    return None if writes.uncertain.isdisjoint(positions) else (writes, ())


def _is_cleared(parts: Parts, key: tuple[Term, ...], cleared: tuple[Atom, ...]) -> bool:
    return all(
        any(
            atom.predicate == predicate
            and _key(atom, positions) == key
            and all(arg == OPEN for place, arg in enumerate(atom.args) if place not in positions)
            for atom in cleared
        )
        for predicate, positions in parts
    )


def _extend(parts: Parts, writes: _Writes, key: tuple[Term, ...]) -> Iterator[Parts]:
    """Yield the candidates with one more predicate, whose atoms the failing action swaps."""
    known = {predicate for predicate, _ in parts}
    for atom in writes.swapped:
        if atom.predicate not in known and len(atom.args) - len(key) in (0, 1):
            for positions in itertools.permutations(range(len(atom.args)), len(key)):
                if _key(atom, positions) == key:
                    yield (*parts, (atom.predicate, positions))


PRICE: Final = 10**9
"""The cost of an assumption."""
STEPS: Final = 10**8
"""More steps than any useful plan has."""
UNNAMED: Final = 10**5
"""Extra cost of an assumption that nothing can provide, but to which no explanation of the goal leads."""
DEEPER: Final = 2 * UNNAMED
"""Extra cost of an assumption that something could provide, so that assumptions at the root are preferred."""
BESIDE: Final = 3 * UNNAMED
"""Extra cost of an assumption that holds beside the facts that it could replace."""
DEAREST: Final = PRICE + DEEPER + BESIDE


@dataclass(frozen=True, slots=True)
class Assumption:
    """A fact that is assumed to hold initially, or to fail (`Not`).

    `rivals` are the other values of the same item, which then fail; `instead_of` are those that hold initially.
    """

    literal: Literal
    instead_of: tuple[Atom, ...] = ()
    rivals: tuple[Atom, ...] = ()
    price: int = PRICE

    def __str__(self) -> str:
        instead = f" instead of {', '.join(map(str, self.instead_of))}" if self.instead_of else ""
        return f"{self.literal}{instead}"

    def to_dict(self) -> dict[str, Any]:
        """Return the assumption as JSON-ready data."""
        return {
            "fact": str(atom_of(self.literal)),
            "holds": isinstance(self.literal, Atom),
            "instead_of": list(map(str, self.instead_of)),
        }


@dataclass(frozen=True, slots=True)
class NumberAssumption:
    """A fluent that is assumed to have another `value` initially, or a function with another bound.

    `bound` is "low" or "high" for a bound, else "". With the value `refuted`, which is nearer to `instead_of`, there is
    proved to be no plan; None where that is not known.
    """

    function: Atom
    value: Number
    instead_of: Number
    bound: str = ""
    refuted: Number | None = None
    price: int = PRICE

    def __str__(self) -> str:
        what = f"{self.bound} of {self.function.predicate}" if self.bound else str(self.function)
        nearer = "" if self.refuted is None else f" ({self.refuted} is not enough)"
        return f"{what} = {self.value} instead of {self.instead_of}{nearer}"

    def with_value(self, value: Number) -> NumberAssumption:
        """Return the assumption with another value, of which nothing is refuted."""
        return replace(self, value=value, refuted=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the assumption as JSON-ready data."""
        return {
            "function": self.function.predicate if self.bound else str(self.function),
            "value": json_number(self.value),
            "instead_of": json_number(self.instead_of),
            **({"bound": self.bound} if self.bound else {}),
            "refuted": None if self.refuted is None else json_number(self.refuted),
        }


AnyAssumption = Assumption | NumberAssumption


def make_assumptions(
    literals: Iterable[Literal], prices: Mapping[Literal, int], items: Items, initial: tuple[Atom, ...]
) -> list[Assumption]:
    """Return `literals` as assumptions, each with the initial facts that it would replace.

    Literals without a price in `prices` cost `PRICE + DEEPER`. A fact that may replace facts of other predicates, or
    hold beside them, gives two assumptions.
    """
    wanted, holding = list(dict.fromkeys(literals)), set(initial)
    positive = [literal for literal in wanted if isinstance(literal, Atom)]
    every, same = items.rivals(positive, initial), items.rivals(positive, initial, one_predicate=True)
    found = []
    for literal in wanted:
        price = prices.get(literal, PRICE + DEEPER)
        variants = [every[literal], same[literal]] if isinstance(literal, Atom) else [[], []]
        for rivals, extra in zip(variants, (0, BESIDE), strict=True):
            if not extra or rivals != variants[0]:
                instead = tuple([fact for fact in rivals if fact in holding])
                found.append(Assumption(literal, instead, tuple(rivals), price + extra))
    return found


def add_assumptions(plain: Problem, candidates: Sequence[AnyAssumption]) -> Problem:
    """Add an action `assume-<number>` for each of `candidates` to the plain ADL problem."""
    domain = plain.domain
    phase = Atom(reserve_name("assuming", {*domain.predicates}))
    prefix = assume_prefix(plain)
    real = {
        name: replace(
            action, provides=(*action.provides, Not(phase)), cost=(1,), needs_values=keep_needed(action, plain)
        )
        for name, action in domain.actions.items()
    }
    extra = {
        f"{prefix}{number}": Action(
            f"{prefix}{number}",
            requires=phase,
            provides=()
            if isinstance(candidate, NumberAssumption)
            else (candidate.literal, *[Not(fact) for fact in candidate.rivals]),
            cost=(candidate.price,),
            numbers=(NumericEffect(candidate.function, ":=", candidate.value),)
            if isinstance(candidate, NumberAssumption)
            else (),
        )
        for number, candidate in enumerate(candidates)
    }
    return replace(
        plain,
        domain=replace(
            domain, actions=real | extra, predicates={**domain.predicates, phase.predicate: Predicate(phase.predicate)}
        ),
        initial=(*plain.initial, phase),
        metric=Metric.COST,
    )


def assume_prefix(problem: Problem) -> str:
    """Return a prefix for the names of the assuming actions that no action of `problem` has."""
    prefix = "assume-"
    while any(name.startswith(prefix) for name in problem.domain.actions):
        prefix = f"@{prefix}"
    return prefix


def split_plan(
    steps: Iterable[Step], prefix: str, candidates: Sequence[AnyAssumption]
) -> tuple[list[AnyAssumption], list[Step]]:
    """Split the steps of a plan into the assumptions at its beginning and the remaining steps."""
    made: list[AnyAssumption] = []
    rest: list[Step] = []
    for step in steps:
        if step.action.startswith(prefix):
            made.append(candidates[int(step.action.removeprefix(prefix))])
        else:
            rest.append(step)
    return made, rest


def apply_assumptions(problem: Problem, made: Iterable[AnyAssumption]) -> Problem:
    """Apply the assumptions `made` to the initial state of `problem`, and to bounds of its functions."""
    facts = dict.fromkeys(problem.initial)
    for assumption in made:
        if isinstance(assumption, NumberAssumption):
            problem = _apply_number(problem, assumption)
            continue
        for fact in assumption.rivals:
            facts.pop(fact, None)
        if isinstance(assumption.literal, Atom):
            facts[assumption.literal] = None
        else:
            facts.pop(atom_of(assumption.literal), None)
    return replace(problem, initial=tuple(facts))


def _apply_number(problem: Problem, assumption: NumberAssumption) -> Problem:
    if not assumption.bound:
        return replace(problem, values={**problem.values, assumption.function: assumption.value})
    domain, name = problem.domain, assumption.function.predicate
    low, high = (assumption.value if assumption.bound == end else None for end in ("low", "high"))
    function = domain.functions[name]
    function = replace(function, low=low) if high is None else replace(function, high=high)
    return replace(problem, domain=replace(domain, functions={**domain.functions, name: function}))


def bound_assumptions(cost: Number) -> int:
    """Return a lower bound on the assumptions in a plan of at most `STEPS` steps that costs at least `cost`."""
    return max(0, math.ceil((cost - STEPS) / DEAREST))
