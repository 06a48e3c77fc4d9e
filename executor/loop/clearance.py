"""Clear irreversible steps of one run: take the flight of a step, look whether it is so already, and rule.

`Clearance.clear` is called right before the handler would be: after approval, and before its lock and rate. The end of
the step settles its flight. No two runs of a journal ever have the flight of one step, on whatever hosts they are.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from executor.events import events
from executor.events.answers import (
    FLIGHT,
    HAPPENED,
    NO,
    NOTHING,
    REFUSED,
    REPEAT,
    SO,
    YES,
    ask_for_created,
    interpret_answer,
    read_told_result,
)
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.ledger.records import Entry, Flight, Outcome
from executor.ledger.rulings import UNSEEN_DONE, Asker, Ruling, Sight, Verdict, find_last_done, rule
from executor.loop.aftermath import object_to_result
from executor.loop.asker import (
    DENIED,
    SETTLED,
    describe_asker,
    describe_entry,
    describe_latest,
    find_word,
    name_question,
)
from executor.loop.children import is_below
from executor.loop.effects import EffectFinder, Facts
from executor.loop.evidence import Evidence, View, find_last_time
from executor.loop.flights import Flights, make_wait
from executor.loop.locks_and_rates import wait_unless_cancelled
from executor.loop.other_ways import OtherWays
from executor.loop.parameters import describe_values
from executor.loop.step_identity import Brought
from executor.observe.observe import Lookout, LookResult
from executor.tools.clock import Clock
from executor.tools.json_data import data_of
from executor.tools.results import ActionResult
from planner.lightweight import dataclass, field, replace
from planner.model import Atom

MOST_NAMED: Final = 5
"""Most objects that a question names which a step may have created."""
_SKIPS: Final = "it is not done again"


class Asking(Protocol):
    """Asks people: see `executor.recovery.ask_people`."""

    async def answer(self, question: events.Asked) -> Any:
        """Ask `question`; return None while there is no answer."""


@dataclass(slots=True, eq=False)
class Clearance:
    """Clears the irreversible steps of one run by the ledger in which `flights` are."""

    state: RunState
    emit: Callable[[events.Event], None]
    lookout: Lookout
    flights: Flights
    asking: Asking
    clock: Clock
    stopped: asyncio.Event
    """Set when no more steps may begin."""
    is_needless: Callable[[StepRecord, bool], Awaitable[bool]] = field(init=False)
    """Looks whether all that a step is for is so already, anew if others have acted since, and ends it if so."""
    _finder: EffectFinder = field(init=False)
    _evidence: Evidence = field(init=False)
    _other_ways: OtherWays = field(init=False)
    _values: dict[str, Mapping[str, Any]] = field(init=False, default_factory=dict)
    """The values with which steps are to be done, by step."""
    _looks: defaultdict[str, list[float]] = field(init=False, default_factory=partial(defaultdict, list))
    """When a step has taken its flight and looked, by step, in seconds of the event loop."""

    def __post_init__(self) -> None:
        self._finder = self.flights.finder
        self._evidence = Evidence(self.state, self.emit, self.lookout, self.clock, self.stopped, self.flights)
        self._other_ways = OtherWays(self.state, self.flights, self._evidence)

    async def describe_earlier(self, record: StepRecord, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Describe what was done or refused before of a step, or is for the same and was refused, or is to be replaced.

        The step is to be done with these `values`. Its approval shows all that, and answers for it then.
        """
        _, entries = await self.flights.book.read(self.flights.identify(record))
        if not self.state.is_irreversible(record):
            return describe_latest(entries)
        wanted = self._narrow(self.flights.describe(record), self._finder.find_effect(record), values)
        known = frozenset(self.state.beliefs.simulation.facts)
        return (*describe_latest(entries), *await self._other_ways.describe_others(record, wanted, known))

    async def is_done_by_other(self, record: StepRecord) -> bool:
        """Return whether a step that cannot begin is done already, or a person says or is asked whether it is."""
        return await self.is_already_so(record) or await self.is_told_so(record)

    async def is_already_so(self, record: StepRecord) -> bool:
        """Return whether conclusive observers see all of the effect of a step that is not at work; end it if so.

        The look ends the doubt of another run that may have done it, too.
        """
        view = await self._evidence.look(record)
        if view.sight is not Sight.HOLDS or self.flights.get(record) is not None:
            return False
        flight, entries = await self.flights.book.read(self.flights.identify(record))
        asker = describe_asker(self.flights, record, entries)
        if flight is None or not await self._is_begun_by_other(record, flight, entries, asker, asks=False):
            self._end_as_so(record, view, None)
        return True

    async def is_told_so(self, record: StepRecord) -> bool:
        """Return whether a person says, or is asked, if a step that cannot begin was done by another run.

        Where nobody asks that, as it was never done or conclusive observers do not see it, return False.
        """
        item = self.flights.identify(record)
        flight, entries = await self.flights.book.read(item)
        asker = describe_asker(self.flights, record, entries)
        if flight is not None:
            return await self._is_begun_by_other(record, flight, entries, asker)
        done = find_last_done(entries, replace(asker, repeats=True))
        if done is None or asker.accepts or asker.approves or asker.wants:
            return False
        further, at = self._evidence.find_further(record, None, entries), find_last_time(entries)
        if (await self._evidence.look(record, further=further, done=at)).sight is Sight.MISSING:
            return False
        return await self._ask(Ruling(Verdict.ASK_AGAIN, UNSEEN_DONE, done), record, item, None) is False

    async def _is_begun_by_other(
        self, record: StepRecord, flight: Flight, entries: Sequence[Entry], asker: Asker, *, asks: bool = True
    ) -> bool:
        """Return whether a step that has not begun may have been done in the `flight` of another run which is over.

        Then the step has ended or, if the run `asks`, waits for an answer. A look may settle the flight.
        """
        left = None if self.flights.has(flight) else await self.flights.settle_other(flight)
        if left is None or left.is_waiting or not left.doubt or await self.flights.is_alive(left):
            return False
        further = self._evidence.find_further(record, left, entries)
        view = await self._evidence.look(record, left, further, done=find_last_time(entries))
        ruling = rule(view.sight, left, entries, asker, is_alive=False)
        is_told = ruling.verdict is Verdict.ALREADY or (
            asks and (ruling.verdict is Verdict.ASK_DOUBT or ruling.settles is not None)
        )
        return is_told and await self._follow(ruling, record, flight.item, view, left) is False

    async def clear(
        self, record: StepRecord, item: str, values: Mapping[str, Any], defaults: Collection[str] = ()
    ) -> bool:
        """Take the flight of the step `item`, and return whether it may begin; else it has ended, or waits.

        Whoever is asked is shown the `values` of its data parameters; `defaults` among them tell no step from another.
        """
        self._values[record.id], begun = values, frozenset(self.state.beliefs.simulation.facts)
        while not self.stopped.is_set():
            if self.flights.get(record) is None and await self.is_needless(record, bool(self._looks[record.id])):
                return False
            await self.lookout.admit(self._finder.find_effect(record))  # not while it has the flight
            self._looks[record.id].append(asyncio.get_running_loop().time())
            brought, effect = self.flights.describe(record, values), self._finder.find_effect(record)
            other, entries = await self.flights.take(record, item, brought)
            known = {fact for fact, value in effect.items() if self.state.beliefs.holds(fact) is value}
            flight = other or self.flights.get(record)
            further = self._evidence.find_further(record, other, entries)
            view = await self._evidence.look(record, flight, further, done=find_last_time(entries))
            if self.stopped.is_set():  # the look may have come before observers had their time
                break
            seen, shows = view.looked.seen, view.effect
            asker = replace(
                describe_asker(self.flights, record, entries),
                is_idempotent="idempotent" in self.state.domain.actions[record.step.action].tags,
                knew_part=all(seen.get(fact) is not value or fact in known for fact, value in shows.items()),
            )
            is_alive = other is not None and await self.flights.is_alive(other)
            word = find_word(self.state, record, entries[-1]) if other is None and entries else None
            if word is not None and entries[-1].outcome is Outcome.DONE:
                self._end_as_told(record, f"{SETTLED} (run {entries[-1].run!r})", word)
                return False
            ruling = rule(view.sight, other, entries, asker, is_alive=is_alive)
            if ruling.verdict is Verdict.BEGIN and ruling.settles is None and not asker.accepts:
                told = {name: each for name, each in values.items() if name not in defaults}
                wanted = self._narrow(brought, effect, told)
                ruling, other, view = await self._other_ways.rule(record, wanted, view, begun)
                if ruling.verdict is Verdict.BEGIN and self._finder.find_effect(record) != effect:
                    continue  # the look has changed what the step is for: others have to find it by that
            cleared = await self._follow(ruling, record, item, view, other)
            if cleared:
                await self.flights.record_traces(record, self._evidence.write_traces(record.step, view.traces))
            if cleared is not None:
                return cleared
        self.flights.leave(record)
        return False

    def _narrow(self, brought: Brought, effect: Facts, values: Mapping[str, Any] | None) -> Brought:
        """Return what a plan takes of what a step brings about, with the `values` with which it is to be done."""
        real_fact = self.state.objects.real_fact
        return brought.narrow({real_fact(fact): holds for fact, holds in effect.items()}, values)

    async def settle(self, record: StepRecord, *, may_retry: bool) -> bool:
        """Settle a step of this run that is in doubt by another look; return whether that could be."""
        flight = self.flights.get(record)
        if flight is None or self.flights.is_left_at_work(flight.key):
            return False
        flight = self.flights.renew_doubt(flight)
        view = await self._evidence.look(record, flight, self._evidence.find_further(record, flight))
        if view.sight is Sight.MISSING and self._is_partly_seen(record):
            return False
        if view.sight is Sight.HOLDS:
            self._end_as_so(record, view, flight)
        elif view.sight is Sight.MISSING:
            status = events.StepStatus.PENDING if may_retry else events.StepStatus.FAILED
            holds = self.state.beliefs.holds
            notes = [replace(each, holds=not each.holds) for each in record.awaited if holds(each.fact) is None]
            self.emit(
                events.StepEnded(record.id, status, f"{record.reason}, and it did not happen", facts=tuple(notes))
            )
        return view.sight in {Sight.HOLDS, Sight.MISSING}

    def _is_partly_seen(self, record: StepRecord) -> bool:
        """Return whether observers saw an effect of a step of this run, such as a number, after its attempt."""
        notes = [(each.holds, self.state.beliefs.note(each.fact)) for each in record.awaited]
        seen = [note.holds is holds for holds, note in notes if note.provenance is events.Provenance.OBSERVED]
        return any(seen)

    async def find_changed_beside(self, record: StepRecord) -> Collection[Atom]:
        """Return the items that other steps may have changed since a step of this run was begun."""
        flight = self.flights.get(record)
        return () if flight is None else await self._evidence.find_changed_beside(record, flight)

    def describe_candidates(self, record: StepRecord) -> str:
        """Describe the objects that a step may have created which is in doubt, for people."""
        named = [", ".join(each.values()) for each in self._evidence.candidates.get(record.id, ())]
        return f" It may have created {' or '.join(named[:MOST_NAMED])}." if named else ""

    async def _follow(
        self, ruling: Ruling, record: StepRecord, item: str, view: View, other: Flight | None
    ) -> bool | None:
        """Do what a ruling says; return whether the step may begin, and None where the ledger is to be read again."""
        if ruling.settles is not None and other is not None:
            self.flights.end(other, ruling.settles, seen=True, reason=ruling.row)
        match ruling.verdict:
            case Verdict.ALREADY:
                own = self.flights.get(record) if record.attempts else None
                self._end_as_so(record, view, other or own or ruling.entry)
                return False
            case Verdict.BEGIN if ruling.settles is None:
                return not self._ends_as_answered(record)
            case Verdict.BEGIN:
                return None
            case Verdict.WAIT:
                assert other is not None, "somebody is at it"
                return await self._give_way(record, other)
            case Verdict.REFUSED:
                self._refuse(record, "it was refused before")
                return False
            case Verdict.NEEDLESS:
                self.flights.leave(record)
                self.emit(events.StepEnded(record.id, events.StepStatus.SKIPPED, ruling.row))
                return False
        return await self._ask(ruling, record, item, other)

    async def _give_way(self, record: StepRecord, other: Flight) -> bool | None:
        """Wait until a flight is over, or nobody is at work on it, or no step may begin any more; return as `_follow`.

        The step leaves its own flight meanwhile, as the other one may wait for that. If both do so, the run with the
        later name waits as long as it has looked, and longer each time: the other one can look, and begin.
        """
        clock = asyncio.get_running_loop().time
        begun, has_flight = clock(), self.flights.get(record) is not None
        self.flights.leave(record)
        if is_below(f"{other.run}/{other.step}"):
            self._refuse_below(record, other)
            return False
        if other.is_waiting:
            self.emit(events.StepWaiting(record.id, make_wait(other), self.clock.time()))
            return False
        flight: Flight | None = other
        while flight == other and not self.stopped.is_set() and await self.flights.is_alive(other):
            await wait_unless_cancelled(self.flights.book.wait_for_change(other, clock() - begun), self.stopped)
            flight, _ = await self.flights.book.read(other.item)
        if has_flight and other.run < self.state.run:  # both have given way: the other one goes first
            looks = self._looks[record.id]
            await wait_unless_cancelled(self.flights.book.wait_for_change(other, clock() - begun), self.stopped)
            await wait_unless_cancelled(asyncio.sleep((begun - looks[-1]) * len(looks)), self.stopped)
        return None

    async def _ask(self, ruling: Ruling, record: StepRecord, item: str, other: Flight | None) -> bool | None:
        """Ask a person about a step; return as `_follow`."""
        _, entries = await self.flights.book.read(item)
        is_doubt, creates = ruling.verdict is Verdict.ASK_DOUBT and other is not None, tuple[str, ...]()
        if is_doubt and other is not None:
            choices: tuple[str, ...] = (HAPPENED, NOTHING)
            name = f"{FLIGHT}{record.id}:{other.run}/{other.step}:{other.since}"
            text = f"Nobody can say whether {other.text}, begun by run {other.run!r}, happened: {other.doubt}. Did it?"
            creates = tuple(each for each, at in record.plan.created.items() if self.state.objects.is_open(at))
            text += self.describe_candidates(record) + ask_for_created(creates)
        else:
            name, choices = name_question(record, entries), (YES, NO, SO)
            text = f"May {self.flights.name(record)} be done? {ruling.row[0].upper()}{ruling.row[1:]}."
        earlier = () if ruling.entry is None else (describe_entry(ruling.entry),)
        known = (ruling.row, *earlier, *describe_values(self._values.get(record.id, {})))
        self.flights.leave(record)
        asked = events.Asked(name, record.id, text, choices, known, self.state.purpose_of(record), creates)
        answer = await self.asking.answer(asked)
        if answer is None:
            self.emit(events.StepWaiting(record.id, {"question": name}, 0.0))
            return False
        meant = interpret_answer(asked, answer)
        if is_doubt and other is not None:
            outcome = Outcome.DONE if meant == HAPPENED else Outcome.NOT_DONE
            self.flights.end(other, outcome, seen=False, reason=SETTLED if meant == HAPPENED else DENIED)
            if meant == HAPPENED:
                self._end_as_told(record, f"{SETTLED} (run {other.run!r})", answer)
                return False
            return None
        if meant == SO:
            self.end_as_told(record, ruling.entry)
            return False
        if meant == YES:
            return None  # the answer is among those of the run, and counts from now on
        self._decline(ruling, record)
        return False

    def _ends_as_answered(self, record: StepRecord) -> bool:
        """End a step that nobody would ask about any more, if somebody has said that it is not to be done, or is so."""
        told = [
            each for name, each in self.state.answered.items() if name.startswith(REPEAT) and each.step == record.id
        ]
        if not told:
            return False
        meant = interpret_answer(told[-1], self.state.answers[told[-1].question])
        if meant == SO:
            self.end_as_told(record)
        elif meant != YES:
            self._refuse_as_told(record, told[-1].known[0])
        return meant != YES

    def _refuse_as_told(self, record: StepRecord, row: str) -> None:
        """End a step that a person does not want done, for which the `row` spoke."""
        self._refuse(record, f"somebody says that it must not be done ({row})")

    def end_as_told(self, record: StepRecord, by: Entry | None = None) -> None:
        """End a step of which a person says that it is so already, as the entry `by` may tell."""
        self._end_as_told(record, "somebody says so", by=by)

    def _decline(self, ruling: Ruling, record: StepRecord) -> None:
        """End a step that a person does not want done: it was done before, or it is refused."""
        entry = ruling.entry
        if entry is None or entry.outcome is not Outcome.DONE:
            self._refuse_as_told(record, ruling.row)
        elif self._brings_same(record, entry):
            self._end_as_told(record, f"{describe_entry(entry)}; {_SKIPS}", by=entry)
        else:
            self._obstruct(record, f"{describe_entry(entry)}, and somebody says that {record.step} is not to be done")

    def _brings_same(self, record: StepRecord, entry: Entry) -> bool:
        """Return whether what the plan takes from a step was brought about by the step of an entry."""
        if entry.item == self.flights.identify(record):
            return True
        brought = Brought.read(entry.brings).facts
        return any(self.state.objects.real_fact(fact) in brought for fact in self._finder.find_effect(record))

    def _refuse(self, record: StepRecord, reason: str) -> None:
        self.flights.leave(record)
        self.flights.note_refusal(record, reason)
        self.emit(events.StepEnded(record.id, events.StepStatus.FAILED, reason, repeatable=False, denied=True))

    def _refuse_below(self, record: StepRecord, other: Flight) -> None:
        """End a step that waits for a step whose handler has begun this run: neither would ever end."""
        reason = (
            f"{other.text} is under way in step {other.step!r} of run {other.run!r}, whose handler has begun this run"
        )
        self._obstruct(record, reason)

    def _obstruct(self, record: StepRecord, reason: str) -> None:
        end = events.StepEnded(record.id, events.StepStatus.FAILED, reason, repeatable=False, denied=True)
        self.emit(end.as_obstacle(record.attempts))

    def _end_as_so(self, record: StepRecord, view: View, by: Flight | Entry | None) -> None:
        """End a step whose effect was seen to hold, before it began or before it is tried again."""
        if by is not self.flights.get(record):
            self.flights.leave(record)
        effect = {**self._finder.find_declared(record.step), **view.effect}
        notes = [each for each in view.looked.notes if each.fact in effect]
        seen, assumed = events.Provenance.OBSERVED, events.Provenance.ASSUMED
        also = dict(self._finder.find_births(record.step)) if view.created else {}
        also |= {each: holds for each, holds in self._finder.find_effect(record).items() if each not in view.effect}
        notes += [events.Note(each, holds, seen if each in view.effect else assumed) for each, holds in also.items()]
        is_own = by is not None and by.run == self.state.run
        status = events.StepStatus.SUCCEEDED if is_own else events.StepStatus.SKIPPED
        result = data_of(ActionResult(created=view.created)) if view.created else None
        self.emit(events.StepEnded(record.id, status, _describe_already(by), result, tuple(notes)))

    def _end_as_told(self, record: StepRecord, reason: str, answer: Any = None, by: Entry | None = None) -> None:
        """End a step of which a person, or an entry, says that it was done before; `answer` may say what it created.

        Of what another step has done, with the entry `by`, only its own effects are believed.
        """
        self.flights.leave(record)
        is_other = by is not None and by.brings and by.item != self.flights.identify(record)
        brought = Brought.read(by.brings).facts if is_other and by is not None else None
        told = read_told_result(answer)
        wrong = "" if told is None else object_to_result(self.state, record, told)
        if wrong:
            reason = f"{reason}, but {wrong}"
            self.emit(events.StepEnded(record.id, events.StepStatus.FAILED, reason, repeatable=False, denied=True))
            return
        born = {} if told is None else self._finder.find_births(record.step)
        notes = [
            events.Note(fact, holds, events.Provenance.REPORTED, events.ANSWER)
            for fact, holds in {**self._finder.find_declared(record.step), **born}.items()
            if brought is None or self.state.objects.real_fact(fact) in brought
            if fact in born or self._may_be_told(fact)
        ]
        reason, result = f"{events.ALREADY_SO}: {reason}", None if told is None else data_of(told)
        by_word, skipped = by is None or not by.seen, events.StepStatus.SKIPPED
        self.emit(events.StepEnded(record.id, skipped, reason, result, tuple(notes), by_word=by_word))

    def _may_be_told(self, fact: Atom) -> bool:
        """Return whether a person's word counts for `fact`: nothing is known of it but what somebody said before."""
        beliefs = self.state.beliefs
        return not beliefs.is_noted(fact) or beliefs.holds(fact) is None or beliefs.note(fact).source == events.ANSWER

    async def is_refused(self, record: StepRecord, item: str) -> bool:
        """Return whether a step of a run that nobody asked for was refused, or one for the same; end it if so."""
        if not self.state.plan.basis.is_unattended:
            return False
        _, entries = await self.flights.book.read(item)
        ruling = rule(Sight.MISSING, None, entries, describe_asker(self.flights, record, entries), is_alive=False)
        if ruling.verdict is not Verdict.REFUSED:
            unseen = View(LookResult(), self._finder.find_effect(record), {}, Sight.MISSING)
            wanted = self._narrow(self.flights.describe(record), unseen.effect, self._values.get(record.id))
            facts = frozenset(self.state.beliefs.simulation.facts)
            ruling, _, _ = await self._other_ways.rule(record, wanted, unseen, facts)
        if ruling.verdict is not Verdict.REFUSED:
            return False
        reason = f"{REFUSED} before: {ruling.row if ruling.entry is None else describe_entry(ruling.entry)}"
        self.emit(events.StepEnded(record.id, events.StepStatus.FAILED, reason, repeatable=False, denied=True))
        return True


def _describe_already(by: Flight | Entry | None) -> str:
    if by is None:
        return events.ALREADY_SO
    return f"{events.ALREADY_SO}: run {by.run!r} has done it"
