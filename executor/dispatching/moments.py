"""What steps in time need and change at their starts and ends, in the believed state of a run.

The starts and ends are the snap actions of the problem; the believed state has what running steps use and hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from executor.events.events import Note, Provenance
from executor.events.fluent_values import FluentValue, value_of
from executor.events.steps import StepRecord
from executor.observe.beliefs import Beliefs
from executor.observe.step_verdict import Expected, expect_changes
from planner.lightweight import replace
from planner.model import Atom, Formula, Problem
from planner.model.actions import DURATION
from planner.model.arithmetic import Exact, exact_value
from planner.model.formulas import Number, conjunction, conjuncts, substitute
from planner.model.timing import TimedEffect
from planner.plan import Step
from planner.semantics.numeric_state import NumberChange
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.snap_actions import SnapProblem, free_name, make_snap_problem, split_moments
from planner.semantics.step_effects import Changes

STARTED: Final = "its step has started"
"""Source of the effects at the start of a step."""
TIME: Final = "its time has come"
"""Source of changes at known times."""


@dataclass(slots=True, eq=False)
class Moments:
    """The starts and ends of the steps of one problem."""

    problem: Problem
    snap: SnapProblem = field(init=False)
    _template: Simulation = field(init=False)
    _capacities: dict[str, str] = field(init=False)
    """The capacities, by the names of the fluents of the snap problem that say what is left of them."""

    def __post_init__(self) -> None:
        self.snap = make_snap_problem(replace(self.problem, unknown=(), likely={}))
        self._template = Simulation(self.snap.problem)
        self._capacities = {free_name(each): each for each in self.problem.capacity}

    def simulate(self, beliefs: Beliefs, running: Iterable[StepRecord]) -> Simulation:
        """Return the believed state, with what the steps `running` use and hold."""
        found, now = self._template.copy(), beliefs.simulation
        before, after = found.facts, now.facts
        found.world.update(before - after, after - before, list(self._differing_values(found, now)))
        found.history.update(list(found.history), [self.snap.name_last(each) for each in now.history])
        for record in running:
            self._mark(found, record)
        return found

    def _differing_values(self, found: Simulation, now: Simulation) -> Iterator[NumberChange]:
        """Yield the changes that give the declared fluents of `found` their values in `now`."""
        before, after = found.world.state.values.fluents, now.world.state.values.fluents
        for key in {*before, *after}:
            if before.get(key) != after.get(key) and key[0] in self.problem.domain.functions:
                yield NumberChange(Atom(*key), before.get(key), after.get(key))

    def _mark(self, now: Simulation, record: StepRecord) -> None:
        """Let what the snap problem alone knows of the step of `record`, which runs, hold in `now`.

        These are the items that it uses, what is to come at its end, what it remembers from its start, and what it
        takes of capacities. What its start has changed is as it was before for what it remembers.
        """
        step, known = record.step, self.problem.domain
        start = self.snap.actions[step.action].start
        before = now.copy()
        _restore(before, record.prior)
        marks = [
            fact
            for fact in before.changes(Step(start, step.arguments)).provided
            if fact.predicate not in known.predicates
        ]
        numbers = []
        for effect in before.numeric_effects(Step(start, step.arguments)):
            amount = before.world.state.values.evaluate(effect.value)
            if effect.fluent.predicate not in known.functions and amount is not None:
                key = effect.fluent.predicate, effect.fluent.args
                old = now.world.state.values.get(key) or 0
                sign = -1 if effect.operator == "-=" else 1
                new = amount if effect.operator == ":=" else old + sign * amount
                numbers.append(NumberChange(effect.fluent, old, new))
        now.world.update((), marks, numbers)

    def _held_by(self, now: Simulation, step: Step) -> dict[Atom, Exact]:
        """Return how much of each capacity, as its fluent of the snap problem, `step` holds."""
        start = self.snap.problem.domain.actions[self.snap.actions[step.action].start]
        binding = bind_parameters(start, step)
        found: dict[Atom, Exact] = {}
        for effect in start.numbers:
            if effect.fluent.predicate in self._capacities:
                amount = now.world.state.values.evaluate(effect.value, binding)
                if amount is not None:
                    found[effect.fluent] = found.get(effect.fluent, 0) + amount
        return found

    def capacities_of(self, beliefs: Beliefs, step: Step) -> dict[str, Exact]:
        """Return how much of each capacity `step` holds while it runs."""
        if not self.problem.domain.actions[step.action].holds:
            return {}
        found = self._held_by(self.simulate(beliefs, ()), step)
        return {self._capacities[fluent.predicate]: amount for fluent, amount in found.items()}

    def find_start_objection(self, beliefs: Beliefs, step: Step, running: Iterable[StepRecord]) -> tuple[str, Formula]:
        """Return why `step` cannot start now beside the steps `running`, and the condition that fails; "" if it can."""
        running = list(running)
        now = self.simulate(beliefs, running)
        moments = self.snap.actions[step.action]
        found = now.find_objection(Step(moments.start, step.arguments))
        if found is not None:
            return found.misfit or f"it requires {found.condition}", found.condition
        now.apply(Step(moments.start, step.arguments))
        for other in (step, *[each.step for each in running]):
            lasting = self.snap.actions[other.action].lasting
            found = now.find_objection(Step(lasting, other.arguments)) if lasting else None
            if found is not None and (other is step or self._lasts(beliefs, other, running)):
                who = "it" if other is step else str(other)
                return found.misfit or f"{who} requires {found.condition} throughout", found.condition
        return "", conjunction([])

    def _lasts(self, beliefs: Beliefs, step: Step, running: Iterable[StepRecord]) -> bool:
        """Return whether what `step`, which runs, needs throughout holds now."""
        lasting = self.snap.actions[step.action].lasting
        now = self.simulate(beliefs, running)
        return not lasting or now.find_objection(Step(lasting, step.arguments)) is None

    def precondition_of(self, step: Step) -> Formula:
        """Return what must hold before `step` starts, as far as its start does not bring it about itself."""
        action = self.problem.domain.actions[step.action]
        start, throughout, _ = split_moments(action)
        written = {each.predicate for when in start.effects for each in _atoms_of(when.provides)}
        lasting = [
            part for part in conjuncts(throughout) if not any(name in str(part) for name in written)
        ]  # a part that the start writes is judged after it
        whole = conjunction(list(dict.fromkeys([*conjuncts(start.requires), *lasting])))
        return substitute(whole, dict(bind_parameters(action, step)))

    def note_start(self, beliefs: Beliefs, step: Step, running: Iterable[StepRecord]) -> tuple[Note, ...]:
        """Return notes on the facts and numbers that the start of `step` changes."""
        now = self.simulate(beliefs, running)
        changes = self._declared(now.changes(Step(self.snap.actions[step.action].start, step.arguments)))
        if not self.snap.actions[step.action].end:
            return ()
        return tuple(_note_changes(beliefs, changes, Provenance.ASSUMED, STARTED))

    def note_timed(self, beliefs: Beliefs, effect: TimedEffect, running: Iterable[StepRecord]) -> tuple[Note, ...]:
        """Return notes on what the change `effect` at a known time makes of the believed state."""
        now = self.simulate(beliefs, running)
        number = self.problem.timed.index(effect)
        changes = self._declared(now.changes(Step(self.snap.events[number])))
        return tuple(_note_changes(beliefs, changes, Provenance.GIVEN, TIME))

    def expect_end(
        self, beliefs: Beliefs, record: StepRecord, running: Iterable[StepRecord], duration: Number
    ) -> Expected:
        """Return the effects that are expected when the step of `record`, which has lasted `duration`, ends now.

        What its start changed counts, too, unless somebody else has changed it since.
        """
        step, moments = record.step, self.snap.actions[record.step.action]
        now = self.simulate(beliefs, [*[each for each in running if each.id != record.id], record])
        now.world.state.values.fluents[DURATION.predicate, ()] = exact_value(duration)
        ending = Step(moments.end or moments.start, step.arguments)
        changes = self._declared(now.changes(ending))
        found = expect_changes(beliefs, changes)
        facts, changed, before = dict(found.facts), set(found.changed), dict(found.before)
        prior = {_item(note.fact): note for note in record.prior}
        ended = {_item(fact) for fact in facts}
        for note in record.begun:
            same = beliefs.holds(note.fact) is note.holds
            if note.holds is None or not same or _item(note.fact) in ended:
                continue
            facts[note.fact] = note.holds
            if isinstance(note.fact, FluentValue):
                old = prior[_item(note.fact)].fact
                assert isinstance(old, FluentValue)
                before[note.fact] = old
        for fact, holds in facts.items():
            was = prior.get(_item(fact))
            if was is None:
                continue
            if isinstance(fact, FluentValue):
                old = was.fact
                assert isinstance(old, FluentValue)
                before[fact] = old
                differs = old != fact
            else:
                differs = was.holds is not holds
            (changed.add if differs else changed.discard)(fact)
        return replace(found, facts=facts, changed=frozenset(changed), before=before)

    def _declared(self, changes: Changes) -> Changes:
        """Return `changes` without those of facts and fluents that are no part of the declared problem."""
        predicates, functions = self.problem.domain.predicates, self.problem.domain.functions

        def keep(facts: Iterable[Atom]) -> tuple[Atom, ...]:
            return tuple([fact for fact in facts if fact.predicate in predicates])

        return Changes(
            keep(changes.provided),
            keep(changes.retracted),
            keep(changes.modified),
            keep(changes.added),
            keep(changes.removed),
            tuple([each for each in changes.numbers if each.fluent.predicate in functions]),
        )


def _atoms_of(literals: Iterable[object]) -> Iterator[Atom]:
    for literal in literals:
        part = getattr(literal, "part", literal)
        if isinstance(part, Atom):
            yield part


def _restore(now: Simulation, prior: Iterable[Note]) -> None:
    """Let what `prior` notes hold in `now`."""
    for note in prior:
        if isinstance(note.fact, FluentValue):
            now.world.update((), (), [NumberChange(note.fact.fluent, None, note.fact.value)])
        elif note.holds is not None:
            now.world.update(() if note.holds else (note.fact,), (note.fact,) if note.holds else ())


def _item(fact: Atom) -> Atom:
    return fact.any if isinstance(fact, FluentValue) else fact


def _note_changes(beliefs: Beliefs, changes: Changes, provenance: Provenance, source: str) -> Iterator[Note]:
    """Yield notes on all that `changes` writes."""
    stale = beliefs.find_stale(changes)
    unsure = [fact for fact in beliefs.unknown if any(pattern.matches(fact) for pattern in changes.retracted)]
    values: Mapping[Atom, bool] = {
        **dict.fromkeys([*unsure, *changes.removed], False),
        **dict.fromkeys(changes.provided, True),
    }
    for fact, holds in values.items():
        yield Note(fact, holds, Provenance.STALE if fact in stale else provenance, source)
    for change in changes.numbers:
        key = change.fluent.predicate, change.fluent.args
        yield Note(value_of(key, change.after), True, provenance, source)
