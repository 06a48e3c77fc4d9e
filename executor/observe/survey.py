"""Looking around: when the world is not as a plan supposes, more than the plan speaks of may be otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from executor.events.events import Event
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.observe import Lookout, adopt_look
from planner.model import Atom

NEAR: Final = 200
"""Looks at what is like the facts of steps that failed."""
MOST: Final = 2000
"""Looks at all that can be seen."""


@dataclass(slots=True, eq=False)
class Survey:
    """Looks around on behalf of one run."""

    state: RunState
    lookout: Lookout
    emit: Callable[[Event], None]

    async def near(self, failed: Iterable[StepRecord]) -> bool:
        """Look at what the steps in `failed` need, and at facts like it; return whether anything was news.

        Derived facts of the goal are looked at, too: they may hold whatever has failed.
        """
        derived = self.state.beliefs.derived_of(self.state.goal)
        facts = dict.fromkeys([fact for fact in derived if self.lookout.can_see(fact)])
        for record in failed:
            needs = [fact for fact in self.state.beliefs.needs(record.step) if self.lookout.can_see(fact)]
            facts.update(dict.fromkeys(needs))
            facts.update(dict.fromkeys([note.fact for note in record.facts if self.lookout.can_see(note.fact)]))
        like = (other for fact in list(facts) for other in self._find_similar(fact))
        facts.update(dict.fromkeys(islice(like, NEAR)))
        return await self._look(facts)

    async def look_everywhere(self) -> bool:
        """Look at all that can be seen, up to a limit; return whether anything was news."""
        facts = (fact for name in self.state.domain.predicates for fact in self._find_instances(name))
        return await self._look(islice(facts, MOST))

    async def _look(self, facts: Iterable[Atom]) -> bool:
        beliefs = self.state.beliefs
        looked = await self.lookout.look(facts, beliefs)
        return adopt_look(looked, beliefs, self.emit, "looking around")

    def _find_similar(self, fact: Atom) -> Iterator[Atom]:
        """Yield the facts of the same predicate that share an argument with `fact`, or that have none to share."""
        for other in self._find_instances(fact.predicate):
            if len(fact.args) < 2 or not set(fact.args).isdisjoint(other.args):
                yield other

    def _find_instances(self, predicate: str) -> Iterator[Atom]:
        """Yield the facts of `predicate` that somebody can look at."""
        if not self.lookout.watches(predicate):
            return
        universe = self.state.beliefs.simulation.rules.universe
        parameters = self.state.domain.predicates[predicate].parameters
        for row in product(*(tuple(universe.of_types(each.types)) for each in parameters)):
            fact = Atom(predicate, row)
            if self.lookout.can_see(fact):
                yield fact
