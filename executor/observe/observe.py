"""Ask observers about facts, and combine their answers.

`Lookout` asks about given facts; `Survey` looks around when the world is not as the plan supposes, as more than the
facts of the plan may have changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final

from executor.events.events import ANSWER, Disagreement, Event, FactsSeen, Note, ObjectsFound, Provenance
from executor.events.fluent_values import FluentValue, item_of
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import Beliefs
from executor.observe.condition_facts import patterns_of
from executor.observe.discovery import place_facts
from executor.plans.created_objects import Bindings
from executor.tools.containment import (
    OutOfTime,
    await_within,
    call_contained,
    contain_errors,
    describe_error,
    log_failure,
)
from executor.tools.context import LookContext
from executor.tools.deps import Deps
from executor.tools.observers import Observer, Sighting
from executor.tools.step_policy import Rate
from executor.tools.world import World
from planner.language.declare.local_closed_world import listings_of
from planner.lightweight import dataclass, field, replace
from planner.model import OPEN, Atom

_LOG: Final = logging.getLogger(__name__)
SHORTEST: Final = 0.01
"""First pause between looks for an effect, in seconds; it doubles each time."""
LONGEST: Final = 1.0
"""Longest pause between looks, in seconds."""
TakeTurn = Callable[[Hashable, Rate], Awaitable[str]]
"""Waits until a look of a key may begin by its rate; returns why it may not, if so."""


@dataclass(slots=True)
class LookResult:
    """Result of a round of looks.

    `seen` maps facts to their observed values; `notes` are all observations, also of facts that were not asked about.
    `conclusive` are the facts that a conclusive observer decided, and `settled` those among them that one decided which
    states how late it may be. `versions` are the observed versions of items.
    """

    seen: dict[Atom, bool] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    conclusive: set[Atom] = field(default_factory=set)
    settled: set[Atom] = field(default_factory=set)
    versions: dict[Atom, Any] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Types of the objects that the problem lacks, by name."""
    unlisted: dict[Atom, str] = field(default_factory=dict)
    """Patterns that somebody looks for, and that no conclusive observer has told all facts of, each with the reason."""

    def is_doubted(self, pattern: Atom) -> bool:
        """Return whether an observer failed, or observers disagreed, about facts of `pattern` alone."""
        about = [each.facts for each in self.disagreements if not each.strangers]
        return any(all(pattern.matches(fact) for fact in facts) for facts in about)

    def with_more(self, other: LookResult) -> LookResult:
        """Return the union of this result and a later one."""
        return LookResult(
            self.seen | other.seen,
            [*self.notes, *(note for note in other.notes if note.fact not in self.seen)],
            self.conclusive | other.conclusive,
            self.settled | other.settled,
            self.versions | other.versions,
            [*self.disagreements, *other.disagreements],
            self.found | other.found,
            self.unlisted | other.unlisted,
        )


class Lookout:
    """Asks the observers of `world`, which use the real names of `objects`.

    `take_turn` waits until the rate of an observer lets it be asked (None: nobody limits them).
    """

    def __init__(self, world: World, objects: Bindings, take_turn: TakeTurn | None = None) -> None:
        self._world = world
        self._objects = objects
        self._take_turn = take_turn
        self.context: LookContext[Any] = LookContext("", Deps(None, world.make_deps).get)
        """The context of observers."""
        self._admitted: set[Any] = set()
        """Calls of observers whose turn has come, and that are still to be made."""
        self._listings = listings_of(world.model)
        self._strangers: dict[Atom, bool] = {}
        """Observed facts about objects that the problem lacks, with their latest values."""
        self._untold: list[Disagreement] = []
        """Disagreements about such facts that no result has reported yet."""
        self._found: dict[str, tuple[str, ...]] = {}
        """New objects that no result has reported yet: also those that only an early look has named."""
        self._due: dict[Atom, float] = {}
        """Time (of the event loop) by which all observers must have seen the latest act on a fact."""
        self._kept: dict[Any, tuple[float, Any]] = {}
        """Answers that count for a time, by call, with when they were given: none from before an act on their facts."""
        self._acts = 0
        """Number of acts that were noted."""

    def note_act(self, facts: Iterable[Atom]) -> None:
        """Note that an act just took place that should change `facts`."""
        now = asyncio.get_running_loop().time()
        self.forget(facts)
        for fact in facts:
            settle = self.settle_within([fact])
            if settle:
                self._due[fact] = now + settle

    def forget(self, facts: Iterable[Atom]) -> None:
        """Forget the answers of all functions that observe one of `facts`: the next look is made anew."""
        self._acts += 1
        if self._kept:
            functions = {observer.function for fact in facts for observer, _ in self._world.observers_of(fact)}
            self._kept = {call: each for call, each in self._kept.items() if call[0] not in functions}

    @property
    def has_observers(self) -> bool:
        """Whether anybody observes anything."""
        return bool(self._world.observers)

    def can_see(self, fact: Atom) -> bool:
        """Return whether some observer can decide `fact`."""
        return bool(self._world.observers) and self._objects.exists(fact) and bool(self._world.observers_of(fact))

    def can_find(self, pattern: Atom) -> bool:
        """Return whether some observer finds out all facts of `pattern`."""
        return bool(self._world.observers_over(pattern))

    def watches(self, predicate: str) -> bool:
        """Return whether some observer looks at facts of `predicate`."""
        return self._world.is_watched(predicate)

    async def look(self, facts: Iterable[Atom], beliefs: Beliefs, over: Collection[Atom] = ()) -> LookResult:
        """Ask observers about `facts`, and wait for observers that may be late after an act.

        Observers that find all facts of a pattern in `over` are asked, too: they may find objects that the problem
        lacks.
        """
        facts = list(facts)
        first = pause = self._find_first_pause(facts)
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
            self.forget(facts)
            await asyncio.sleep(min(pause, max(late) - now))
            pause = min(2 * pause, max(first, LONGEST))

    async def _look(self, facts: Iterable[Atom], beliefs: Beliefs, over: Collection[Atom] = ()) -> LookResult:
        """Ask observers about `facts` and the patterns `over`; make each look once, all concurrently.

        A function that observes several patterns is called once for all of them with the same arguments.
        """
        asked = {fact: self._world.observers_of(fact) for fact in facts}
        looks = dict.fromkeys([each for found in asked.values() for each in found])
        looks |= dict.fromkeys([each for pattern in over for each in self._world.observers_over(pattern)])
        calls = {look: (look[0].function, look[0].bind(look[1])) for look in looks}
        firsts = {call: look for look, call in reversed(calls.items())}
        given = await self._gather_or_recall(firsts)
        answers = {look: self._read_sighting(*look, given[call]) for look, call in calls.items()}
        for (observer, look), answer in answers.items():
            _LOG.debug("%s looked at %s: %s", observer.name, look, answer)
        looked = LookResult()
        wanted = dict.fromkeys(asked)
        for (observer, look), answer in answers.items():
            if isinstance(answer, str):
                about = tuple([fact for fact, found in asked.items() if (observer, look) in found])
                looked.disagreements.append(Disagreement(about, answer))
                continue
            found = beliefs.find_new_objects([fact for fact, holds in answer.facts.items() if holds])
            self._found |= found
            self._note_strangers(observer, answer, beliefs, found)
            wanted |= dict.fromkeys(answer.facts)
            if answer.others_false is not None:
                wanted |= dict.fromkeys(beliefs.matching(answer.others_false))
        sightings = _Sightings([(look[0], answer) for look, answer in answers.items() if isinstance(answer, Sighting)])
        for fact in wanted:
            _combine_sightings(fact, sightings.about(fact), looked)
        _drop_other_values(looked)
        for pattern in over:
            told = [(look[0], answers[look]) for look in self._world.observers_over(pattern)]
            if told and not any(observer.conclusive and _is_listing(answer) for observer, answer in told):
                looked.unlisted[pattern] = next((answer for _, answer in told if isinstance(answer, str)), "")
        if self._listings:
            self._note_listed([(look[0], each) for look, each in answers.items() if isinstance(each, Sighting)], looked)
        return looked

    async def _gather_or_recall(self, firsts: Mapping[Any, tuple[Observer, Atom]]) -> dict[Any, Any]:
        """Return the answers of looks by call, of which some are young enough to count still."""
        now, acts = asyncio.get_running_loop().time(), self._acts
        found = {call: self._kept[call][1] for call, (observer, _) in firsts.items() if self._counts(call, observer)}
        looks = {call: look for call, look in firsts.items() if call not in found}
        found |= zip(looks, await self.gather_answers(list(looks.values())), strict=True)
        if acts == self._acts:
            self._kept |= {call: (now, found[call]) for call, look in looks.items() if look[0].max_age}
        return found

    def _counts(self, call: Any, observer: Observer) -> bool:
        """Return whether an earlier answer to `call` counts still."""
        now = asyncio.get_running_loop().time()
        return call in self._kept and now - self._kept[call][0] <= (observer.max_age or 0.0)

    async def admit(self, facts: Iterable[Atom]) -> None:
        """Wait until all observers of `facts` may be asked by their rates: the next look at `facts` does not wait."""
        looks = {
            (observer.function, observer.bind(look)): (observer, look)
            for fact in facts
            if self.can_see(fact)
            for observer, look in self._world.observers_of(fact)
            if observer.rate is not None
        }
        looks = {call: look for call, look in looks.items() if not self._counts(call, look[0])}
        refused = await asyncio.gather(*[self._wait_for_turn(*look) for look in looks.values()])
        self._admitted |= {call for call, reason in zip(looks, refused, strict=True) if not reason}

    async def _wait_for_turn(self, observer: Observer, look: Atom) -> str:
        """Wait until the rate of `observer` lets it be asked; return why it may not, if so."""
        call = observer.function, observer.bind(look)
        if observer.rate is None or self._take_turn is None or call in self._admitted:
            self._admitted.discard(call)
            return ""
        return await self._take_turn(self.name_turn(observer, look), observer.rate)

    def name_turn(self, observer: Observer, look: Atom) -> tuple[str, ...]:
        """Return the key of what shares the rate of `observer`: all looks of its function, or all with like values."""
        alike = [str(each.pattern) for each in self._world.observers if each.function is observer.function]
        values = dict(observer.bind(look))
        apart = [] if observer.rate is None else [self._objects.real_name(values[name]) for name in observer.rate.by]
        return "look", self._world.model.name, *alike, *apart

    def _find_first_pause(self, facts: Iterable[Atom]) -> float:
        """Return the first pause between looks at `facts`, in seconds: as long as the rates of their observers ask."""
        rates = [observer.rate for fact in facts for observer, _ in self._world.observers_of(fact)]
        return max([SHORTEST, *[each.seconds / each.most for each in rates if each is not None]])

    def _note_listed(self, sightings: Iterable[tuple[Observer, Sighting]], looked: LookResult) -> None:
        """Note that all items of a pattern are known which a conclusive observer has found out."""
        for observer, sighting in sightings:
            pattern = sighting.others_false
            if not observer.conclusive or pattern is None:
                continue
            for listing in self._listings:
                fact = listing.fact_of(pattern)
                if fact is not None and listing.is_within(pattern) and OPEN not in fact.args:
                    looked.seen[fact] = True
                    looked.notes.append(Note(fact, True, Provenance.OBSERVED, observer.name, None, conclusive=True))

    def _note_strangers(
        self, observer: Observer, sighting: Sighting, beliefs: Beliefs, found: Mapping[str, tuple[str, ...]]
    ) -> None:
        """Record news from `observer` about objects that cannot join: all that the problem lacks but `found`."""
        gone = [fact for fact in self._strangers if fact not in sighting.facts and sighting.about(fact) is False]
        for fact, holds in {**sighting.facts, **dict.fromkeys(gone, False)}.items():
            why = "" if not found.keys().isdisjoint(fact.args) else beliefs.describe_stranger(fact)
            if why and self._strangers.get(fact) is not holds:
                self._strangers[fact] = holds
                reason = f"the observer {observer.name} told of {fact}: {why}"
                self._untold.append(
                    Disagreement((fact,), reason, (Note(fact, holds, Provenance.OBSERVED, observer.name),))
                )

    def _add_untold(self, looked: LookResult) -> LookResult:
        """Add the disagreements and new objects that no result has reported yet to `looked`."""
        looked.disagreements += self._untold
        looked.found |= self._found
        self._untold, self._found = [], {}
        return looked

    async def list_matches(self, patterns: Collection[Atom]) -> dict[Atom, tuple[list[Atom], bool]]:
        """Return the facts of those `patterns` that a conclusive observer lists, and whether it states how late it is.

        The run does not hear of them: they are no news for its plan. What observers disagree about is left out.
        """
        listed = dict[Atom, tuple[list[Atom], bool]]()
        for pattern in dict.fromkeys(patterns):
            looks = [each for each in self._world.observers_over(pattern) if each[0].conclusive]
            answers = zip(looks, await self.gather_answers(looks), strict=True)
            sightings = [self._read_sighting(*look, answer) for look, answer in answers]
            found = [
                [fact for fact, holds in each.facts.items() if holds and pattern.matches(fact)]
                for each in sightings
                if isinstance(each, Sighting) and each.others_false is not None
            ]
            if found and len(found) == len(looks) and all({*each} == {*found[0]} for each in found):
                listed[pattern] = found[0], any(observer.settles_doubt for observer, _ in looks)
        return listed

    async def confirm(
        self, facts: Sequence[Atom], is_missed: Callable[[LookResult], bool], beliefs: Beliefs, since: float
    ) -> LookResult:
        """Look at `facts` until no expected effect `is_missed`, or until the `settle_within` of every observer is over.

        `settle_within` counts from `since`, in the time of the event loop.
        """
        settle = self.settle_within(facts)
        first = pause = self._find_first_pause(facts)
        while True:
            now = asyncio.get_running_loop().time()
            looked = await self._look(facts, beliefs)
            if now >= since + settle or not is_missed(looked):
                return self._add_untold(looked)
            self.forget(facts)
            await asyncio.sleep(min(pause, since + settle - now))
            pause = min(2 * pause, max(first, LONGEST))

    def settle_within(self, facts: Iterable[Atom]) -> float:
        """Return the longest `settle_within` of the observers of `facts`, in seconds."""
        found = [observer.settle_within or 0.0 for fact in facts for observer, _ in self._world.observers_of(fact)]
        return max(found, default=0.0)

    async def gather_answers(self, looks: Sequence[tuple[Observer, Atom]]) -> list[Any]:
        """Ask the observers of all `looks` concurrently, and return their answers in this order."""
        if len(looks) == 1:
            return [await self.ask_observer(*looks[0])]
        return list(await asyncio.gather(*[self.ask_observer(*look) for look in looks]))

    async def ask_observer(self, observer: Observer, look: Atom) -> Any:
        """Return the answer of `observer`, or a `Failure` with the reason why there is none."""
        refused = await self._wait_for_turn(observer, look)
        if refused:
            return Failure(f"was not asked: {refused}")
        asked = self._call_observer(observer, look)
        try:
            return await (asked if observer.timeout is None else await_within(asked, observer.timeout))
        except OutOfTime:
            return Failure(f"did not answer within {observer.timeout} s")
        except Exception as error:  # noqa: BLE001 - whatever an observer raises, it has not seen anything
            if not self._world.is_simulated:
                log_failure(_LOG, "the observer %s of %s has raised", observer.name, look, error=error)
            return Failure(f"failed: {describe_error(error)}")

    async def _call_observer(self, observer: Observer, look: Atom) -> Any:
        """Call the function of `observer` with objects of the classes in its annotations."""
        arguments = await self._world.entities.make_arguments(
            observer.function, dict(observer.bind(look)), self._objects
        )
        if observer.context_as:
            arguments = {**arguments, observer.context_as: self.context}
        return await call_contained(observer.function, arguments)

    def _read_sighting(self, observer: Observer, look: Atom, answer: Any) -> Sighting | str:
        """Convert `answer` to a sighting with the plan's names of objects, or return the reason why it is none."""
        if type(answer) is not Failure:  # its class may be a property that raises
            try:
                with contain_errors():
                    found = observer.read(look, answer, self._objects.plan_name, self._world.model)
                    objects = self._objects
                    facts = place_facts(found.facts, self._world.model, objects.declared_types, objects.name_apart)
                    return replace(found, facts=facts)
            except Exception as error:  # noqa: BLE001 - reading asks values of the observer for their text
                answer = Failure(f"failed: {describe_error(error)}")
        return f"the observer {observer.name} of {look} {answer.reason}"


def _is_listing(answer: Sighting | str) -> bool:
    """Return whether the answer of an observer tells all facts that match the pattern of its look."""
    return isinstance(answer, Sighting) and answer.others_false is not None


@dataclass(frozen=True, slots=True)
class Failure:
    """An observer that gave no answer, with the reason."""

    reason: str


def adopt_look(
    looked: LookResult,
    beliefs: Beliefs,
    emit: Callable[[Event], None],
    cause: str,
    *,
    leaving: Collection[Atom] = (),
    confirming: Collection[Atom] = (),
) -> bool:
    """Emit what was observed, without the facts in `leaving`; return whether a believed value changes.

    Of the facts `confirming`, it is emitted too that they are as was only stated.
    """
    if looked.found:
        emit(ObjectsFound(looked.found, cause))
    for each in looked.disagreements:
        emit(each)
    seen = [note for note in looked.notes if note.fact not in leaving and not _is_outranked(note, looked, beliefs)]
    news = beliefs.select_news(seen)
    told = {note.fact for note in news}
    stated = {fact for fact in confirming if fact not in told and not beliefs.is_noted(fact)}
    news += [note for note in looked.notes if note.fact in stated and not beliefs.describe_stranger(note.fact)]
    changed = any(note.holds is not beliefs.holds(note.fact) for note in news)
    if news:
        emit(FactsSeen(tuple(news), cause))
    return changed


def _is_outranked(note: Note, looked: LookResult, beliefs: Beliefs) -> bool:
    """Return whether a person has said that a fact holds, and an observer denies it that is not conclusive."""
    return note.holds is False and note.fact not in looked.conclusive and beliefs.note(note.fact).source == ANSWER


class _Sightings:
    """Sightings indexed by the facts that they name, and by the patterns whose other facts they exclude."""

    def __init__(self, sightings: Iterable[tuple[Observer, Sighting]]) -> None:
        self._named: dict[Atom, list[tuple[Observer, Sighting]]] = {}
        self._said: set[tuple[int, Atom]] = set()
        self._covering: dict[str, dict[tuple[int, ...], dict[tuple[str, ...], list[tuple[Observer, Sighting]]]]] = {}
        for each in sightings:
            for item in dict.fromkeys(map(item_of, each[1].facts)):
                self._named.setdefault(item, []).append(each)
                self._said.add((id(each[1]), item))
            pattern = each[1].others_false
            if pattern is not None:
                places = tuple([at for at, arg in enumerate(pattern.args) if arg != OPEN])
                bound = tuple([pattern.args[at] for at in places])
                by_places = self._covering.setdefault(pattern.predicate, {})
                by_places.setdefault(places, {}).setdefault(bound, []).append(each)

    def about(self, fact: Atom) -> Iterator[tuple[str, bool, Sighting, Observer]]:
        """Yield the sightings that decide `fact`: name of the observer, value, sighting, and observer."""
        item = item_of(fact)
        for observer, sighting in self._named.get(item, ()):
            yield observer.name, bool(sighting.about(fact)), sighting, observer
        for places, by_bound in self._covering.get(fact.predicate, {}).items():
            for observer, sighting in by_bound.get(tuple([fact.args[at] for at in places]), ()):
                if (id(sighting), item) not in self._said:
                    yield observer.name, bool(sighting.about(fact)), sighting, observer


def _combine_sightings(fact: Atom, sayings: Iterable[tuple[str, bool, Sighting, Observer]], looked: LookResult) -> None:
    """Combine the sightings of `fact` in `looked`: contradicting ones make it unknown."""
    sayings = list(sayings)
    sure = [each for each in sayings if each[3].conclusive]
    said: dict[bool, list[str]] = {}
    version = None
    is_near = isinstance(fact, FluentValue) and fact.value is not None
    for name, holds, sighting, observer in sure or sayings:  # a conclusive observer outranks all others
        said.setdefault(holds, []).append(name)
        is_near = is_near and fact not in sighting.facts
        if observer.conclusive:
            looked.conclusive.add(fact)
        if observer.settles_doubt:
            looked.settled.add(fact)
        version = sighting.version if sighting.version is not None else version
    if len(said) > 1:
        reason = f"{' and '.join(said[True])} saw {fact}, {' and '.join(said[False])} did not"
        looked.disagreements.append(Disagreement((fact,), reason))
        looked.notes.append(Note(fact, None, Provenance.UNKNOWN, reason))
        looked.conclusive.discard(fact)
        looked.settled.discard(fact)
        return
    for holds, names in said.items():
        looked.seen[fact] = holds
        if holds and is_near:
            continue  # another value was seen, which counts as this one
        conclusive = fact in (looked.conclusive if holds else looked.settled)
        looked.notes.append(Note(fact, holds, Provenance.OBSERVED, names[0], version, conclusive))
        if version is not None:
            looked.versions[fact] = version


def _drop_other_values(looked: LookResult) -> None:
    """Drop notes that a fluent does not have some value where another one was seen."""
    known = {item_of(note.fact) for note in looked.notes if note.holds and isinstance(note.fact, FluentValue)}
    if known:
        looked.notes = [note for note in looked.notes if note.holds is not False or item_of(note.fact) not in known]


NEAR: Final = 200
"""Most looks at facts similar to those of failed steps."""
MOST_LOOKS: Final = 2000
"""Most looks when looking everywhere."""


@dataclass(slots=True, eq=False)
class Survey:
    """Looks for unexpected changes of the world, for one run."""

    state: RunState
    lookout: Lookout
    emit: Callable[[Event], None]

    async def look_near(self, failed: Iterable[StepRecord]) -> bool:
        """Look at preconditions and effects of the steps `failed`, at similar facts, and at derived facts of the goal.

        Where a precondition is about all objects, observers may find more of them. Return whether a belief changed.
        """
        failed, domain = list(failed), self.state.problem.domain
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
        needed = [self.state.beliefs.precondition_of(record.step) for record in failed]
        return await self._look(facts, [pattern for each in needed for pattern in patterns_of(each, domain)])

    async def look_everywhere(self, among: Collection[str] | None = None) -> bool:
        """Look at what `list_everywhere` returns; return whether a belief changed."""
        return await self._look(*self.list_everywhere(among))

    def list_everywhere(self, among: Collection[str] | None = None) -> tuple[list[Atom], list[Atom]]:
        """Return the observable facts, up to a limit, and the patterns of which observers may list objects.

        With `among`, return only numbers, and facts and patterns of these predicates.
        """
        known = self.state.domain.predicates
        predicates = {name: each for name, each in known.items() if among is None or name in among}
        numbers = [fact for fact in self.state.beliefs.list_values() if self.lookout.can_see(fact)]
        facts = (*numbers, *(fact for name in predicates for fact in self._find_instances(name)))
        over = [Atom(name, (OPEN,) * len(each.parameters)) for name, each in predicates.items() if each.parameters]
        return list(islice(facts, MOST_LOOKS)), over

    async def _look(self, facts: Iterable[Atom], over: Collection[Atom]) -> bool:
        beliefs = self.state.beliefs
        looked = await self.lookout.look(facts, beliefs, over)
        return adopt_look(looked, beliefs, self.emit, "looking around")

    def _find_similar(self, fact: Atom) -> Iterator[Atom]:
        """Yield observable facts of its predicate that share an argument with `fact`; all if it has fewer than two."""
        if isinstance(fact, FluentValue):
            return
        for other in self._find_instances(fact.predicate):
            if len(fact.args) < 2 or not set(fact.args).isdisjoint(other.args):
                yield other

    def _find_instances(self, predicate: str) -> Iterator[Atom]:
        """Yield the observable facts of `predicate`."""
        if not self.lookout.watches(predicate):
            return
        universe = self.state.beliefs.simulation.rules.universe
        parameters = self.state.domain.predicates[predicate].parameters
        for row in product(*(tuple(universe.of_types(each.types)) for each in parameters)):
            fact = Atom(predicate, row)
            if self.lookout.can_see(fact):
                yield fact
