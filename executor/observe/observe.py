"""Ask observers about facts, and combine their answers.

`Lookout` asks about given facts; `Survey` looks around when the world is not as the plan supposes, as more than the
facts of the plan may have changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any, Final

from executor.events.events import Disagreement, Event, FactsSeen, Note, Provenance
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import Beliefs
from executor.plans.created_objects import Bindings
from executor.tools.containment import OutOfTime, await_within, call_contained, contain_errors, describe_error
from executor.tools.observers import Observer, Sighting
from executor.tools.world import World
from planner.lightweight import dataclass, field
from planner.model import OPEN, Atom

SHORTEST: Final = 0.01
"""Seconds until an observer is asked again whether an effect has come about; each time twice as long."""
LONGEST: Final = 1.0
"""No more than this."""


@dataclass(slots=True)
class LookResult:
    """What a round of looking told.

    `seen` says of each fact that was asked about whether it holds, if that is known; `notes` are all facts that became
    known, also those that nobody asked about. `conclusive` are the facts about which an observer spoke that is
    conclusive. `versions` are those of the items that were asked about.
    """

    seen: dict[Atom, bool] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    conclusive: set[Atom] = field(default_factory=set)
    versions: dict[Atom, Any] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)

    def with_more(self, other: LookResult) -> LookResult:
        """Return what this and another look told together."""
        return LookResult(
            self.seen | other.seen,
            [*self.notes, *(note for note in other.notes if note.fact not in self.seen)],
            self.conclusive | other.conclusive,
            self.versions | other.versions,
            [*self.disagreements, *other.disagreements],
        )


class Lookout:
    """Asks the observers of `world` about `objects`."""

    def __init__(self, world: World, objects: Bindings) -> None:
        self._world = world
        self._objects = objects
        self._strangers: dict[Atom, bool] = {}
        """What was seen of objects that the problem does not have, and whether it held at the latest look."""
        self._untold: list[Disagreement] = []
        """What of that nobody was told."""
        self._due: dict[Atom, float] = {}
        """When all observers must have seen what was done to a fact last, in the time of the loop."""

    def note_act(self, facts: Iterable[Atom]) -> None:
        """Note that something was just done that should change `facts`."""
        now = asyncio.get_running_loop().time()
        for fact in facts:
            settle = self.settle_within([fact])
            if settle:
                self._due[fact] = now + settle

    def can_see(self, fact: Atom) -> bool:
        """Return whether some observer looks at facts like `fact`."""
        return bool(self._world.observers) and self._objects.exists(fact) and bool(self._world.observers_of(fact))

    def watches(self, predicate: str) -> bool:
        """Return whether some observer looks at facts of `predicate`."""
        return self._world.is_watched(predicate)

    async def look(self, facts: Iterable[Atom], beliefs: Beliefs, over: Collection[Atom] = ()) -> LookResult:
        """Return what observers say about `facts`, after those that may be late have had their time.

        Whoever finds out the objects for the open arguments of a pattern in `over` is asked, too: there may be some
        that no fact of the problem is about.
        """
        facts, pause = list(facts), SHORTEST
        while True:
            looked = await self._look(facts, beliefs, over)
            now = asyncio.get_running_loop().time()
            late = [
                self._due[fact]
                for fact, holds in looked.seen.items()
                if self._due.get(fact, now) > now and holds is not beliefs.holds(fact)
            ]
            if not late:
                return self._add_untold(looked)
            await asyncio.sleep(min(pause, max(late) - now))
            pause = min(2 * pause, LONGEST)

    async def _look(self, facts: Iterable[Atom], beliefs: Beliefs, over: Collection[Atom] = ()) -> LookResult:
        """Return what observers say about `facts` and patterns; each look is made once, all at the same time.

        A function that observes several patterns is called once for all of them that give it the same arguments.
        """
        asked = {fact: self._world.observers_of(fact) for fact in facts}
        looks = dict.fromkeys([each for found in asked.values() for each in found])
        looks |= dict.fromkeys([each for pattern in over for each in self._world.observers_over(pattern)])
        calls = {look: (look[0].function, look[0].bind(look[1])) for look in looks}
        firsts = {call: look for look, call in reversed(calls.items())}
        given = dict(
            zip(firsts, await _gather_answers([self._ask_observer(*look) for look in firsts.values()]), strict=True)
        )
        answers = {look: self._read_sighting(*look, given[call]) for look, call in calls.items()}
        looked = LookResult()
        wanted = dict.fromkeys(asked)
        for (observer, look), answer in answers.items():
            if isinstance(answer, str):
                about = tuple([fact for fact, found in asked.items() if (observer, look) in found])
                looked.disagreements.append(Disagreement(about, answer))
                continue
            self._note_strangers(observer, answer, beliefs)
            wanted |= dict.fromkeys(answer.facts)
            if answer.others_false is not None:
                wanted |= dict.fromkeys(beliefs.simulation.world.state.matching(answer.others_false))
        found = _Sightings([(look[0], answer) for look, answer in answers.items() if isinstance(answer, Sighting)])
        for fact in wanted:
            _combine_sightings(fact, found.about(fact), looked)
        return looked

    def _note_strangers(self, observer: Observer, sighting: Sighting, beliefs: Beliefs) -> None:
        """Note what `observer` saw of objects that the problem does not have, where it is news."""
        gone = [fact for fact in self._strangers if fact not in sighting.facts and sighting.about(fact) is False]
        for fact, holds in {**sighting.facts, **dict.fromkeys(gone, False)}.items():
            why = beliefs.describe_stranger(fact)
            if why and self._strangers.get(fact) is not holds:
                self._strangers[fact] = holds
                reason = f"the observer {observer.name} told of {fact}: {why}"
                self._untold.append(
                    Disagreement((fact,), reason, (Note(fact, holds, Provenance.OBSERVED, observer.name),))
                )

    def _add_untold(self, looked: LookResult) -> LookResult:
        """Return `looked` with what nobody was told yet."""
        looked.disagreements += self._untold
        self._untold = []
        return looked

    async def confirm(
        self, facts: Sequence[Atom], is_missed: Callable[[LookResult], bool], beliefs: Beliefs, since: float
    ) -> LookResult:
        """Look at `facts` until nothing of what is waited for `is_missed`, or it is time to give up.

        That is when every observer's `settle_within`, counted from `since` (in the time of the loop), is over.
        """
        settle = self.settle_within(facts)
        pause = SHORTEST
        while True:
            now = asyncio.get_running_loop().time()
            looked = await self._look(facts, beliefs)
            if now >= since + settle or not is_missed(looked):
                return self._add_untold(looked)
            await asyncio.sleep(min(pause, since + settle - now))
            pause = min(2 * pause, LONGEST)

    def settle_within(self, facts: Iterable[Atom]) -> float:
        """Return after how many seconds all observers of `facts` must have seen what happened."""
        found = [observer.settle_within for fact in facts for observer, _ in self._world.observers_of(fact)]
        return max(found, default=0.0)

    def _rename_objects(self, sighting: Sighting) -> Sighting:
        """Return `sighting` with the names that plans have for objects."""
        facts = {self._objects.renamed(fact): holds for fact, holds in sighting.facts.items()}
        return Sighting(facts, sighting.others_false, sighting.version)

    async def _ask_observer(self, observer: Observer, look: Atom) -> Any:
        """Return what `observer` answers, or a `_Failure` that says why it does not."""
        asked = self._call_observer(observer, look)
        try:
            return await (asked if observer.timeout is None else await_within(asked, observer.timeout))
        except OutOfTime:
            return _Failure(f"did not answer within {observer.timeout} s")
        except Exception as error:  # noqa: BLE001 - whatever an observer raises, it has not seen anything
            return _Failure(f"failed: {describe_error(error)}")

    async def _call_observer(self, observer: Observer, look: Atom) -> Any:
        """Return what the function of `observer` returns, which gets objects of the classes that it asks for."""
        arguments = await self._world.entities.make_arguments(
            observer.function, dict(observer.bind(look)), self._objects
        )
        return await call_contained(observer.function, arguments)

    def _read_sighting(self, observer: Observer, look: Atom, answer: Any) -> Sighting | str:
        """Return what `answer` says of `look`, or why it says nothing."""
        if type(answer) is not _Failure:  # its class may be a property that raises
            try:
                with contain_errors():
                    return self._rename_objects(observer.read(look, answer))
            except Exception as error:  # noqa: BLE001 - reading asks values of the observer for their text
                answer = _Failure(f"failed: {describe_error(error)}")
        return f"the observer {observer.name} of {look} {answer.reason}"


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why an observer gave no answer."""

    reason: str


def adopt_look(
    looked: LookResult, beliefs: Beliefs, emit: Callable[[Event], None], cause: str, *, leaving: Collection[Atom] = ()
) -> bool:
    """Take in what was seen, but for the facts in `leaving`; return whether a fact is otherwise than was believed."""
    for each in looked.disagreements:
        emit(each)
    news = beliefs.select_news([note for note in looked.notes if note.fact not in leaving])
    changed = any(note.holds is not beliefs.holds(note.fact) for note in news)
    if news:
        emit(FactsSeen(tuple(news), cause))
    return changed


async def _gather_answers(awaitables: list[Awaitable[Any]]) -> list[Any]:
    if len(awaitables) == 1:
        return [await awaitables[0]]
    return list(await asyncio.gather(*awaitables))


class _Sightings:
    """Sightings by what they are about: facts that they name, and patterns of which no others hold."""

    def __init__(self, sightings: Iterable[tuple[Observer, Sighting]]) -> None:
        self._named: dict[Atom, list[tuple[Observer, Sighting]]] = {}
        self._covering: dict[str, dict[tuple[int, ...], dict[tuple[str, ...], list[tuple[Observer, Sighting]]]]] = {}
        for each in sightings:
            for fact in each[1].facts:
                self._named.setdefault(fact, []).append(each)
            pattern = each[1].others_false
            if pattern is not None:
                places = tuple([at for at, arg in enumerate(pattern.args) if arg != OPEN])
                bound = tuple([pattern.args[at] for at in places])
                by_places = self._covering.setdefault(pattern.predicate, {})
                by_places.setdefault(places, {}).setdefault(bound, []).append(each)

    def about(self, fact: Atom) -> Iterator[tuple[str, bool, Sighting, Observer]]:
        """Yield who says whether `fact` holds, and what."""
        for observer, sighting in self._named.get(fact, ()):
            yield observer.name, sighting.facts[fact], sighting, observer
        for places, by_bound in self._covering.get(fact.predicate, {}).items():
            for observer, sighting in by_bound.get(tuple([fact.args[at] for at in places]), ()):
                if fact not in sighting.facts:
                    yield observer.name, False, sighting, observer


def _combine_sightings(fact: Atom, sayings: Iterable[tuple[str, bool, Sighting, Observer]], looked: LookResult) -> None:
    """Note what `sayings` together say about `fact`."""
    said: dict[bool, list[str]] = {}
    version = None
    for name, holds, sighting, observer in sayings:
        said.setdefault(holds, []).append(name)
        if observer.conclusive:
            looked.conclusive.add(fact)
        version = sighting.version if sighting.version is not None else version
    if len(said) > 1:
        reason = f"{' and '.join(said[True])} saw {fact}, {' and '.join(said[False])} did not"
        looked.disagreements.append(Disagreement((fact,), reason))
        looked.notes.append(Note(fact, None, Provenance.UNKNOWN, reason))
        looked.conclusive.discard(fact)
        return
    for holds, names in said.items():
        looked.seen[fact] = holds
        conclusive = fact in looked.conclusive
        looked.notes.append(Note(fact, holds, Provenance.OBSERVED, names[0], version, conclusive))
        if version is not None:
            looked.versions[fact] = version


NEAR: Final = 200
"""Looks at what is like the facts of steps that failed."""
MOST_LOOKS: Final = 2000
"""Looks at all that can be seen."""


@dataclass(slots=True, eq=False)
class Survey:
    """Looks around on behalf of one run."""

    state: RunState
    lookout: Lookout
    emit: Callable[[Event], None]

    async def look_near(self, failed: Iterable[StepRecord]) -> bool:
        """Look at what the steps in `failed` need, and at facts like it; return whether anything was news.

        Derived facts of the goal are looked at, too: they may hold whatever has failed.
        """
        derived = self.state.beliefs.derived_of(self.state.goal)
        facts = dict.fromkeys([fact for fact in derived if self.lookout.can_see(fact)])
        for record in failed:
            needs = [
                fact for fact in self.state.beliefs.facts_of_precondition(record.step) if self.lookout.can_see(fact)
            ]
            facts.update(dict.fromkeys(needs))
            facts.update(dict.fromkeys([note.fact for note in record.facts if self.lookout.can_see(note.fact)]))
        like = (other for fact in list(facts) for other in self._find_similar(fact))
        facts.update(dict.fromkeys(islice(like, NEAR)))
        return await self._look(facts)

    async def look_everywhere(self) -> bool:
        """Look at all that can be seen, up to a limit; return whether anything was news."""
        facts = (fact for name in self.state.domain.predicates for fact in self._find_instances(name))
        return await self._look(islice(facts, MOST_LOOKS))

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
