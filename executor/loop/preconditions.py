"""Check the preconditions of a step against the beliefs, and predict its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from executor.dispatching.dispatcher import Dispatcher
from executor.events.events import Event, FactsSeen, Note, Provenance, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.journal.reservations import Reservation
from executor.observe.beliefs import CAREFUL, Beliefs
from executor.observe.condition_facts import patterns_of
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.observe.reports import literal_of
from executor.observe.step_verdict import Expected, expect_effects
from executor.plans.suppositions import parse_suppositions, sensed_by
from planner.language.declare.fields import CodePlace
from planner.lightweight import replace
from planner.model import Action, Atom, Comparison, Exists, Forall, Formula, Not
from planner.model.arithmetic import Exact, show_number
from planner.model.formulas import conjunction, conjuncts, walk
from planner.semantics.numeric_state import NumberChange, describe_values


@dataclass(slots=True, eq=False)
class StepConditions:
    """Checks the preconditions of steps of one run, and asks observers where the beliefs are not reliable."""

    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout
    dispatcher: Dispatcher | None = None
    """Dispatches the plan, if it is one in time."""
    looks: bool = True
    """Whether facts that were only stated are looked at before a step that needs them."""

    async def find_unmet(self, record: StepRecord, action: Action) -> str:
        """Look where necessary, and return the reason why the step is not applicable; an empty text if it is.

        Facts in the precondition, and in the conditions of conditional effects, that are unknown, stale or only stated
        are looked at; for a careful step, all facts. Numbers that the step reads or changes are always looked at, as
        others change them, too. A fact that the problem states and no observer can see counts as observed.
        """
        beliefs = self.state.beliefs
        await self._look_for_objects(action, record)
        careful = not action.tags.isdisjoint(CAREFUL)
        waited = record.status is not StepStatus.PENDING
        afresh = careful or (self.state.model == "reactive" and (waited or not self.state.has_goal))
        numbers = [beliefs.value(each) for each in beliefs.fluents_of(record.step)]
        watched = self.looks and self.lookout.has_observers
        if beliefs.is_sure and not (afresh or numbers or watched):
            return self.find_objection(record)
        condition = self._combine_conditions(record)
        unknown = [fact for fact in beliefs.facts_of_effects(record.step) if careful or self._is_open(fact)]
        if afresh:
            await self._look_afresh(condition, [*unknown, *numbers], careful=careful)
        else:
            unknown += [fact for fact in beliefs.facts_of(condition, {}) if self._is_open(fact)]
            await self._look([*numbers, *unknown, *(beliefs.derived_of(condition) if unknown else ())])
        unseen = beliefs.find_doubtful(condition, careful=careful)
        if unseen and not careful and self._adopt_suppositions(record):
            unseen = beliefs.find_doubtful(condition, careful=careful)
        reason = self.find_objection(record)
        if reason or not unseen:
            return reason
        return f"it rests on {unseen[0]}, which is {beliefs.note(unseen[0]).provenance.name.lower()}"

    def _is_open(self, fact: Atom) -> bool:
        """Return whether `fact` is to be looked at before a step that needs it."""
        beliefs = self.state.beliefs
        return beliefs.holds(fact) is None or (self.looks and (beliefs.is_stale(fact) or not beliefs.is_noted(fact)))

    async def look_at_numbers(self, record: StepRecord) -> None:
        """Look at the numbers that the step reads or changes."""
        beliefs = self.state.beliefs
        await self._look([beliefs.value(each) for each in beliefs.fluents_of(record.step)])

    def find_shortage(self, record: StepRecord, reserved: Sequence[tuple[Atom, Reservation]]) -> str:
        """Return why the step is not applicable if others do what they have `reserved`; an empty text if it is.

        It has to be applicable after all that they take, and after all that they give.
        """
        now = self.state.beliefs.simulation
        for sign in (-1, 1):
            then = now.copy()
            amounts = [(fluent, each.amount) for fluent, each in reserved if each.amount * sign > 0]
            for fluent, amount in amounts:
                value = then.values.get(fluent)
                if value is not None:
                    then.world.update((), (), [NumberChange(fluent, value, value + amount)])
            found = then.find_objection(record.step) if amounts else None
            if found is not None:
                runs = ", ".join(dict.fromkeys(each.run for _, each in reserved))
                wanted = found.misfit or f"it requires {found.condition}"
                sums: dict[Atom, Exact] = {}
                for fluent, amount in amounts:
                    sums[fluent] = sums.get(fluent, 0) + sign * amount
                told = " and ".join(f"{show_number(each)} of {fluent}" for fluent, each in sums.items())
                return f"{wanted}, and other runs have reserved {told}: {runs}"
        return ""

    async def _look_for_objects(self, action: Action, record: StepRecord) -> None:
        """Look at all facts of the patterns about which the precondition speaks for all objects.

        Observers may find objects that the problem lacks and that make the precondition false.
        """
        if any(isinstance(each, Forall | Exists) for each in walk(action.requires)):
            over = patterns_of(self.state.beliefs.precondition_of(record.step), self.state.problem.domain)
            if any(self.lookout.can_find(pattern) for pattern in over):
                looked = await self.lookout.look((), self.state.beliefs, over)
                adopt_look(looked, self.state.beliefs, self.emit, "observed")

    def _adopt_suppositions(self, record: StepRecord) -> bool:
        """Adopt the suppositions of the step about unknown facts; return whether there were any."""
        notes = self.state.beliefs.list_suppositions(parse_suppositions(record.plan.supposes))
        if notes:
            self.emit(FactsSeen(tuple(notes), "supposed"))
        return bool(notes)

    async def look_ahead(self, record: StepRecord) -> None:
        """Look at preconditions and effects of the next step: effects may have come about by themselves."""
        beliefs = self.state.beliefs
        facts = beliefs.facts_of(self._combine_conditions(record), {})
        changes = beliefs.simulation.changes(record.step)
        numbers = [beliefs.value(each.fluent) for each in changes.numbers]
        await self._look(dict.fromkeys([*facts, *changes.provided, *changes.removed, *numbers]))

    async def _look_afresh(self, condition: Formula, more: Iterable[Atom], *, careful: bool) -> None:
        """Look at all facts of `condition`, and at `more`.

        For a `careful` step, a fact that is only stated becomes unknown if its observers fail.
        """
        beliefs = self.state.beliefs
        looked = await self._look([*beliefs.facts_of(condition, {}), *beliefs.derived_of(condition), *more])
        failed = {fact: each.reason for each in looked.disagreements for fact in each.facts}
        unsure = [fact for fact in failed if not (fact in looked.seen or beliefs.is_noted(fact))]
        if careful and unsure:
            notes = [Note(fact, None, Provenance.UNKNOWN, failed[fact]) for fact in unsure]
            self.emit(FactsSeen(tuple(notes), "observed"))

    def _combine_conditions(self, record: StepRecord) -> Formula:
        """Return the conjunction of the action's precondition and the condition that the step states itself."""
        beliefs = self.state.beliefs
        if self.dispatcher is None:
            required = beliefs.precondition_of(record.step)
        else:
            required = self.dispatcher.moments.precondition_of(record.step)
        return conjunction([required, self._read_stated_condition(record)]) if record.plan.requires else required

    def _read_stated_condition(self, record: StepRecord) -> Formula:
        return self.state.reader.condition(record.plan.requires, CodePlace(f"step {record.id!r}"))

    def find_objection(self, record: StepRecord) -> str:
        """Return the reason why the step is not applicable in the believed state; an empty text if it is."""
        beliefs = self.state.beliefs
        if self.dispatcher is not None:
            reason = self.dispatcher.find_start_objection(record)
            return reason or (self._find_stated_objection(record) if record.plan.requires else "")
        found = beliefs.simulation.find_objection(record.step)
        if beliefs.has_seen_derived and (found is None or not found.misfit):
            parts = [part for part in conjuncts(beliefs.precondition_of(record.step)) if not beliefs.is_true(part)]
            if parts:
                return f"it requires {parts[0]}, which was not seen to hold"
            found = None
        if found is None:
            return self._find_stated_objection(record) if record.plan.requires else ""
        return found.misfit or f"it requires {found.condition}, {_describe_lack(found.condition, beliefs)}"

    def _find_stated_objection(self, record: StepRecord) -> str:
        """Return the reason why the condition that the step states itself fails; an empty text if it holds."""
        lacking = [
            str(part) for part in conjuncts(self._read_stated_condition(record)) if not self.state.beliefs.is_true(part)
        ]
        return f"the step requires {lacking[0]}, which does not hold" if lacking else ""

    def expect_now(self, record: StepRecord) -> Expected:
        """Return the expected effects of the applicable step, by its action and its entry in the plan."""
        return self._add_stated(record, expect_effects(self.state.beliefs, record.step))

    def expect_end(self, record: StepRecord, expected: Expected) -> Expected:
        """Return the effects of a step that ends now: in time, those of its end; else those that were `expected`.

        Items that an irreversible step changes in place are compared with their versions at its start.
        """
        if self.dispatcher is not None:
            expected = self._add_stated(record, self.dispatcher.expect_end(record))
        return replace(expected, items={**expected.items, **record.versions}) if record.versions else expected

    def _add_stated(self, record: StepRecord, found: Expected) -> Expected:
        """Return the effects `found` with those that the entry of the step in the plan states."""
        asked = self._find_sensed_facts(record)
        found = replace(found, asked=asked) if asked else found
        if not record.plan.expects:
            return found
        beliefs = self.state.beliefs
        effects, others = self.state.reader.expected(record.plan.expects, CodePlace(f"step {record.id!r}"))
        facts = {**found.facts, **dict(literal_of(each) for each in effects)}
        changed = found.changed.union([fact for fact, holds in facts.items() if beliefs.holds(fact) is not holds])
        looks = tuple([fact for each in others for fact in beliefs.facts_of(each, {})])
        return replace(found, facts=facts, changed=changed, conditions=tuple(others), looks=looks)

    def _find_sensed_facts(self, record: StepRecord) -> tuple[Atom, ...]:
        """Return the unknown facts that the step senses, and the values of the unknown numbers."""
        patterns, beliefs = sensed_by(self.state.domain, record.step), self.state.beliefs
        unknown = [*beliefs.unknown, *map(beliefs.value, beliefs.unread)] if patterns else ()
        return tuple([fact for fact in unknown if any(pattern.matches(fact) for pattern in patterns)])

    async def expect_after_look(self, record: StepRecord) -> Expected:
        """Look at the versions of items that are changed in place, and return the expected effects."""
        expected = self.expect_now(record)
        blank = [item for item, version in expected.items.items() if version is None and self.lookout.can_see(item)]
        if blank:
            await self._look(blank)
            expected = self.expect_now(record)
        return expected

    async def _look(self, facts: Iterable[Atom]) -> LookResult:
        """Look at the observable ones among `facts`."""
        visible = [fact for fact in facts if self.lookout.can_see(fact)]
        looked = await self.lookout.look(visible, self.state.beliefs) if visible else LookResult()
        adopt_look(looked, self.state.beliefs, self.emit, "observed", confirming=visible)
        return looked


def _describe_lack(condition: Formula, beliefs: Beliefs) -> str:
    """Return a clause on why `condition` does not hold in the believed state, with the values of its fluents."""
    comparison = condition.part if isinstance(condition, Not) else condition
    if not isinstance(comparison, Comparison):
        return "which does not hold"
    values = [text for _, text in describe_values(comparison, beliefs.simulation.world.state.values)]
    return f"but {' and '.join(values)}" if values else "which does not hold"
