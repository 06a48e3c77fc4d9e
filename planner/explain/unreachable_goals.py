"""Explanations of unreachable goals: for each part of the goal, a chain of needs down to what nothing can provide.

The chains are paths in an and-or graph: a near miss needs all literals that it lacks, and a literal needs one of its
near misses. The value of a literal is the number of missing capabilities to which its best near miss leads. A near miss
that leads only back to its own literal has no value.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from planner.compilations.normal_form import to_negation_normal_form
from planner.compilations.number_abstraction import REACH
from planner.explain.near_misses import (
    Literals,
    NearMiss,
    Provider,
    Providers,
    Relaxed,
    Words,
    atom_of,
    find_near_misses,
)
from planner.model import Atom, Formula, Literal, Not, Problem
from planner.model.formulas import conjuncts


class Cause(Enum):
    """Why a chain of needs ends."""

    NO_PROVIDER = "it does not hold initially, and no action provides it"
    STATIC = "it does not hold initially, and no action ever changes it"
    LASTING = "it holds initially, and no action ends it"
    IN_PLACE = "it holds initially, and no action ends it: a 'modifies' without '_' only changes it in place"
    NO_OBJECTS = "no objects fit what could provide it"
    CIRCULAR = "it is needed for itself"
    NOT_FOLLOWED = "the chain is longer than this explanation"
    IMPOSSIBLE = "no facts at all would make it true"
    OUT_OF_REACH = "no sum of effects leads there"


@dataclass(frozen=True, slots=True)
class Link:
    """One need: `fact` is unreachable.

    Either `provider`, the action instance that is nearest to providing it, `lacks` conditions, or the chain ends with a
    `cause`. An empty `provider` with `lacks` stands for a derived fact, or a part of the goal that is no single fact.
    `others` are further actions that could provide the fact under other conditions. `effects` are those by which the
    provider brings a number nearer to what the fact asks for.
    """

    fact: str
    provider: str = ""
    lacks: tuple[str, ...] = ()
    cause: Cause | None = None
    others: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.cause is not None:
            would = f" ({', '.join(self.others)} could)" if self.others and self.cause is Cause.NO_OBJECTS else ""
            return f"{self.fact}: {self.cause.value}{would}"
        also = f" (as would {', '.join(self.others)})" if self.others else ""
        if not self.provider:
            return f"{self.fact}: needs {' and '.join(self.lacks)}{also}"
        would = f"would help by {', '.join(self.effects)}" if self.effects else "would provide it"
        return f"{self.fact}: {self.provider} {would}{also}, but needs {' and '.join(self.lacks)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the link as JSON-ready data."""
        return {
            "fact": self.fact,
            "provider": self.provider or None,
            "lacks": list(self.lacks),
            "cause": self.cause.name.lower() if self.cause is not None else None,
            "others": list(self.others),
            **({"effects": list(self.effects)} if self.effects else {}),
        }


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing capability: a `fact` that nothing can provide, and what needs it: `needed_by`, nearest first.

    With the cause `CIRCULAR`, the fact itself needs what it is needed by.
    """

    fact: str
    cause: Cause
    needed_by: tuple[str, ...]

    def __str__(self) -> str:
        path = " ← ".join(self.needed_by)
        if self.cause is Cause.CIRCULAR:
            return f"no beginning: {self.fact} is needed by {path}, which it needs itself"
        return f"missing: {self.fact}" + (f", needed by {path}" if path else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the missing capability as JSON-ready data."""
        return {"fact": self.fact, "cause": self.cause.name.lower(), "needed_by": list(self.needed_by)}


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A part of the goal that is unreachable even if actions delete nothing.

    `links` go from the goal towards what is missing, each fact once; `missing` are the ends that they lead to.
    """

    goal: str
    links: tuple[Link, ...]
    missing: tuple[Missing, ...]

    def lines(self) -> Iterator[str]:
        """Yield the explanation, a line for each link."""
        yield f"{self.goal} cannot be reached:"
        yield from (f"  {link}" for link in self.links)
        yield from (f"  {missing}" for missing in self.missing)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data."""
        return {
            "goal": self.goal,
            "links": [link.to_dict() for link in self.links],
            "missing": [missing.to_dict() for missing in self.missing],
        }


LITERALS: Final = 300
"""Most literals in the graph."""

Value = tuple[int, int]
"""The missing capabilities and the links of an explanation; smaller is better."""


GIVEN: Final = 2
"""The missing capabilities that the end of an untouched fact counts as, since such a fact is rather a guard."""


@dataclass(slots=True)
class Need:
    """An unreachable literal, with its providers and their near misses."""

    providers: list[Provider]
    misses: list[NearMiss]
    cause: Cause | None = None


@dataclass(slots=True)
class Shortfall:
    """The graph of needs below the literals that parts of the goal lack; `named` are the ends of explanations.

    `in_place` are the predicates of which actions modify facts in place, which leaves them true.
    """

    relaxed: Relaxed
    providers: Providers
    in_place: frozenset[str] = frozenset()
    needs: dict[Literal, Need] = field(default_factory=dict)
    named: set[Literal] = field(default_factory=set)
    _values: dict[Literal, Value] = field(default_factory=dict)

    def grow(self, roots: Iterable[Literal]) -> None:
        """Add `roots` and all that they need, breadth first. Raises `LimitReached`."""
        queue = deque(roots)
        while queue:
            literal = queue.popleft()
            if literal not in self.needs:
                need = self.needs[literal] = self._find_need(literal)
                queue.extend(lacking for miss in need.misses for lacking in miss.lacks)
        self._evaluate()

    def _find_need(self, literal: Literal) -> Need:
        self.relaxed.limits.check()
        providers = self.providers.of(literal)
        if not providers:
            return Need([], [], self._find_cause(literal))
        if len(self.needs) >= LITERALS:
            return Need(providers, [], Cause.NOT_FOLLOWED)
        misses = [miss for provider in providers for miss in find_near_misses(provider, literal, self.relaxed)]
        return Need(providers, sorted(misses, key=lambda miss: len(miss.lacks)), None if misses else Cause.NO_OBJECTS)

    def _find_cause(self, literal: Literal) -> Cause:
        if isinstance(literal, Not):
            return Cause.IN_PLACE if atom_of(literal).predicate in self.in_place else Cause.LASTING
        if atom_of(literal).predicate.startswith(REACH):
            return Cause.OUT_OF_REACH
        return Cause.NO_PROVIDER if self._is_changed(literal) else Cause.STATIC

    def _is_changed(self, literal: Literal) -> bool:
        atom = atom_of(literal)
        return self.providers.changes(atom) or self.providers.changes(Not(atom))

    def _end_value(self, literal: Literal, cause: Cause) -> Value:
        if cause is Cause.NOT_FOLLOWED:
            return LITERALS, 1
        return (GIVEN if cause in (Cause.LASTING, Cause.IN_PLACE) and not self._is_changed(literal) else 1), 1

    def _evaluate(self) -> None:
        """Compute the value of each literal by iteration to a fixed point."""
        values = {literal: self._end_value(literal, need.cause) for literal, need in self.needs.items() if need.cause}
        better = True
        while better:
            better = False
            for literal, need in self.needs.items():
                for miss in need.misses:
                    value = _add_values(miss.lacks, values)
                    if value is not None and (literal not in values or value < values[literal]):
                        values[literal], better = value, True
        self._values = values

    def best(self, literal: Literal) -> NearMiss | None:
        """Return the near miss that explains `literal`; None where its chain ends."""
        need = self.needs[literal]
        return min(need.misses, key=lambda miss: self.rank(miss.lacks), default=None)

    def rank(self, literals: Literals) -> tuple[bool, Value]:
        """Return a key that ranks explanations by `literals`: those that end in missing capabilities come first."""
        value = _add_values(literals, self._values)
        return value is None, value or (len(literals), len(literals))


def _add_values(literals: Literals, values: dict[Literal, Value]) -> Value | None:
    """Return the value of needing all of `literals`; None where one of them has no value yet."""
    if any(literal not in values for literal in literals):
        return None
    return sum(values[literal][0] for literal in literals), 1 + sum(values[literal][1] for literal in literals)


def explain_unreachable_goals(
    problem: Problem, relaxed: Relaxed, words: Words | None = None
) -> tuple[tuple[Unreachable, ...], Shortfall]:
    """Explain each relaxed unreachable part of the goal, and return the graph of needs, too."""
    words = words or Words(problem.domain)
    parts = [(part, _alternatives(part, relaxed)) for part in dict.fromkeys(conjuncts(problem.goal.hard))]
    parts = [(part, alternatives) for part, alternatives in parts if () not in alternatives]
    shortfall = Shortfall(relaxed, Providers(relaxed), _modified_in_place(problem))
    shortfall.grow(literal for _, alternatives in parts for literals in alternatives for literal in literals)
    return tuple([_explain(part, lacks, shortfall, words) for part, lacks in parts]), shortfall


def _modified_in_place(problem: Problem) -> frozenset[str]:
    effects = [when for action in problem.domain.actions.values() for when in action.effects]
    return frozenset([each.predicate for when in effects for each in when.in_place])


def _alternatives(part: Formula, relaxed: Relaxed) -> list[Literals]:
    return relaxed.lacks(to_negation_normal_form(part, itertools.count()))


def _explain(part: Formula, alternatives: list[Literals], shortfall: Shortfall, words: Words) -> Unreachable:
    written = words.formula(part)
    if not alternatives:
        cause = Cause.IMPOSSIBLE
        return Unreachable(written, (Link(written, cause=cause),), (Missing(written, cause, ()),))
    walk = _Walk(shortfall, words)
    best = min(alternatives, key=shortfall.rank)
    if not _is_literal(part):
        walk.links.append(Link(written, "", tuple([words.literal(literal) for literal in best])))
    for literal in best:
        walk.follow(literal, f"the goal {written}")
    return Unreachable(written, tuple(walk.links), tuple(walk.missing))


def _is_literal(part: Formula) -> bool:
    return isinstance(part, Atom) or (isinstance(part, Not) and isinstance(part.part, Atom))


@dataclass(slots=True)
class _Walk:
    """Collects links depth first, each literal once; a `path` has the literals above, with what needs them."""

    shortfall: Shortfall
    words: Words
    links: list[Link] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    seen: set[Literal] = field(default_factory=set)

    def follow(self, start: Literal, goal: str) -> None:
        """Add the links from `start` to its ends."""
        path: list[tuple[Literal, str, Iterator[Literal]]] = []
        self._enter(start, goal, path)
        while path:
            literal = next(path[-1][2], None)
            if literal is None:
                path.pop()
                continue
            on_path = [place for place, (known, _, _) in enumerate(path) if known == literal]
            if on_path:
                self._end_chain(literal, Cause.CIRCULAR, goal, path[on_path[0] :])
            elif literal not in self.seen:
                self._enter(literal, goal, path)

    def _enter(self, literal: Literal, goal: str, path: list[tuple[Literal, str, Iterator[Literal]]]) -> None:
        self.seen.add(literal)
        need, best = self.shortfall.needs[literal], self.shortfall.best(literal)
        fact = self.words.literal(literal)
        if best is None:
            could = [provider.action.name for provider in need.providers if provider.action is not None]
            self.links.append(Link(fact, cause=need.cause, others=tuple(dict.fromkeys(could))))
            self._end_chain(literal, need.cause or Cause.NO_PROVIDER, goal, path)
            return
        action = best.provider.action
        others = {p.action.name: None for p in need.providers if p.action is not None and p.action is not action}
        label = "" if action is None else best.label
        lacks = tuple([self.words.literal(each) for each in best.lacks])
        effects = () if action is None else self.words.effects(action, label, literal)
        self.links.append(Link(fact, label, lacks, None, tuple(others), effects))
        path.append((literal, label or fact, iter(best.lacks)))

    def _end_chain(
        self, literal: Literal, cause: Cause, goal: str, path: list[tuple[Literal, str, Iterator[Literal]]]
    ) -> None:
        self.shortfall.named.add(literal)
        needers = [label for _, label, _ in reversed(path)]
        if cause is not Cause.CIRCULAR:
            needers.append(goal)
        self.missing.append(Missing(self.words.literal(literal), cause, tuple(needers)))
