"""Find what irreversible steps are for in the end: what the goal takes from them, itself or through later steps.

A plan that pays to close an order is for the closed order. Where that is so already, the payment is not needed, though
nobody can see whether it was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from executor.events.events import UNFINISHED
from executor.events.fluent_values import FluentValue, pattern_of
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.effects import EffectFinder, Facts
from executor.observe.condition_facts import Valued, find_alternatives, find_open_facts, list_conjuncts, trace_atoms
from planner.language.declare.fields import CodePlace
from planner.lightweight import dataclass, field
from planner.model import Atom, Comparison, Constraint, ConstraintKind, Done, Formula, Not
from planner.model.actions import Happening
from planner.semantics.constraint_monitors import covers


class Demand(NamedTuple):
    """What has to hold, for a step, or in the end (`by` is None): a conjunct, with all `facts` on which it depends."""

    what: Formula
    facts: Collection[Atom]
    by: StepRecord | None


@dataclass(slots=True, eq=False)
class Purposes:
    """Links the `steps` that are left of one run, or that its policy may take, to each other and to the goal.

    The order of steps does not count: a step may build on any other one that brings or ends a fact that it needs. What
    constraints want to happen counts as the goal does. In a hierarchical run, so do the effects that no step builds on:
    tasks name no goal.
    """

    state: RunState
    finder: EffectFinder
    steps: Sequence[StepRecord]
    counts_done: bool = False
    """Whether steps that are done may build on others, too."""
    _declared: dict[str, Facts] = field(init=False, default_factory=dict)
    _demands: defaultdict[Atom, list[Demand]] = field(init=False, default_factory=partial(defaultdict, list))
    """The demands that depend on a fact, or on the value of a number."""
    _needing: defaultdict[str, list[StepRecord]] = field(init=False, default_factory=partial(defaultdict, list))
    """The steps that take values from a step, or depend on it, by its id."""
    _coming_after: defaultdict[str, list[StepRecord]] = field(init=False, default_factory=partial(defaultdict, list))
    """The steps that may only come after one of an action, as they say or a constraint does."""
    _changing: defaultdict[Atom, list[StepRecord]] = field(init=False, default_factory=partial(defaultdict, list))
    """The steps that bring or end a fact."""
    _mandatory: list[Done] = field(init=False, default_factory=list)
    """The steps that constraints want to be done."""

    def __post_init__(self) -> None:
        state = self.state
        self._demand(state.goal, None)
        for each in self.steps:
            self._declared[each.id] = declared = self._find_brought(each)
            for fact in declared:
                self._changing[fact].append(each)
            for id_ in each.plan.needs:
                self._needing[id_].append(each)
            for name in {done.predicate for done in state.domain.actions[each.step.action].after}:
                self._coming_after[name].append(each)
            self._demand(state.beliefs.precondition_of(each.step), each)
            if each.plan.requires:
                place = CodePlace(f"step {each.id!r}")
                self._demand(state.reader.condition(each.plan.requires, place), each)
        for constraint in state.constraints:
            self._demand_constraint(constraint)
        if state.hierarchy is not None:
            self._demand_last_effects()

    def _find_brought(self, record: StepRecord) -> Facts:
        """Return the facts that a step declares to bring or end; of one that is done, those that came about.

        Those about objects that it is still to create are among them.
        """
        declared = {**self.finder.find_declared(record.step), **self.finder.find_births(record.step)}
        if not record.is_done:
            return declared
        came, believed = {note.fact: note.holds for note in record.facts}, self.state.beliefs.holds
        return {fact: holds for fact, holds in declared.items() if holds in (came.get(fact), believed(fact))}

    def _demand(self, condition: Formula, by: StepRecord | None) -> None:
        """Add the demands of a condition; numbers that a step needs have other writers, too, and do not count."""
        problem, universe = self.state.problem, self.state.beliefs.simulation.rules.universe
        for part in list_conjuncts(condition, universe):
            demand = Demand(part, trace_atoms(part, problem.domain, universe, {}), by)
            for fact in demand.facts:
                if by is None or not isinstance(fact, FluentValue):
                    self._demands[fact].append(demand)

    def _demand_constraint(self, constraint: Constraint) -> None:
        """Add what a constraint demands: in the end, or of each step that would break it otherwise.

        Those that only forbid something demand no step.
        """
        what, other = constraint.what, constraint.other
        match constraint.kind:
            case ConstraintKind.SOMETIME:
                if isinstance(what, Done):
                    self._mandatory.append(what)
                else:
                    self._demand(what, None)
            case ConstraintKind.BEFORE | ConstraintKind.ALWAYS:
                for each in self._list_happening(what if other is None else other):
                    if isinstance(what, Done):
                        self._coming_after[what.action.predicate].append(each)
                    else:
                        self._demand(what, each)

    def _list_happening(self, happening: Happening) -> list[StepRecord]:
        """Return the steps that a happening is about, or that may change whether it holds."""
        if isinstance(happening, Done):
            return [each for each in self.steps if covers(happening, each.step)]
        universe = self.state.beliefs.simulation.rules.universe
        facts = trace_atoms(happening, self.state.problem.domain, universe, {}).keys()
        return [each for each in self.steps if not facts.isdisjoint(self._declared[each.id])]

    def _demand_last_effects(self) -> None:
        """Demand the effects of steps on which no other step builds."""
        last = [
            fact if holds else Not(fact)
            for each in self.steps
            for fact, holds in self._declared[each.id].items()
            if not (self.state.held_at_first(fact, holds) or self._list_demands(fact, each))
        ]
        for each in last:
            self._demand(each, None)

    def list_served(self, records: Iterable[StepRecord]) -> list[Atom]:
        """Return the facts for which `records` are, also through other steps: first those of the goal."""
        demands = sorted([demand for _, _, demand in self._walk(records)], key=_is_of_step)
        return self._list_visible(fact for each in demands for fact in each.facts)

    def list_goals(self, record: StepRecord) -> list[Formula]:
        """Return the parts of the goal that a step is for by facts, also through other steps."""
        walked = [demand for _, fact, demand in self._walk([record]) if not isinstance(fact, FluentValue)]
        return [*dict.fromkeys(each.what for each in walked if each.by is None)]

    def list_ends(self, record: StepRecord) -> Facts:
        """Return the facts, with their values, that later steps bring for which a step is: first those of the goal."""
        walked = [(by.id, fact, demand) for by, fact, demand in self._walk([record]) if by is not record]
        ends = {fact: by for by, fact, _ in sorted(walked, key=lambda each: _is_of_step(each[2]))}
        return {fact: self._declared[ends[fact]][fact] for fact in self._list_visible(ends)}

    def find_alternatives(self, record: StepRecord) -> list[Valued]:
        """Return the facts, with their values, of other ways to what a step is for, also through other steps."""
        domain, universe = self.state.problem.domain, self.state.beliefs.simulation.rules.universe
        own, found = defaultdict[Formula, set[Valued]](set), dict[Valued, None]()
        for step, fact, demand in self._walk([record]):
            if len(demand.facts) > 1 and fact in self._declared[step.id]:
                own[demand.what].add((fact, self._declared[step.id][fact]))
        for what, literals in own.items():
            found |= dict.fromkeys(find_alternatives(what, literals, self.finder.find_fixed, domain, universe))
        exists, declared = self.state.objects.exists, self._declared.get(record.id, {})
        return [(fact, holds) for fact, holds in found if fact not in declared and exists(fact)]

    def list_demanding(self, facts: Iterable[Atom]) -> list[Demand]:
        """Return the demands on `facts`, also through the steps that demand them."""
        found = [demand for fact in facts for demand in self._list_demands(fact, None)]
        steps = {each.by.id: each.by for each in found if each.by is not None}
        return [*found, *(demand for _, _, demand in self._walk(steps.values()))]

    def list_telling(self, record: StepRecord) -> list[Atom]:
        """Return the facts that may show that a step is needless: first those of the goal.

        Beside these, they are what the steps need that build on its own effects, and bring themselves. If its own
        effect is one fact, that alone shows that it was done, rather than that it is needless.
        """
        walked = [*self._walk([record])]
        ends = [fact for _, _, demand in walked if demand.by is None for fact in demand.facts]
        next_ = [demand for step, _, demand in walked if step is record and demand.by is not None]
        near = [fact for each in next_ for fact in each.facts]
        near += [fact for each in next_ if each.by for fact in self._declared[each.by.id] if fact in self._demands]
        own = {fact for step, fact, _ in walked if step is record}
        found = self._list_visible([*ends, *near])
        others = [each for each in found if each not in own]
        return found if others and len(own) > 1 else others

    def _list_visible(self, facts: Iterable[Atom]) -> list[Atom]:
        """Return each of `facts` once, without placeholders, and values of numbers, which others change, too."""
        exists = self.state.objects.exists
        return [each for each in dict.fromkeys(facts) if not isinstance(each, FluentValue) and exists(each)]

    def _walk(self, records: Iterable[StepRecord]) -> Iterator[tuple[StepRecord, Atom, Demand]]:
        """Yield what is demanded of `records`, and of the steps for which they are: the step, its fact, the demand."""
        stack = list(records)
        reached = {each.id for each in stack}
        while stack:
            step = stack.pop()
            for fact in self._list_changed(step):
                for demand in self._list_demands(fact, step):
                    yield step, fact, demand
                    if demand.by is not None and demand.by.id not in reached:
                        reached.add(demand.by.id)
                        stack.append(demand.by)

    def find_excuse(
        self, record: StepRecord, seen: Facts, hoped: Collection[Atom] = ()
    ) -> tuple[list[Atom], list[StepRecord]]:
        """Return the facts that are `seen` and make a step needless, and with it the steps that build on it.

        There are none if it is needed, or may be. All that is demanded of the step has to be so, or has to be decided
        by what is seen of other facts, or a step demands it that is needless, too. A fact that a step is still to
        change back does not count. Demands on facts that are `hoped` for count as met.
        """
        stack, reached, excuses = [record], {record.id: record}, dict[Atom, None]()
        while stack:
            step = stack.pop()
            needing = {each.id: each for each in self._list_followers(step)}
            demands = [(fact, each) for fact in self._list_changed(step) for each in self._list_demands(fact, step)]
            if not (demands or needing) or any(covers(each, step.step) for each in self._mandatory):
                return [], []  # nobody knows what it is for, or a constraint wants it
            for fact, demand in demands:
                decisive = self._find_decisive(demand, fact, self._declared[step.id].get(fact), seen, hoped)
                if decisive is None and demand.by is None:
                    return [], []
                if decisive is None and demand.by is not None:
                    needing[demand.by.id] = demand.by
                excuses |= dict.fromkeys(decisive or ())
            stack += [each for id_, each in needing.items() if id_ not in reached]
            reached |= needing
        return [*excuses], [*reached.values()]

    def list_numeric_parts(self, record: StepRecord) -> list[Formula]:
        """Return the parts of the goal for which alone a step is, if it changes numbers for them.

        There are none if a step that is left needs it, or changes the same numbers.
        """
        demands = [(fact, each) for fact in self._list_changed(record) for each in self._list_demands(fact, record)]
        numbers = {fact for fact, _ in demands if isinstance(fact, FluentValue)}
        others = [each for each in self.steps if each is not record and each.status in UNFINISHED] if numbers else []
        changed = {pattern_of(fluent) for each in others for fluent in self.state.beliefs.fluents_of(each.step)}
        is_needed = any(each.by is not None for _, each in demands) or self._list_followers(record)
        if is_needed or not numbers.isdisjoint(changed) or any(covers(each, record.step) for each in self._mandatory):
            return []
        return list(dict.fromkeys(each.what for _, each in demands)) if numbers else []

    def _find_decisive(
        self, demand: Demand, fact: Atom, holds: bool | None, seen: Facts, hoped: Collection[Atom]
    ) -> list[Atom] | None:
        """Return the facts `seen` by which a demand needs no step that gives `fact` a value; None if it does."""
        wanted = [each for each in hoped if each in demand.facts]
        if wanted:
            return wanted
        known = {each: value for each, value in seen.items() if each in demand.facts and self._stays(each, value)}
        if fact in known and known[fact] is holds:
            return [fact]
        if not self._is_decided(demand.what, fact, known):
            return None
        alone = [each for each in known if self._is_decided(demand.what, fact, {each: known[each]})]
        return alone or [*known]

    def _is_decided(self, condition: Formula, fact: Atom, known: Facts) -> bool:
        """Return whether `condition` may hold and does not depend on `fact` any more where the `known` facts are so."""

        def truth(part: Atom | Comparison) -> bool | None:
            if isinstance(part, Atom) and part in known:
                return known[part]
            return self.finder.find_fixed(part)

        universe = self.state.beliefs.simulation.rules.universe
        holds, facts = find_open_facts(condition, truth, self.state.problem.domain, universe)
        return holds is not False and fact not in facts

    def _stays(self, fact: Atom, holds: bool) -> bool:
        """Return whether no step that is left gives a fact the other value, or decides anew whether it follows."""
        if fact.predicate not in self.state.problem.domain.derived:
            return (not holds) not in self._list_values(fact)
        causes = self.state.beliefs.simulation.rules
        values = [self._list_values(each) for each in trace_atoms(fact, causes.problem.domain, causes.universe, {})]
        return all(len(each) < 2 for each in values) if holds else not any(values)

    def _list_values(self, fact: Atom) -> set[bool]:
        """Return the values that steps which are left give a fact."""
        return {self._declared[each.id][fact] for each in self._changing.get(fact, ()) if each.status in UNFINISHED}

    def _list_changed(self, record: StepRecord) -> list[Atom]:
        """Return the facts that a step brings or ends, and its numbers as patterns of their values."""
        numbers = [pattern_of(each) for each in self.state.beliefs.fluents_of(record.step)]
        return [*self._declared.get(record.id, ()), *numbers]

    def _list_demands(self, fact: Atom, record: StepRecord | None) -> list[Demand]:
        """Return the demands on a fact in the end, and of other steps that are left."""
        demands = self._demands.get(fact, ())
        return [each for each in demands if each.by is None or (each.by is not record and self._may_build(each.by))]

    def _may_build(self, record: StepRecord) -> bool:
        """Return whether a step may build on what others bring."""
        return record.status in UNFINISHED or self.counts_done

    def _list_followers(self, record: StepRecord) -> list[StepRecord]:
        """Return the steps that are left and need that a step was done, or its result, rather than a fact."""
        found = [*self._needing[record.id], *self._coming_after[record.step.action]]
        return [each for each in found if each is not record and each.status in UNFINISHED]


def _is_of_step(demand: Demand) -> bool:
    return demand.by is not None
