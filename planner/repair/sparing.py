"""What undoing leaves alone: everything that the run has not written.

No step may change in place what it has not, as no step can take that back, and no fact may end for good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from planner.model import OPEN, And, Atom, DomainModel, Equals, Forall, Formula, Imply, Not, Or, Problem, When
from planner.model.actions import added, deleted
from planner.model.formulas import TRUE, conjunction, conjuncts
from planner.normalise import relevant_part
from planner.records import dataclass, replace
from planner.repair.covering import Covered
from planner.validate.effects import staleness_of


@dataclass(frozen=True, slots=True)
class Sparing:
    """Leaves alone all but the items that were `written`: facts, and patterns with open arguments."""

    written: tuple[Atom, ...]

    def without_rewriting(self, problem: Problem) -> Problem:
        """Return `problem` in which no action changes in place what was not written.

        An item is changed in place by `modifies`, and also where it is provided though it holds already, if others go
        stale with it: a document that is drafted anew.
        """
        domain = problem.domain
        sources = {pattern.predicate for each in domain.predicates.values() for pattern in each.stale_with}
        actions = {}
        for action in domain.actions.values():
            guards = [guard for effect in action.effects for guard in self._guards(effect, sources)]
            actions[action.name] = action
            if guards:
                requires = conjunction([*conjuncts(action.requires), *guards])
                actions[action.name] = replace(action, requires=requires)
        return replace(problem, domain=replace(domain, actions=actions))

    def _guards(self, effect: When, sources: Collection[str]) -> Iterator[Formula]:
        """Yield what must hold before `effect`, so that it changes nothing in place that was not written."""
        kept = [self._is_written(item) for item in effect.modifies if OPEN not in item.args]
        provided = [fact for fact in added(effect.provides) if fact.predicate in sources]
        kept += [Or((Not(fact), self._is_written(fact))) for fact in provided]
        for guard in kept:
            found = guard if effect.requires == TRUE else Imply(effect.requires, guard)
            yield Forall(effect.variables, found) if effect.variables else found

    def _is_written(self, item: Atom) -> Formula:
        """Return that `item`, whose arguments may be variables, is one that was written."""
        same = [each for each in self.written if each.predicate == item.predicate]
        pairs = [
            [(mine, other) for mine, other in zip(item.args, each.args, strict=True) if other != OPEN] for each in same
        ]
        return Or(tuple([And(tuple([Equals(mine, other) for mine, other in each])) for each in pairs]))

    def relevant(self, problem: Problem, facts: Iterable[Atom]) -> tuple[Problem, list[Atom]]:
        """Return `problem` with the actions that its goal needs, and those of `facts` that these may end.

        Facts that were written do not count; those that are returned are to hold at the end, which needs actions, too.
        """
        found = relevant_part(problem)
        written = Covered(self.written)
        own = [fact for fact in facts if fact not in written]
        while True:
            ending = _ended_by(found.domain)
            kept = [fact for fact in own if fact.predicate in ending]
            goal = conjunction([*conjuncts(problem.goal.hard), *kept])
            wider = relevant_part(replace(problem, goal=replace(problem.goal, hard=goal)))
            if len(wider.domain.actions) == len(found.domain.actions):
                return found, kept
            found = wider


def _ended_by(domain: DomainModel) -> set[str]:
    """Return the predicates of facts that some action of `domain` may end."""
    found: set[str] = set()
    for action in domain.actions.values():
        for effect in action.effects:
            opened = [item for item in effect.modifies if OPEN in item.args]
            ended = [*deleted(effect.provides), *opened]
            written = [*added(effect.provides), *ended, *effect.modifies]
            found.update(fact.predicate for fact in (*ended, *staleness_of(domain).of(written)))
    return found
