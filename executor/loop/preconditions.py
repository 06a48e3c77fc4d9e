"""Check the preconditions of a step against the beliefs, and predict its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from executor.events.events import Event, FactsSeen, Note, Provenance, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import patterns_of
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.observe.reports import literal_of
from executor.observe.step_verdict import Expected, expect_effects
from executor.plans.suppositions import parse_suppositions, sensed_by
from planner.language.declare.fields import CodePlace
from planner.lightweight import replace
from planner.model import Action, Atom, Exists, Forall, Formula
from planner.model.formulas import conjunction, conjuncts, walk

CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of careful actions, whose preconditions must be observed."""


@dataclass(slots=True, eq=False)
class StepConditions:
    """Checks the preconditions of steps of one run, and asks observers where the beliefs are not reliable."""

    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout

    async def find_unmet(self, record: StepRecord, action: Action) -> str:
        """Look where necessary, and return the reason why the step is not applicable; an empty text if it is.

        Unknown facts in the precondition and in the conditions of conditional effects are looked at; for a careful
        step, all facts. A fact that the problem states and no observer can see counts as observed.
        """
        beliefs = self.state.beliefs
        await self._look_for_objects(action, record)
        careful = not action.tags.isdisjoint(CAREFUL)
        waited = record.status is not StepStatus.PENDING
        afresh = careful or (self.state.model == "reactive" and (waited or not self.state.has_goal))
        if beliefs.is_sure and not afresh:
            return self.find_objection(record)
        condition = self._combine_conditions(record)
        unknown = [fact for fact in beliefs.facts_of_effects(record.step) if beliefs.holds(fact) is None]
        if afresh:
            await self._look_afresh(condition, unknown, careful=careful)
        else:
            unknown += [fact for fact in beliefs.facts_of(condition, {}) if beliefs.holds(fact) is None]
            await self._look([*unknown, *(beliefs.derived_of(condition) if unknown else ())])
        unseen = beliefs.find_doubtful(condition, careful=careful)
        if unseen and not careful and self._adopt_suppositions(record):
            unseen = beliefs.find_doubtful(condition, careful=careful)
        reason = self.find_objection(record)
        if reason or not unseen:
            return reason
        return f"it rests on {unseen[0]}, which is {beliefs.note(unseen[0]).provenance.name.lower()}"

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
        await self._look(dict.fromkeys([*facts, *changes.provided, *changes.removed]))

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
        required = self.state.beliefs.precondition_of(record.step)
        return conjunction([required, self._read_stated_condition(record)]) if record.plan.requires else required

    def _read_stated_condition(self, record: StepRecord) -> Formula:
        return self.state.reader.condition(record.plan.requires, CodePlace(f"step {record.id!r}"))

    def find_objection(self, record: StepRecord) -> str:
        """Return the reason why the step is not applicable in the believed state; an empty text if it is."""
        beliefs = self.state.beliefs
        found = beliefs.simulation.find_objection(record.step)
        if beliefs.has_seen_derived and (found is None or not found.misfit):
            parts = [part for part in conjuncts(beliefs.precondition_of(record.step)) if not beliefs.is_true(part)]
            if parts:
                return f"it requires {parts[0]}, which was not seen to hold"
            found = None
        if found is None:
            return self._find_stated_objection(record) if record.plan.requires else ""
        return found.misfit or f"it requires {found.condition}, which does not hold"

    def _find_stated_objection(self, record: StepRecord) -> str:
        """Return the reason why the condition that the step states itself fails; an empty text if it holds."""
        lacking = [
            str(part) for part in conjuncts(self._read_stated_condition(record)) if not self.state.beliefs.is_true(part)
        ]
        return f"the step requires {lacking[0]}, which does not hold" if lacking else ""

    def expect_now(self, record: StepRecord) -> Expected:
        """Return the expected effects of the applicable step, by its action and its entry in the plan."""
        found = expect_effects(self.state.beliefs, record.step)
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
        """Return the unknown facts that the step senses."""
        patterns = sensed_by(self.state.domain, record.step)
        unknown = self.state.beliefs.unknown if patterns else ()
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
        adopt_look(looked, self.state.beliefs, self.emit, "observed")
        return looked
