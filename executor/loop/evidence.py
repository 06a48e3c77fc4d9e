"""Look whether an irreversible step was done, and judge what is seen.

Facts show it by themselves. What a step changes in place, and what it creates, shows only in comparison with what there
was before: its *traces* are recorded in its flight right before it begins, so that every run and process can compare.
An item has another version then; of the objects that match what the step brings about a created one, one is new.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from executor.events import events
from executor.events.fluent_values import FluentValue
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.ledger.records import Entry, Flight, Outcome
from executor.ledger.rulings import Sight
from executor.loop.aftermath import STILL_AT_WORK, object_to_result
from executor.loop.effects import EffectFinder, Facts
from executor.loop.flights import Flights
from executor.loop.step_identity import Brought
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.tools.clock import Clock
from executor.tools.json_data import dump_json, load_json
from executor.tools.results import ActionResult
from planner.lightweight import dataclass, field, replace
from planner.model import Atom
from planner.model.object_names import object_name
from planner.plan import Step

MOST_MATCHES: Final = 10_000
"""Most matches of an open pattern that a flight records; where there are more, people say what a step has created."""
LOOKED: Final = "looked before an irreversible step"


@dataclass(frozen=True, slots=True)
class FurtherEffects:
    """What a step brings about besides its effect, which is what the plan takes from it.

    If the step was not done, all `certain` facts are missing. A single one of the `possible` facts shows that it may
    have been done: values of numbers, which have other writers, too, and effects under conditions that may have held.
    """

    certain: Facts = field(default_factory=dict)
    possible: Facts = field(default_factory=dict)


NOTHING: Final = FurtherEffects()
Traces = Mapping[Atom, Any]
"""What conclusive observers see now: the version of each item that a step changes in place, and for each fact about an
object that it is to create, the facts that match its open pattern."""


@dataclass(frozen=True, slots=True)
class View:
    """What is seen of the `effect` of a step, with the traces that its flight has recorded, and of its `traces` now.

    If the step was done, `created` are the names of the objects that it has created, by parameter.
    """

    looked: LookResult
    effect: Facts
    traces: Traces
    sight: Sight = Sight.UNKNOWN
    created: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Evidence:
    """Looks at the effects of the irreversible steps of one run; `stopped` is set when no more steps may begin."""

    state: RunState
    emit: Callable[[events.Event], None]
    lookout: Lookout
    clock: Clock
    stopped: asyncio.Event
    flights: Flights
    finder: EffectFinder = field(init=False)
    candidates: dict[str, list[dict[str, str]]] = field(init=False, default_factory=dict)
    """The objects that steps in doubt may have created, by step: each time the names by parameter."""

    def __post_init__(self) -> None:
        self.finder = self.flights.finder

    async def look(
        self, record: StepRecord, flight: Flight | None = None, further: FurtherEffects = NOTHING, *, done: float = 0.0
    ) -> View:
        """Look at the effect of a step; with a `flight`, also at its traces.

        The effect is missing only if the `further` effects of the step are missing, too. While the flight is in
        doubt, and after the step was `done` at a time, observers first have their time. That all is missing counts for
        nothing where they had not, or where the handler may still be at work. That a derived fact is missing tells
        nothing unless all else is seen from which it follows.
        """
        effect, step = self.finder.find_visible_effect(record, self.lookout.can_see), record.step
        items, patterns = (self.finder.list_items(step), self.finder.list_open_patterns(step)) if flight else ([], {})
        outcomes = [each for each in self.finder.list_outcomes(step) if not self._is_believed(each)] if flight else []
        others = [*further.certain, *further.possible, *items, *(fact for each in outcomes for fact in each)]
        others += self.finder.list_causes(effect)
        facts = dict.fromkeys([*effect, *others])
        visible = [fact for fact in facts if self.lookout.can_see(fact)]
        since = done if flight is None or not flight.doubt else max(flight.since, flight.until, done)
        looked, is_early = await self._look_when_settled(visible, patterns.values(), since)
        self._drop_unexplained(step, effect, looked)
        if flight is None:
            view = _judge_further(View(looked, effect, {}, judge_sight(effect, looked, in_doubt=False)), further)
            return replace(view, sight=Sight.UNKNOWN) if is_early and view.sight is Sight.MISSING else view
        view = View(looked, effect, await self._look_at_traces(looked, items, patterns))
        view = _judge_outcomes(await self._compare(record, flight, view), outcomes, in_doubt=bool(flight.doubt))
        view = _judge_further(view, further, in_doubt=bool(flight.doubt))
        is_open = is_early or flight.doubt.endswith(STILL_AT_WORK)
        return replace(view, sight=Sight.UNKNOWN) if is_open and view.sight is Sight.MISSING else view

    def find_further(
        self, record: StepRecord, flight: Flight | None, entries: Sequence[Entry] = (), told: Brought | None = None
    ) -> FurtherEffects:
        """Return the further effects of a step that is in doubt, or that was done before by its `entries`.

        What held when this run began is no evidence of its own attempt. `told` is what `flight` brings, if it was read.
        """
        if flight is None and not any(each.outcome is Outcome.DONE for each in entries):
            return NOTHING
        effect, declared = self.finder.find_effect(record), self.finder.find_declared(record.step)
        conditional = self.finder.list_branches(record.step)
        if flight is not None and flight.run == self.state.run:
            declared, conditional = self.finder.without_held(declared), self.finder.without_held(conditional)
        elif flight is not None and flight.brings:
            own = {self.state.objects.real_fact(each): each for each in declared}
            facts = (told or Brought.read(flight.brings)).facts
            declared = {own.get(each, each): holds for each, holds in facts.items()}
        facts = {fact: holds for fact, holds in declared.items() if fact not in effect}
        certain = {fact: holds for fact, holds in facts.items() if not isinstance(fact, FluentValue)}
        possible = {fact: holds for fact, holds in {**facts, **conditional}.items() if fact not in {*effect, *certain}}
        return FurtherEffects(certain, possible)

    async def _look_when_settled(
        self, facts: Sequence[Atom], patterns: Iterable[Atom], since: float
    ) -> tuple[LookResult, bool]:
        """Look at `facts` when observers have had their time `since` then; return whether that was cut short."""
        settle = self.lookout.settle_within([*facts, *patterns]) if since else 0.0
        left = min(since + settle - self.clock.time(), settle)
        is_early = left > 0 and await self._is_stopped_within(left)
        self.lookout.forget(facts)  # an answer from before somebody else has acted counts for nothing here
        looked = await self.lookout.look(facts, self.state.beliefs) if facts else LookResult()
        adopt_look(looked, self.state.beliefs, self.emit, LOOKED)
        return looked, is_early

    def _drop_unexplained(self, step: Step, effect: Facts, looked: LookResult) -> None:
        """Drop from `looked` the derived facts of an `effect` that may be missing for another reason than `step`."""
        sure = {fact: holds for fact, holds in looked.seen.items() if fact in looked.conclusive}
        derived = [each for each in effect if each.predicate in self.state.problem.domain.derived]
        for each in derived:
            if looked.seen.get(each) is False and not self.finder.is_explained_by(each, step, sure):
                del looked.seen[each]

    async def look_at(self, facts: Facts, flight: Flight | None, done: float) -> Sight:
        """Look at `facts` that another step brings about, in doubt if its `flight` is, or `done` at a time."""
        since = done if flight is None else max(flight.since, flight.until, done)
        told = {fact: holds for fact, holds in facts.items() if not isinstance(fact, FluentValue)}
        visible = [each for each in told if self.state.objects.exists(each) and self.lookout.can_see(each)]
        looked, is_early = await self._look_when_settled(visible, (), since)
        sight = judge_sight(told, looked, in_doubt=flight is not None)
        return Sight.UNKNOWN if is_early and sight is Sight.MISSING else sight

    def _is_believed(self, facts: Facts) -> bool:
        return all(self.state.beliefs.holds(fact) is holds for fact, holds in facts.items())

    async def _is_stopped_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), seconds)
        return self.stopped.is_set()

    async def _look_at_traces(
        self, looked: LookResult, items: Sequence[Atom], patterns: Mapping[Atom, Atom]
    ) -> dict[Atom, Any]:
        """Return the traces that there are now; add to `looked`, with the versions of `items`, what is conclusive."""
        notes = [self.state.beliefs.note(each) for each in items if each not in looked.versions]
        lost = [replace(each, version=None) for each in notes if each.version is not None]
        if lost:  # the version of an earlier look says nothing of what a step changes from now on
            self.emit(events.FactsSeen(tuple(lost), LOOKED))
        found: dict[Atom, Any] = {
            each: looked.versions[each] for each in items if each in looked.conclusive and each in looked.versions
        }
        listed = await self.lookout.list_matches(patterns.values())
        for fact, pattern in patterns.items():
            if pattern in listed and len(listed[pattern][0]) <= MOST_MATCHES:
                found[fact] = listed[pattern][0]
                looked.conclusive.add(fact)
                looked.settled.update([fact] if listed[pattern][1] else ())
        return found

    def write_traces(self, step: Step, traces: Traces) -> str:
        """Return `traces` of a step that is about to begin as JSON text, for all runs; "" where there are none."""
        patterns, name = self.finder.list_open_patterns(step), self._name
        now = {name(item): version for item, version in traces.items() if item not in patterns}
        now |= {name(pattern): [*map(name, traces[fact])] for fact, pattern in patterns.items() if fact in traces}
        return dump_json(now) if now else ""

    async def _compare(self, record: StepRecord, flight: Flight, view: View) -> View:
        """Return `view` with what it shows, compared with the recorded traces of a flight that is over or own."""
        is_over = flight.is_of(self.state.run, record.id) or (bool(flight.doubt) and not flight.is_waiting)
        before = load_json(flight.traces) if flight.traces and is_over else {}
        born, made = self._compare_matches(record.step, before, view.traces)
        left = self._compare_versions(record.step, before, view.traces) | born
        if any(left.values()):
            left |= {each: None for each in await self.find_changed_beside(record, flight, born) if each in left}
        effect, looked = {**view.effect, **dict.fromkeys(left, True)}, view.looked
        for fact, is_left in left.items():
            looked.seen.pop(fact, None)
            looked.seen.update({} if is_left is None else {fact: is_left})
        real, placeholders = self.state.objects.real_name, record.plan.creates.items()
        named = [{name: object_name(real(row[each])) for name, each in placeholders} for row in made]
        self.candidates[record.id] = named
        sight = judge_sight(effect, looked, in_doubt=bool(flight.doubt))
        if sight is not Sight.HOLDS or not born:
            return replace(view, effect=effect, sight=sight)
        if object_to_result(self.state, record, ActionResult(created=named[0])):
            return replace(view, effect=effect)  # it has the name of something else
        return replace(view, effect=effect, sight=sight, created=named[0])

    def _compare_versions(self, step: Step, before: Mapping[str, Any], now: Traces) -> dict[Atom, bool | None]:
        """Return whether the items recorded `before` have other versions `now`; None where that is unclear."""
        items = {item: self._name(item) for item in self.finder.list_items(step)}
        known = {item: before[name] for item, name in items.items() if name in before}
        return {item: now[item] != old if item in now else None for item, old in known.items()}

    async def find_changed_beside(self, record: StepRecord, flight: Flight, born: Collection[Atom] = ()) -> list[Atom]:
        """Return the items that other steps may have changed since the `flight` of a step was taken.

        With them, return all facts that are `born` with what the step creates if another step creates such objects.
        """
        items, patterns = self.finder.list_items(record.step), self.finder.list_open_patterns(record.step)
        real_fact = self.state.objects.real_fact
        changed, made = {real_fact(each): each for each in items}, {real_fact(patterns[each]) for each in born}
        lag = self.lookout.settle_within([*items, *patterns.values()])
        others = await self.flights.find_changed_by_others(flight, {*changed, *made}, lag)
        beside = [changed[each] for each in changed if any(each in other for other in others)]
        beside += [each for each in items if self._may_be_changed_beside(each, record, flight.since)]
        return [*beside, *(born if made and any(made <= other for other in others) else ())]

    def _may_be_changed_beside(self, item: Atom, record: StepRecord, since: float) -> bool:
        """Return whether another step of this run may have changed `item` since that time."""
        others = [each for each in self.state.steps.values() if each is not record and each.attempts]
        late = [each.step for each in others if each.ended is None or each.ended >= since]
        return any(item in (*self.finder.list_items(step), *self.finder.list_declared(step)) for step in late)

    def _compare_matches(
        self, step: Step, before: Mapping[str, Any], now: Traces
    ) -> tuple[dict[Atom, bool | None], list[dict[str, str]]]:
        """Return whether facts hold about objects that a step was to create, and which objects that may be.

        They hold if just one object is new among the matches of all patterns that were recorded `before`, and they do
        not if no pattern has a new match; None where neither is clear. Objects are the names in plans, by placeholder.
        """
        patterns = {fact: self._name(each) for fact, each in self.finder.list_open_patterns(step).items()}
        known = {fact: before[key] for fact, key in patterns.items() if key in before}
        new = {fact: [each for each in now.get(fact, ()) if self._name(each) not in known[fact]] for fact in known}
        rows, is_any = self._join_matches(step, new), any(new.values())
        is_clear = known.keys() <= now.keys() and (len(rows) == 1 or not is_any)
        return dict.fromkeys(known, is_any if is_clear else None), rows if known else []

    def _join_matches(self, step: Step, matches: Mapping[Atom, Sequence[Atom]]) -> list[dict[str, str]]:
        """Return the objects that fit all facts in `matches`, by placeholder; those of other steps are left out."""
        objects, rows = self.state.objects, [dict[str, str]()]
        for fact, new in matches.items():
            found = [{a: b for a, b in zip(fact.args, one.args, strict=True) if objects.is_open(a)} for one in new]
            rows = [row | one for row in rows for one in found if all(row.get(a, b) == b for a, b in one.items())]
        created, others = set(filter(objects.is_open, step.arguments)), objects.created.keys()
        whole = [row for row in rows if row.keys() == created and len({*row.values()}) == len(row)]
        return [row for row in whole if others.isdisjoint(row.values())]

    def _name(self, fact: Atom) -> str:
        """Return a fact or a pattern as text that is the same in all runs."""
        return str(self.state.objects.real_fact(fact))


def _judge_further(view: View, further: FurtherEffects, *, in_doubt: bool = False) -> View:
    """Return `view` with what it shows of the `further` effects of a step, where its effect is missing."""
    if view.sight is not Sight.MISSING:
        return view
    seen = view.looked.seen
    there = {fact: holds for fact, holds in further.possible.items() if seen.get(fact) is holds}
    return replace(view, sight=judge_sight({**view.effect, **further.certain, **there}, view.looked, in_doubt=in_doubt))


def _judge_outcomes(view: View, outcomes: Sequence[Facts], *, in_doubt: bool) -> View:
    """Return `view` with what it shows of the declared `outcomes` that were not believed before.

    One that is wholly seen is what was done, where no effect is common to all; nothing was done only if none of their
    facts is there.
    """
    sights = [judge_sight(each, view.looked, in_doubt=in_doubt) for each in outcomes]
    is_missing = all(each is Sight.MISSING for each in sights)
    if not outcomes or (view.effect and (view.sight is not Sight.MISSING or is_missing)):
        return view
    if view.effect:
        return replace(view, sight=Sight.UNKNOWN)
    came = next((each for each, sight in zip(outcomes, sights, strict=True) if sight is Sight.HOLDS), None)
    if came is not None:
        return replace(view, effect=came, sight=Sight.HOLDS)
    return replace(view, sight=Sight.MISSING if is_missing else Sight.UNKNOWN)


def find_last_time(entries: Sequence[Entry]) -> float:
    """Return when a step was done last, in seconds since 1970; 0 if never."""
    return max((each.at for each in entries if each.outcome is Outcome.DONE), default=0.0)


def judge_sight(effect: Facts, looked: LookResult, *, in_doubt: bool) -> Sight:
    """Return what a look says of an `effect`; while a step is `in_doubt`, only observers that state their delay say no.

    Facts without a conclusive observer are as unknown as those without any.
    """
    if any(note.holds is None and note.fact in effect for note in looked.notes):
        return Sight.DISPUTED
    seen = {fact: looked.seen[fact] is holds for fact, holds in effect.items() if fact in looked.seen}
    sure = looked.settled if in_doubt else looked.conclusive
    there = [fact for fact, is_there in seen.items() if is_there and fact in looked.conclusive]
    gone = [fact for fact, is_there in seen.items() if not is_there and fact in sure]
    if effect and len(there) == len(effect):
        return Sight.HOLDS
    if effect and len(gone) == len(effect):
        return Sight.MISSING
    if there and gone:
        return Sight.PARTLY
    if effect and all(seen.get(fact) for fact in effect):
        return Sight.CLAIMED
    return Sight.PARTLY if there else Sight.UNKNOWN
