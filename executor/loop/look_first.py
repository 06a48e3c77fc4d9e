"""Look before the first step: at what the plan rests on that was only stated, and at what irreversible steps are for.

What differs is believed, and the plan is made anew. Each look is made once; before a step, only what is still unknown,
stale or stated is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from executor.events.events import Event, StepStatus
from executor.events.run_state import RunState
from executor.loop.effects import EffectFinder
from executor.observe.observe import Lookout, Survey, adopt_look
from planner.lightweight import dataclass, field
from planner.model import Atom, DomainModel, Formula
from planner.model.formulas import atoms_in

Look = Literal["plan", "goal", "never"]
"""What is looked at first: what the plan rests on, all that is relevant to the goal, or nothing."""
DIFFERS: Final = "the world is not as was believed"
MOST_NAMED: Final = 5
"""Most facts that a reason names."""


@dataclass(slots=True, eq=False)
class FirstLook:
    """Looks for one run, as `look` says."""

    state: RunState
    lookout: Lookout
    emit: Callable[[Event], None]
    look: Look = "plan"
    _finder: EffectFinder = field(init=False)

    def __post_init__(self) -> None:
        self._finder = EffectFinder(self.state)

    async def take(self) -> str:
        """Look, and return what differs from what was believed; an empty text if nothing does."""
        if self.look == "never" or not self.lookout.has_observers or not self.state.pending():
            return ""
        beliefs, lookout = self.state.beliefs, self.lookout
        needed = dict.fromkeys([*self._list_stated(), *self._list_effects()])
        before = {fact: beliefs.holds(fact) for fact in needed if lookout.can_see(fact)}
        facts, over = dict.fromkeys(before), list[Atom]()
        if self.look == "goal":
            relevant = find_relevant_predicates(self.state.domain, self.state.goal)
            more, over = Survey(self.state, lookout, self.emit).list_everywhere(relevant)
            facts |= dict.fromkeys(more)
        if not facts and not over:
            return ""
        looked = await lookout.look(facts, beliefs, over)
        if not adopt_look(looked, beliefs, self.emit, "looked before the first step", confirming=before):
            return ""
        changed = [(fact, holds) for fact, holds in before.items() if beliefs.holds(fact) is not holds]
        named = [str(fact) if holds else f"not {fact}" for fact, holds in changed[:MOST_NAMED]]
        return f"{DIFFERS} ({', '.join(named)})" if named else DIFFERS

    def _list_stated(self) -> Iterable[Atom]:
        """Yield the facts that the plan needs and none of its steps brings before, and that were only stated.

        What steps bring that another process has begun is looked at when they end.
        """
        beliefs = self.state.beliefs
        begun = self.state.with_status(StepStatus.RUNNING, StepStatus.WAITING, StepStatus.IN_DOUBT)
        brought = {fact for record in begun for fact in self._finder.find_declared(record.step)}
        for record in self.state.pending():
            for fact in beliefs.facts_of_precondition(record.step):
                if fact not in brought and not beliefs.is_noted(fact):
                    yield fact
            brought.update(self._finder.find_declared(record.step))

    def _list_effects(self) -> Iterable[Atom]:
        """Yield the facts that irreversible steps are for."""
        for record in self.state.pending():
            if self.state.is_irreversible(record):
                yield from self._finder.find_effect(record)


def find_relevant_predicates(domain: DomainModel, goal: Formula) -> frozenset[str]:
    """Return the predicates on which a plan for `goal` may depend: those of actions that provide relevant ones, too."""
    needs = [(axiom.predicate, {each.predicate for each in atoms_in(axiom.condition)}) for axiom in domain.axioms]
    found = set[str]({each.predicate for each in atoms_in(goal)})
    while True:
        more = set(found)
        for name, below in needs:
            more |= below if name in found else set()
        for action in domain.actions.values():
            effects = [literal for each in action.effects for literal in each.provides]
            if found & {each.predicate for literal in effects for each in atoms_in(literal)}:
                more |= {each.predicate for each in atoms_in(action.requires)}
        if more == found:
            return frozenset(found)
        found = more
