"""From the graph of what cannot come about to one chain of needs for each part of the goal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.explain.providers import Providers
from planner.explain.relaxed import Literals, Relaxed
from planner.explain.shortfall import Shortfall
from planner.explain.unreachable import Cause, Link, Missing, Unreachable
from planner.explain.words import readable
from planner.model import Atom, DomainModel, Formula, Literal, Not, Problem
from planner.model.formulas import conjuncts
from planner.normalise.conditions import negation_normal


def unreachable_goals(problem: Problem, relaxed: Relaxed) -> tuple[tuple[Unreachable, ...], Shortfall]:
    """Return why each part of the goal that no relaxed plan reaches cannot be reached, and the graph behind that."""
    parts = [(part, _alternatives(part, relaxed)) for part in dict.fromkeys(conjuncts(problem.goal.hard))]
    parts = [(part, alternatives) for part, alternatives in parts if () not in alternatives]
    shortfall = Shortfall(relaxed, Providers(relaxed))
    shortfall.grow(literal for _, alternatives in parts for literals in alternatives for literal in literals)
    return tuple([_explained(part, lacks, shortfall, problem.domain) for part, lacks in parts]), shortfall


def _alternatives(part: Formula, relaxed: Relaxed) -> list[Literals]:
    return relaxed.lacks(negation_normal(part, itertools.count()))


def _explained(part: Formula, alternatives: list[Literals], shortfall: Shortfall, domain: DomainModel) -> Unreachable:
    if not alternatives:
        cause = Cause.IMPOSSIBLE
        return Unreachable(str(part), (Link(str(part), cause=cause),), (Missing(str(part), cause, ()),))
    walk = _Walk(shortfall, domain)
    best = min(alternatives, key=shortfall.rank)
    if not _is_literal(part):
        walk.links.append(Link(str(part), "", tuple([readable(literal, domain) for literal in best])))
    for literal in best:
        walk.follow(literal, f"the goal {part}")
    return Unreachable(str(part), tuple(walk.links), tuple(walk.missing))


def _is_literal(part: Formula) -> bool:
    return isinstance(part, Atom) or (isinstance(part, Not) and isinstance(part.part, Atom))


@dataclass(slots=True)
class _Walk:
    """Collects links depth first, each literal once; `path` holds the literals being explained, with their needers."""

    shortfall: Shortfall
    domain: DomainModel
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
                self._end(literal, Cause.CIRCULAR, goal, path[on_path[0] :])
            elif literal not in self.seen:
                self._enter(literal, goal, path)

    def _enter(self, literal: Literal, goal: str, path: list[tuple[Literal, str, Iterator[Literal]]]) -> None:
        self.seen.add(literal)
        need, best = self.shortfall.needs[literal], self.shortfall.best(literal)
        fact = readable(literal, self.domain)
        if best is None:
            could = [provider.action.name for provider in need.providers if provider.action is not None]
            self.links.append(Link(fact, cause=need.cause, others=tuple(dict.fromkeys(could))))
            self._end(literal, need.cause or Cause.NO_PROVIDER, goal, path)
            return
        action = best.provider.action
        others = {p.action.name: None for p in need.providers if p.action is not None and p.action is not action}
        label = "" if action is None else best.label
        self.links.append(Link(fact, label, tuple([readable(x, self.domain) for x in best.lacks]), None, tuple(others)))
        path.append((literal, label or fact, iter(best.lacks)))

    def _end(
        self, literal: Literal, cause: Cause, goal: str, path: list[tuple[Literal, str, Iterator[Literal]]]
    ) -> None:
        self.shortfall.named.add(literal)
        needers = [label for _, label, _ in reversed(path)]
        if cause is not Cause.CIRCULAR:
            needers.append(goal)
        self.missing.append(Missing(readable(literal, self.domain), cause, tuple(needers)))
