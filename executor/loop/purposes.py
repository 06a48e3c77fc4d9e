"""Find what irreversible steps are for in the end: what the goal takes from them, itself or through later steps.

A plan that pays to close an order is for the closed order. Where that is so already, the payment is not needed, though
nobody can see whether it was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from executor.events.events import UNFINISHED
from executor.events.fluent_values import FluentValue
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.effects import EffectFinder, Facts
from executor.observe.condition_facts import trace_atoms
from planner.language.declare.fields import CodePlace
from planner.lightweight import dataclass, field
from planner.model import Atom, Forall, Formula
from planner.model.formulas import conjuncts


@dataclass(slots=True, eq=False)
class Purposes:
    """Links the `steps` that are left of one run, or that its policy may take, to each other and to the goal.

    The order of steps does not count: a step may build on any other one that brings or ends a fact that it needs.
    """

    state: RunState
    finder: EffectFinder
    steps: Sequence[StepRecord]
    _declared: dict[str, Facts] = field(init=False, default_factory=dict)
    _takers: defaultdict[Atom, list[StepRecord]] = field(init=False)
    """The steps whose conditions depend on a fact."""
    _needing: defaultdict[str, list[StepRecord]] = field(init=False)
    """The steps that take values from a step, or depend on it, by its id."""
    _coming_after: defaultdict[str, list[StepRecord]] = field(init=False)
    """The steps that may only come after one of an action."""
    _changing: defaultdict[Atom, list[StepRecord]] = field(init=False)
    """The steps that bring or end a fact."""
    _parts: defaultdict[Atom, list[Formula]] = field(init=False)
    """The parts of the goal that depend on a fact."""
    _numbers: frozenset[Atom] = field(init=False)
    """The numbers on which the goal depends."""

    def __post_init__(self) -> None:
        self._takers, self._changing, self._parts = defaultdict(list), defaultdict(list), defaultdict(list)
        self._needing, self._coming_after = defaultdict(list), defaultdict(list)
        for part in conjuncts(self.state.goal):
            for fact in self._trace(part):
                self._parts[fact].append(part)
        self._numbers = frozenset([each.fluent for each in self._parts if isinstance(each, FluentValue)])
        for each in self.steps:
            self._declared[each.id] = declared = self.finder.find_declared(each.step)
            for fact in declared:
                self._changing[fact].append(each)
            for id_ in each.plan.needs:
                self._needing[id_].append(each)
            for name in {done.predicate for done in self.state.domain.actions[each.step.action].after}:
                self._coming_after[name].append(each)
            for fact in dict.fromkeys(self._find_needed(each)):
                self._takers[fact].append(each)

    def _find_needed(self, record: StepRecord) -> Iterable[Atom]:
        """Yield the facts on which the conditions of a step depend."""
        yield from self._trace(self.state.beliefs.precondition_of(record.step))
        if record.plan.requires:
            place = CodePlace(f"step {record.id!r}")
            yield from self._trace(self.state.reader.condition(record.plan.requires, place))

    def _trace(self, formula: Formula) -> Iterable[Atom]:
        return trace_atoms(formula, self.state.problem.domain, self.state.beliefs.simulation.rules.universe, {})

    def list_served(self, records: Iterable[StepRecord]) -> list[Atom]:
        """Return the facts for which `records` are, also through other steps: first those of the goal."""
        stack, found = list(records), dict[Atom, None]()
        reached = {each.id for each in stack}
        while stack:
            record = stack.pop()
            for fact in self._declared.get(record.id, ()):
                takers = self._list_takers(fact, record)
                found |= dict.fromkeys([each for each in self._parts.get(fact, ()) if self._is_derived(each)])
                found |= {fact: None} if takers or fact in self._parts else {}
                stack += [each for each in takers if each.id not in reached]
                reached.update(each.id for each in takers)
        return sorted(found, key=lambda fact: not self._is_of_goal(fact))

    def list_goals(self, record: StepRecord) -> list[Formula]:
        """Return the parts of the goal that a step is for, also through other steps; none that is about all objects."""
        stack, reached, found = [record], {record.id}, dict[Formula, None]()
        while stack:
            step = stack.pop()
            for fact in self._declared.get(step.id, ()):
                found |= dict.fromkeys(self._parts.get(fact, ()))
                takers = {each.id: each for each in self._list_takers(fact, step) if each.id not in reached}
                stack += takers.values()
                reached |= takers.keys()
        return [each for each in found if not isinstance(each, Forall)]

    def list_telling(self, record: StepRecord) -> Facts:
        """Return the facts that may show that a step is needless, with their values then: first those of the goal.

        Beside these, they are the effects of the steps that build on its own effects.
        """
        own = self._declared.get(record.id, {})
        takers = [each for fact in own for each in self._list_takers(fact, record)]
        near = {fact for each in takers for fact in self._declared[each.id]}
        served = [each for each in self.list_served([record]) if each not in own]
        return {each: self._find_wanted(each) for each in served if each in near or self._is_of_goal(each)}

    def _find_wanted(self, fact: Atom) -> bool:
        return self._is_derived(fact) or self._declared[self._changing[fact][0].id][fact]

    def _is_of_goal(self, fact: Atom) -> bool:
        return fact in self._parts or self._is_derived(fact)

    def find_excuses(self, record: StepRecord, seen: Facts) -> list[Atom]:
        """Return the facts that are `seen` and make a step needless; none if it is needed, or may be.

        Each fact that the goal takes from the step has to be so. A fact that another step takes has to be so, or that
        step is needless, too. A fact that a step is still to change back does not count.
        """
        stack, reached, excuses = [record], {record.id}, dict[Atom, None]()
        while stack:
            step = stack.pop()
            needing = self._list_followers(step)
            if not self._numbers.isdisjoint(self.state.beliefs.fluents_of(step.step)):
                return []  # others change numbers, too
            served = [each for each in self._declared[step.id] if each in self._parts or self._list_takers(each, step)]
            for fact in served:
                holds, parts = self._declared[step.id][fact], self._parts.get(fact, [])
                stays = not self._is_changed_back(fact, holds=holds)
                if stays and seen.get(fact) is holds:
                    excuses[fact] = None
                    continue
                derived = [each for each in parts if stays and self._is_derived(each) and seen.get(each)]
                if derived != parts:
                    return []
                excuses |= dict.fromkeys(derived)
                needing += self._list_takers(fact, step)
            if not (served or needing):
                return []  # nobody knows what it is for
            stack += {each.id: each for each in needing if each.id not in reached}.values()
            reached.update(each.id for each in needing)
        return list(excuses)

    def _is_changed_back(self, fact: Atom, *, holds: bool) -> bool:
        """Return whether a step that is left gives a fact the other value."""
        return any(
            self._declared[each.id][fact] is not holds for each in self._changing[fact] if each.status in UNFINISHED
        )

    def _is_derived(self, part: Formula) -> TypeGuard[Atom]:
        return isinstance(part, Atom) and part.predicate in self.state.problem.domain.derived

    def _list_takers(self, fact: Atom, record: StepRecord) -> list[StepRecord]:
        """Return the other steps that are left and need a fact."""
        return [each for each in self._takers.get(fact, ()) if each is not record and each.status in UNFINISHED]

    def _list_followers(self, record: StepRecord) -> list[StepRecord]:
        """Return the steps that are left and need that a step was done, or its result, rather than a fact."""
        found = [*self._needing[record.id], *self._coming_after[record.step.action]]
        return [each for each in found if each is not record and each.status in UNFINISHED]
