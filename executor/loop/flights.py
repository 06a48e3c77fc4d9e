"""Own the flights of the irreversible steps of one run: take, hold, doubt and end them in the ledger.

No two runs of a journal ever have the flight of one step, on whatever hosts they are. The end of a step settles its
flight; whoever finds one whose owner is gone settles it by what the owner has told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from executor.errors import JournalError
from executor.events import events
from executor.events.answers import DOUBT, FLIGHT, HAPPENED, NOTHING, ends_by_clock
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.journal.effects import GONE
from executor.ledger.records import WAITS, Entry, Flight, Outcome, list_marks
from executor.loop.aftermath import STILL_AT_WORK
from executor.loop.effects import EffectFinder
from executor.loop.step_identity import (
    Brought,
    find_known_values,
    identify_step,
    make_key,
    mark_change,
    mark_fact,
    mark_goal,
)
from executor.observe.condition_facts import Valued
from executor.tools.clock import Clock
from planner.lightweight import dataclass, field, replace
from planner.model import Atom, Not
from planner.plan import Step

NO_VALUES: Final[Mapping[str, Any]] = {}
LOST: Final = "the run was broken off while it was being done"


class Book(Protocol):
    """The ledger as a run reads and writes it, wherever it is, with what became of the owners of flights."""

    @property
    def owns_names(self) -> bool:
        """Whether no two runs have one name at the same time."""

    @property
    def tells_changes(self) -> bool:
        """Whether a run hears when a flight changes for which it waits; otherwise it looks from time to time."""

    async def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""

    async def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""

    async def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""

    async def find_own(self, run: str, items: Collection[str]) -> list[Flight]:
        """Return the flights that `run` has, at least of the steps `items`."""

    async def settle(self, flight: Flight) -> Flight | None:
        """Settle a flight of another run whose step is over; return the flight that is left, with its doubt if any."""

    async def is_at_work(self, flight: Flight) -> bool:
        """Return whether the run that has this flight is still at it."""

    async def wait_for_change(self, flight: Flight, waited: float) -> None:
        """Wait until a flight of another run may have changed, for which somebody has `waited` so many seconds."""

    def is_free(self, item: str) -> bool:
        """Return whether no step that waits for something from outside has the flight of a step."""

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""


class Aims(Protocol):
    """Tells what steps are for in the end: see `executor.loop.look_first`."""

    def name_goals(self, record: StepRecord) -> Sequence[str]:
        """Return the parts of the goal, or the tasks, that a step is for in the end, as texts, with real names."""

    def name_ends(self, record: StepRecord) -> Sequence[str]:
        """Return the facts that later steps bring for which a step is in the end, as texts, with real names."""

    def find_alternatives(self, record: StepRecord) -> Sequence[Valued]:
        """Return the facts, with their values, of other ways to what a step is for; objects have real names."""

    def is_taken_up(self, facts: Iterable[Atom], by: str, goals: Collection[str]) -> bool:
        """Return whether the plan builds on `facts`, that the own step `by` has brought, on the way to `goals`."""

    def find_left_behind(self, record: StepRecord) -> str:
        """Return as text what irreversible steps have brought about and a step would be done in the place of."""


@dataclass(slots=True, eq=False)
class Flights:
    """The flights of one run in the ledger of `book`, in which the world has the name `world`."""

    state: RunState
    emit: Callable[[events.Event], None]
    book: Book
    world: str
    clock: Clock
    finder: EffectFinder
    release: Callable[[str, str], None]
    """Releases what a step of a run has reserved."""
    is_left_at_work: Callable[[str], bool | None]
    """Whether a handler that was given up here is still at work under an idempotency key; None if there is none."""
    aims: Aims
    _held: dict[str, Flight] = field(init=False, default_factory=dict)
    """The flights that this run has, by step."""

    def list_open(self) -> list[str]:
        """Return the steps that have a flight of this run."""
        return list(self._held)

    def get(self, record: StepRecord) -> Flight | None:
        """Return the flight that the run has for a step."""
        return self._held.get(record.id)

    def has(self, flight: Flight) -> bool:
        """Return whether the run has `flight`, for whichever of its steps."""
        return any(flight.is_same(each) for each in self._held.values())

    def identify(self, record: StepRecord) -> str:
        """Return the identity of a step, which does not change while the run goes on."""
        known = self._find_known_values(record)
        return identify_step(self.world, self._find_first_name(record), self.name_given(record.step), known)

    def _find_first_name(self, record: StepRecord) -> str:
        return self.state.domain.renames.find_first_name(record.step.action)

    def _find_known_values(self, record: StepRecord) -> dict[str, Any]:
        domain = self.state.domain
        action = domain.actions[record.step.action]
        return find_known_values(action, record.plan.parameters, self.state.request, domain.renames)

    def _find_done_values(self, record: StepRecord, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known values of a step, as they are in `values` if they stand there."""
        known, renames = self._find_known_values(record), self.state.domain.renames
        named = {renames.find_first_parameter(record.step.action, name): each for name, each in values.items()}
        return {name: named.get(name, each) for name, each in known.items()}

    def describe(self, record: StepRecord, values: Mapping[str, Any] = NO_VALUES) -> Brought:
        """Return what a step brings about, by all that it declares and the values that were known before.

        Of these, `values` are by now otherwise, as whoever approved the step has changed them.
        """
        declared = {**self.finder.find_declared(record.step), **self.finder.find_numbers(record.step)}
        changed = [*self.finder.list_items(record.step), *self.finder.list_open_patterns(record.step).values()]
        real_fact = self.state.objects.real_fact
        real = {real_fact(fact): holds for fact, holds in declared.items()}
        given = tuple(self.name_given(record.step))
        step = replace(record.step, action=self._find_first_name(record), arguments=given)
        known, goals = self._find_done_values(record, values), self.name_goals(record)
        return Brought.of(self.world, step, real, known, goals=goals, changed=map(real_fact, changed))

    def name_goals(self, record: StepRecord) -> dict[str, None]:
        """Return what a step is for in the end: parts of the goal or tasks, and then the facts by which it is so."""
        return dict.fromkeys([*self.aims.name_goals(record), *self.aims.name_ends(record)])

    async def find_like(self, record: StepRecord, wanted: Brought) -> list[str]:
        """Return the identities of the steps of all runs that are for the same, or go another way to it."""
        others = self.aims.find_alternatives(record)
        marks = [mark_fact(self.world, *each) for each in others]
        marks += [mark_goal(self.world, str(fact if holds else Not(fact))) for fact, holds in others]
        return await self.book.find_like([*wanted.marks, *marks])

    async def find_changed_by_others(self, flight: Flight, what: Iterable[Atom], lag: float) -> list[set[Atom]]:
        """Return what each other step of all runs may have changed of `what` since `flight` was taken.

        These are items that are changed in place and open patterns, which observers see up to `lag` seconds late. With
        another attempt at its own step the flight has nothing to do: it was taken when that was over, and seen.
        """
        marks, since = {mark_change(self.world, each): each for each in what}, flight.since - lag
        found = list[set[Atom]]()
        for item in await self.book.find_like(list(marks)):
            if item == flight.item:
                continue
            other, entries = await self.book.read(item)
            acted = [list_marks(each) for each in entries if each.outcome is Outcome.DONE and each.at > since]
            if other is not None and not 0.0 < other.until <= since:
                acted.append(list_marks(other))
            found += [{marks[mark] for mark in own if mark in marks} for own in acted]
        return [each for each in found if each]

    def name_given(self, step: Step) -> list[str]:
        """Return the real names of the objects that a step is given: those that it creates do not tell it apart."""
        given = self.state.domain.actions[step.action].declared_arguments(step.arguments)
        return [*map(self.state.objects.real_name, given)]

    def name(self, record: StepRecord) -> Step:
        """Return the step with the real names of its objects."""
        return replace(record.step, arguments=tuple(map(self.state.objects.real_name, record.step.arguments)))

    async def find_owner(self, record: StepRecord) -> str:
        """Return the other run that has the flight of a step, for whose end the step waits; "" if none has."""
        if not self.state.is_irreversible(record) or record.id in self._held:
            return ""
        flight, _ = await self.book.read(self.identify(record))
        return "" if flight is None or self._is_own(flight, record) else flight.run

    async def take(self, record: StepRecord, item: str, brought: Brought) -> tuple[Flight | None, list[Entry]]:
        """Take the flight of a step if it is free; return that of another step or run otherwise, and the entries."""
        flight, entries = await self.book.read(item)
        is_own = flight is not None and self._is_own(flight, record)
        if flight is not None:
            flight = self.renew_doubt(flight) if is_own else await self.settle_other(flight)
        if flight is not None and (flight.doubt or not is_own):
            return flight, entries
        key, known = self._make_key(item, entries) if flight is None else flight.key, len(entries)
        own = Flight(
            item,
            str(self.name(record)),
            self.state.run,
            record.id,
            key,
            self.clock.time(),
            self.state.occasion,
            traces="" if flight is None else flight.traces,
            brings=brought.write(),
        )
        taken = await self.book.take(own, flight)
        if not taken.is_same(own):
            return taken, entries
        _, entries = await self.book.read(item)  # a flight that has ended since they were read has left an entry
        if flight is None and len(entries) > known:
            taken = await self.book.take(replace(own, key=self._make_key(item, entries)), own)
        self._held[record.id] = taken
        record.key = taken.key
        return None, entries

    def _is_own(self, flight: Flight, record: StepRecord) -> bool:
        """Return whether this run has taken `flight` for a step, and no earlier run of its name."""
        held = self._held.get(record.id)
        if held is not None:
            return flight.is_same(held)
        is_of_name = self.book.owns_names and flight.is_of(self.state.run, record.id)
        return is_of_name and flight.since >= self.state.started

    async def settle_other(self, flight: Flight) -> Flight | None:
        """Settle a flight of another run, or of another step, whose owner is over; return what is left of it."""
        is_open = flight.is_waiting or not flight.doubt
        if self.book.owns_names and flight.run == self.state.run and flight.since < self.state.started:
            return self._doubt(flight, GONE) if is_open else flight
        return await self.book.settle(flight) if is_open else self.renew_doubt(flight)

    def _make_key(self, item: str, entries: Sequence[Entry]) -> str:
        """Return the key of the next entry of a step on the occasion of the run."""
        done = sum(1 for each in entries if each.outcome is Outcome.DONE and each.occasion == self.state.occasion)
        return make_key(item, self.state.occasion, done + 1)

    async def is_alive(self, flight: Flight) -> bool:
        """Return whether the owner of `flight` is at it, or its handler in this process though it was given up."""
        if self.is_left_at_work(flight.key):
            return True
        return not flight.doubt and await self.book.is_at_work(flight)

    async def record_traces(self, record: StepRecord, text: str) -> None:
        """Record what there is before a step begins, unless it is begun again in the same flight."""
        flight = self._held[record.id]
        if text and not flight.traces:
            self._held[record.id] = await self.book.take(replace(flight, traces=text), flight)

    def note_refusal(self, record: StepRecord, reason: str) -> None:
        """Add the refusal of a step to the ledger, on the occasion of the run.

        That of a step which could be taken back, too: it covers irreversible steps that are for the same.
        """
        state, text, brings = self.state, str(self.name(record)), self.describe(record).write()
        own = self.identify(record), text, Outcome.REFUSED, state.run, record.id
        self.book.add(Entry(*own, "", self.clock.time(), state.occasion, reason=reason, brings=brings))

    def end(self, flight: Flight, outcome: Outcome, *, seen: bool, reason: str) -> None:
        """End a flight, of this run or another one, with the entry of its outcome."""
        if flight.run != self.state.run:
            self.release(flight.run, flight.step)
        self.book.end(flight, entry_of(flight, outcome, self.clock.time(), seen=seen, reason=reason))

    def leave(self, record: StepRecord) -> None:
        """Give up the flight of a step whose handler was not called."""
        flight = self._held.pop(record.id, None)
        if flight is not None:
            self.book.end(flight, None)

    async def take_up(self) -> None:
        """Find the flights of this run that an earlier process took, and what others have settled of them since."""
        begun = self.state.with_status(*events.BEGUN)
        begun = [each for each in begun if each.attempts and self.state.is_irreversible(each)]
        items = {each.id: self.identify(each) for each in begun}
        for flight in await self.book.find_own(self.state.run, list(items.values())):
            record = self.state.steps.get(flight.step)
            if flight.since < self.state.started:
                continue  # it is that of a run of this name which was deleted
            if record is None or (record.status is events.StepStatus.PENDING and not record.attempts):
                self.book.end(flight, None)
                continue
            self._held[flight.step] = flight
            if record.status.is_over:
                self._settle(events.StepEnded(record.id, record.status, record.reason, repeatable=False))
        for record in begun:
            is_open = record.status is events.StepStatus.IN_DOUBT or record.result is None
            if is_open and record.id not in self._held:
                await self._learn_outcome(record, items[record.id])
        for name, asked in self.state.open_questions.items():
            told = await self._find_settled(asked) if name.startswith(FLIGHT) else ""
            if told == NOTHING or (told and not asked.creates):
                self.emit(events.Answered(name, told))

    async def _find_settled(self, asked: events.Asked) -> str:
        """Return what the ledger says by now of the attempt of another run that is asked about; "" if nothing."""
        record = self.state.steps[asked.step]
        who, _, since = asked.question.removeprefix(f"{FLIGHT}{record.id}:").rpartition(":")
        for item in (self.identify(record), *await self.find_like(record, self.describe(record))):
            _, entries = await self.book.read(item)
            # what was settled just as the attempt began is of the one before it
            later = [each for each in entries if f"{each.run}/{each.step}" == who and each.at > float(since)]
            if later:
                return HAPPENED if later[0].outcome is Outcome.DONE else NOTHING
        return ""

    async def _learn_outcome(self, record: StepRecord, item: str) -> None:
        """End a step in doubt whose flight somebody has settled meanwhile, as the ledger says."""
        _, entries = await self.book.read(item)
        own = [each for each in entries if each.key == record.key and each.run == self.state.run]
        entry = own[-1] if own else None
        if entry is None:
            return
        is_done = entry.outcome is Outcome.DONE
        asked = [name for name, each in self.state.questions.items() if each.step == record.id]
        own_doubts = [name for name in asked if name.startswith(DOUBT)]
        if own_doubts:
            self.emit(events.Answered(own_doubts[0], HAPPENED if is_done else NOTHING))
        if asked:  # if it is about something else, such as the attempt of another run, the entry is no answer
            return
        awaited = {each.fact: each.holds for each in record.awaited} or self.finder.find_declared(record.step)
        notes = [
            events.Note(fact, holds if is_done else not holds, events.Provenance.REPORTED, events.ANSWER)
            for fact, holds in awaited.items()
        ]
        status = events.StepStatus.UNVERIFIED if is_done else events.StepStatus.PENDING
        reason = f"{entry.outcome.value}: {entry.reason}"
        facts = tuple(self.state.beliefs.select_news(notes))
        self.emit(events.StepEnded(record.id, status, reason, facts=facts))

    def note(self, event: events.Event) -> None:
        """Settle the flight of a step that has ended or is in doubt; doubt those of steps that wait as their run ends.

        A step that waits for a time only is at work.
        """
        match event:
            case events.StepWaiting(step, wait) if step in self._held and "question" not in wait:
                if not ends_by_clock(wait):
                    self.book.doubt(replace(self._held[step], doubt=WAITS))
            case events.StepEnded(step) if step in self._held:
                self._settle(event)
            case events.RunEnded(status) if status.is_over:
                for id_, flight in list(self._held.items()):
                    if self.state.steps[id_].status is events.StepStatus.WAITING:
                        self._doubt(flight, name_end(status))

    def _settle(self, end: events.StepEnded) -> None:
        outcome = outcome_of(end.status, repeatable=end.repeatable, denied=end.denied)
        if outcome is None:
            self._doubt(self._held[end.step], end.reason or LOST)
        else:
            flight = self._tell_done_values(self._held.pop(end.step))
            self.end(flight, outcome, seen=end.is_seen, reason=end.reason)

    def tell_values(self, record: StepRecord) -> None:
        """Tell the ledger which values a hook has changed of a step: its process may die in the handler."""
        flight = self._held.get(record.id)
        told = None if flight is None else self._tell_done_values(flight)
        if told is not None and told != flight:
            self.book.doubt(told)
            self._held[record.id] = told

    def _tell_done_values(self, flight: Flight) -> Flight:
        """Return a flight that tells the values with which its step was done: a hook may have changed them."""
        if not flight.brings:
            return flight
        record = self.state.steps[flight.step]
        done = self._find_done_values(record, record.parameters)
        return replace(flight, brings=Brought.read(flight.brings).with_values(done).write())

    def _doubt(self, flight: Flight, reason: str) -> Flight:
        """Keep that nobody can say whether a flight happened that is over now, or whose handler is still at work."""
        is_at_work = self.is_left_at_work(flight.key) and not reason.endswith(STILL_AT_WORK)
        reason = f"{reason}, and {STILL_AT_WORK}" if is_at_work else reason
        found = replace(flight, doubt=reason, until=self.clock.time())
        self.book.doubt(found)
        self._held.update({step: found for step, each in self._held.items() if found.is_same(each)})
        return found

    def renew_doubt(self, flight: Flight) -> Flight:
        """Return `flight`; a handler that was left at work in this process and has ended since is at work no more."""
        if not flight.doubt.endswith(STILL_AT_WORK) or self.is_left_at_work(flight.key) is not False:
            return flight
        return self._doubt(flight, flight.doubt.removesuffix(f", and {STILL_AT_WORK}"))

    def break_off(self) -> None:
        """Leave the flights of steps at work in doubt: the run ends without knowing what became of them."""
        for id_, flight in list(self._held.items()):
            record = self.state.steps[id_]
            with contextlib.suppress(JournalError):  # whoever finds the flight looks what became of its run
                if record.status is events.StepStatus.RUNNING:
                    self._doubt(flight, flight.doubt or LOST)
                elif record.status is events.StepStatus.PENDING or "question" in (record.wait or {}):
                    self.leave(record)
                elif record.status is events.StepStatus.WAITING:
                    self.book.doubt(replace(flight, doubt=WAITS))


def make_wait(flight: Flight) -> dict[str, Any]:
    """Return, as data, the wait of a step for `flight` of another run."""
    text = f"run {flight.run!r} has begun {flight.text}, and goes on with what it waits for: answer it there"
    return {"flight": flight.item, "run": flight.run, "step": flight.step, "text": text}


def name_end(status: events.RunStatus) -> str:
    """Return the doubt of a flight whose step waited when its run ended for good."""
    return f"its run ended: {status.value}"


def outcome_of(status: events.StepStatus, *, repeatable: bool, denied: bool) -> Outcome | None:
    """Return the outcome of the flight of a step that ended with `status`; None while it is in doubt."""
    if status.is_done or status is events.StepStatus.PARTIAL:
        return Outcome.DONE
    if status is events.StepStatus.FAILED and not (repeatable or denied):
        return None
    return None if status is events.StepStatus.IN_DOUBT else Outcome.NOT_DONE


def entry_of(flight: Flight, outcome: Outcome, at: float, *, seen: bool, reason: str) -> Entry:
    """Return the entry with which a flight ends."""
    return Entry(
        flight.item,
        flight.text,
        outcome,
        flight.run,
        flight.step,
        flight.key,
        at,
        flight.occasion,
        seen,
        reason,
        flight.brings,
    )
