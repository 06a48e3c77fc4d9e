"""Compare a step with what is believed: whether it may begin, and which effects to expect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from executor.events.events import Event, FactsSeen, Note, Provenance, StepStatus
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.observe.reports import literal_of
from executor.observe.step_verdict import Expected, expect_effects
from executor.plans.suppositions import parse_suppositions, sensed_by
from planner.language.declare.fields import CodePlace
from planner.lightweight import replace
from planner.model import Action, Atom, Formula
from planner.model.formulas import conjunction, conjuncts

CAREFUL: Final = frozenset({"irreversible", "needs_observed"})
"""Tags of actions that do not rest on what nobody has seen."""


@dataclass(slots=True, eq=False)
class StepConditions:
    """Compares the steps of one run with what is believed, and looks where that is not good enough."""

    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout

    async def find_unmet(self, record: StepRecord, action: Action) -> str:
        """Return which condition of the step does not hold, as far as is known; looks where it must be seen to hold.

        All that is unknown is looked at, in the conditions of the step and in those of its conditional effects; for a
        careful step, all conditions. What nobody can see of what the problem states counts as said by a person.
        """
        beliefs = self.state.beliefs
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

    def _adopt_suppositions(self, record: StepRecord) -> bool:
        """Take to hold what the plan supposes and nobody knows; return whether there was anything."""
        notes = self.state.beliefs.list_suppositions(parse_suppositions(record.plan.supposes))
        if notes:
            self.emit(FactsSeen(tuple(notes), "supposed"))
        return bool(notes)

    async def look_ahead(self, record: StepRecord) -> None:
        """Look at what the next step rests on and would bring about: that may have come about by itself."""
        beliefs = self.state.beliefs
        facts = beliefs.facts_of(self._combine_conditions(record), {})
        changes = beliefs.simulation.changes(record.step)
        await self._look(dict.fromkeys([*facts, *changes.provided, *changes.removed]))

    async def _look_afresh(self, condition: Formula, more: Iterable[Atom], *, careful: bool) -> None:
        """Look at all that `condition` rests on, and at `more`.

        What was only stated is unknown to the careful if observers fail.
        """
        beliefs = self.state.beliefs
        looked = await self._look([*beliefs.facts_of(condition, {}), *beliefs.derived_of(condition), *more])
        failed = {fact: each.reason for each in looked.disagreements for fact in each.facts}
        unsure = [fact for fact in failed if not (fact in looked.seen or beliefs.is_noted(fact))]
        if careful and unsure:
            notes = [Note(fact, None, Provenance.UNKNOWN, failed[fact]) for fact in unsure]
            self.emit(FactsSeen(tuple(notes), "observed"))

    def _combine_conditions(self, record: StepRecord) -> Formula:
        """Return what the action requires here, and the step itself beyond that."""
        required = self.state.beliefs.precondition_of(record.step)
        return conjunction([required, self._read_stated_condition(record)]) if record.plan.requires else required

    def _read_stated_condition(self, record: StepRecord) -> Formula:
        return self.state.reader.condition(record.plan.requires, CodePlace(f"step {record.id!r}"))

    def find_objection(self, record: StepRecord) -> str:
        """Return why the step cannot be done, as far as is known; nothing where it can."""
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
        """Return what the step itself requires, beyond its action, and does not hold."""
        lacking = [
            str(part) for part in conjuncts(self._read_stated_condition(record)) if not self.state.beliefs.is_true(part)
        ]
        return f"the step requires {lacking[0]}, which does not hold" if lacking else ""

    def expect_now(self, record: StepRecord) -> Expected:
        """Return what the step, which can be applied, should change, as far as its action and its plan say."""
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
        """Return the facts that are unknown and of which the step says whether they hold."""
        patterns = sensed_by(self.state.domain, record.step)
        unknown = self.state.beliefs.unknown if patterns else ()
        return tuple([fact for fact in unknown if any(pattern.matches(fact) for pattern in patterns)])

    async def expect_after_look(self, record: StepRecord) -> Expected:
        """Return the same; items that are changed in place are looked at before."""
        wanted = self.expect_now(record)
        blank = [item for item, version in wanted.items.items() if version is None and self.lookout.can_see(item)]
        if blank:
            await self._look(blank)
            wanted = self.expect_now(record)
        return wanted

    async def _look(self, facts: Iterable[Atom]) -> LookResult:
        """Look at those of `facts` that somebody can see."""
        visible = [fact for fact in facts if self.lookout.can_see(fact)]
        looked = await self.lookout.look(visible, self.state.beliefs) if visible else LookResult()
        adopt_look(looked, self.state.beliefs, self.emit, "observed")
        return looked
