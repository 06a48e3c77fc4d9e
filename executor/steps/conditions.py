"""What the model says of a step here and now: whether it may begin, and what it should change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from executor.looking.judge import Expected, expected, literal_of
from executor.looking.observe import Lookout, believe
from executor.record.events import Event
from executor.record.state import RunState
from executor.record.steps import StepRecord
from planner.declare.places import CodePlace
from planner.model import Action, Atom
from planner.model.formulas import conjuncts
from planner.records import replace


@dataclass(slots=True, eq=False)
class Conditions:
    """Compares the steps of one run with what is believed, and looks where that is not good enough."""

    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout

    async def unmet(self, record: StepRecord, action: Action) -> str:
        """Return which condition of the step does not hold, as far as is known; looks where it must be seen to hold."""
        beliefs = self.state.beliefs
        if self.state.model == "reactive":
            await self._look([fact for fact in beliefs.needs(record.step) if self.lookout.can_see(fact)])
        careful = not action.tags.isdisjoint({"irreversible", "needs_observed"})
        unseen = beliefs.doubtful(record.step, careful=careful)
        if unseen:
            await self._look(unseen)
            unseen = beliefs.doubtful(record.step, careful=careful)
        reason = self._objection(record)
        if reason or not unseen:
            return reason
        return f"it rests on {unseen[0]}, which is {beliefs.note(unseen[0]).provenance.name.lower()}"

    def _objection(self, record: StepRecord) -> str:
        found = self.state.beliefs.simulation.objection(record.step)
        if found is None:
            return self._stated_objection(record) if record.plan.requires else ""
        return found.misfit or f"it requires {found.condition}, which does not hold"

    def _stated_objection(self, record: StepRecord) -> str:
        """Return what the step itself requires, beyond its action, and does not hold."""
        stated = self.state.reader.condition(record.plan.requires, CodePlace(f"step {record.id!r}"))
        lacking = [str(part) for part in conjuncts(stated) if not self.state.beliefs.is_true(part)]
        return f"the step requires {lacking[0]}, which does not hold" if lacking else ""

    def wanted(self, record: StepRecord) -> Expected:
        """Return what the step, which can be applied, should change, as far as its action and its plan say."""
        found = expected(self.state.beliefs, record.step)
        if not record.plan.expects:
            return found
        effects, _ = self.state.reader.expected(record.plan.expects, CodePlace(f"step {record.id!r}"))
        facts = {**found.facts, **dict(literal_of(each) for each in effects)}
        changed = [fact for fact, holds in facts.items() if self.state.beliefs.holds(fact) is not holds]
        return replace(found, facts=facts, changed=found.changed.union(changed))

    async def expected(self, record: StepRecord) -> Expected:
        """Return the same; items that are changed in place are looked at before."""
        wanted = self.wanted(record)
        blank = [item for item, version in wanted.items.items() if version is None and self.lookout.can_see(item)]
        if blank:
            await self._look(blank)
            wanted = self.wanted(record)
        return wanted

    async def _look(self, facts: list[Atom]) -> None:
        looked = await self.lookout.look(facts, self.state.beliefs)
        believe(looked, self.state.beliefs, self.emit, "observed")
