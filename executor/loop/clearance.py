"""Clear irreversible steps of one run: take the flight of a step, look whether it is so already, and rule.

`Clearance.clear` is called right before the handler would be: after approval, and before its lock and rate. The end of
the step settles its flight. No two runs of a journal ever have the flight of one step, on whatever hosts they are.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from executor.events import events
from executor.events.answers import (
    AGAIN,
    HAPPENED,
    NO,
    NOTHING,
    REFUSED,
    SO,
    YES,
    ask_for_created,
    interpret_answer,
    read_told_result,
)
from executor.events.fluent_values import FluentValue
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.ledger.records import Entry, Flight, Outcome
from executor.ledger.rulings import FIRST, UNSEEN_DONE, Asker, Ruling, Sight, Verdict, find_last_done, rule
from executor.loop.aftermath import object_to_result
from executor.loop.children import is_below
from executor.loop.effects import EffectFinder, Facts
from executor.loop.evidence import Evidence, Rest, View
from executor.loop.flights import Flights, make_wait
from executor.loop.locks_and_rates import wait_unless_cancelled
from executor.loop.parameters import describe_values
from executor.loop.step_identity import Brought
from executor.observe.observe import Lookout, LookResult
from executor.tools.clock import Clock
from executor.tools.json_data import data_of
from executor.tools.results import ActionResult
from planner.lightweight import dataclass, field, replace
from planner.model import Atom

SETTLED: Final = "somebody says that it happened"
DENIED: Final = "somebody says that it did not happen"
BY_WORD: Final = "somebody settled it in the ledger"
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
    _finder: EffectFinder = field(init=False)
    _evidence: Evidence = field(init=False)
    _values: dict[str, Mapping[str, Any]] = field(init=False, default_factory=dict)
    """The values with which steps are to be done, by step."""
    _known: dict[str, frozenset[Atom]] = field(init=False, default_factory=dict)
    """The facts that were believed when a step was about to begin, by step."""
    _planned_anew: set[tuple[str, str]] = field(init=False, default_factory=set)
    """Steps, with the steps of other runs on whose account the run has planned anew."""
    _looks: defaultdict[str, list[float]] = field(init=False, default_factory=partial(defaultdict, list))
    """When a step has taken its flight and looked, by step, in seconds of the event loop."""

    def __post_init__(self) -> None:
        self._finder = self.flights.finder
        self._evidence = Evidence(self.state, self.emit, self.lookout, self.clock, self.stopped, self._finder)

    async def describe_earlier(self, item: str) -> tuple[str, ...]:
        """Describe what was done or refused before of the step `item`, for its approval, which answers for it then."""
        _, entries = await self.flights.book.read(item)
        return _describe_latest(entries)

    async def is_already_so(self, record: StepRecord) -> bool:
        """Return whether conclusive observers see all of the effect of a step that has not begun; end it if so."""
        view = await self._evidence.look(record)
        if view.sight is Sight.HOLDS and not record.attempts:
            self._end_as_so(record, view, None)
            return True
        return False

    async def is_told_so(self, record: StepRecord) -> bool:
        """Return whether a person says, or is asked, if a step that cannot begin was done by another run.

        Where nobody asks that, as it was never done or conclusive observers do not see it, return False.
        """
        item = self.flights.identify(record)
        flight, entries = await self.flights.book.read(item)
        asker = self._describe_asker(record, entries)
        done = find_last_done(entries, replace(asker, repeats=True))
        if flight is not None or done is None or asker.accepts or asker.approves or asker.wants:
            return False
        rest, at = self._find_rest(record, None, entries), _find_last_time(entries)
        if (await self._evidence.look(record, rest=rest, done=at)).sight is Sight.MISSING:
            return False
        return await self._ask(Ruling(Verdict.ASK_AGAIN, UNSEEN_DONE, done), record, item, None) is False

    async def clear(self, record: StepRecord, item: str, values: Mapping[str, Any]) -> bool:
        """Take the flight of the step `item`, and return whether it may begin; else it has ended, or waits.

        Whoever is asked is shown the `values` of its data parameters.
        """
        self._values[record.id], self._known[record.id] = values, frozenset(self.state.beliefs.simulation.facts)
        while not self.stopped.is_set():
            await self.lookout.admit(self._finder.find_effect(record))  # not while it has the flight
            self._looks[record.id].append(asyncio.get_running_loop().time())
            other, entries = await self.flights.take(record, item)
            effect, holds = self._finder.find_effect(record), self.state.beliefs.holds
            known = {fact for fact, value in effect.items() if holds(fact) is value}
            flight = other or self.flights.get(record)
            rest = self._find_rest(record, other, entries)
            view = await self._evidence.look(record, flight, rest, done=_find_last_time(entries))
            if self.stopped.is_set():  # the look may have come before observers had their time
                break
            seen, shows = view.looked.seen, view.effect
            asker = replace(
                self._describe_asker(record, entries),
                is_idempotent="idempotent" in self.state.domain.actions[record.step.action].tags,
                knew_part=all(seen.get(fact) is not value or fact in known for fact, value in shows.items()),
            )
            is_alive = other is not None and await self.flights.is_alive(other)
            if other is None and self._is_told_done(record, entries):
                self._end_as_told(record, f"{SETTLED} (run {entries[-1].run!r})", self._find_told(record, entries[-1]))
                return False
            ruling = rule(view.sight, other, entries, asker, is_alive=is_alive)
            if ruling.verdict is Verdict.BEGIN and ruling.settles is None and not asker.accepts:
                refusal = self._find_refusal_of_like(record, effect, asker)
                if refusal is None:
                    ruling, other, view = await self._rule_on_others(record, view)
                else:
                    ruling = refusal
            cleared = await self._follow(ruling, record, item, view, other)
            if cleared:
                await self.flights.record_traces(record, self._evidence.write_traces(record.step, view.traces))
            if cleared is not None:
                return cleared
        self.flights.leave(record)
        return False

    async def settle(self, record: StepRecord, *, may_retry: bool) -> bool:
        """Settle a step of this run that is in doubt by another look; return whether that could be."""
        flight = self.flights.get(record)
        if flight is None or self.flights.is_left_at_work(flight.key):
            return False
        flight = self.flights.renew_doubt(flight)
        view = await self._evidence.look(record, flight, self._find_rest(record, flight, ()))
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

    def _find_rest(self, record: StepRecord, flight: Flight | None, entries: Sequence[Entry]) -> Rest:
        """Return what else tells whether a step was done that is in doubt, or that was done before, than its effect.

        What held when this run began is no evidence of its own attempt.
        """
        if flight is None and not any(each.outcome is Outcome.DONE for each in entries):
            return Rest()
        effect, declared = self._finder.find_effect(record), self._finder.find_declared(record.step)
        branches = self._finder.list_branches(record.step)
        if flight is not None and flight.run == self.state.run:
            initial = frozenset(self.state.source.initial)
            declared, branches = (
                {fact: holds for fact, holds in each.items() if (fact in initial) is not holds}
                for each in (declared, branches)
            )
        elif flight is not None and flight.brings:
            own = {self.state.objects.real_fact(each): each for each in declared}
            declared = {own.get(each, each): holds for each, holds in Brought.read(flight.brings).facts.items()}
        facts = {fact: holds for fact, holds in declared.items() if fact not in effect}
        needed = {fact: holds for fact, holds in facts.items() if not isinstance(fact, FluentValue)}
        signs = {fact: holds for fact, holds in {**facts, **branches}.items() if fact not in {*effect, *needed}}
        return Rest(needed, signs)

    def describe_candidates(self, record: StepRecord) -> str:
        """Describe the objects that a step may have created which is in doubt, for people."""
        named = [", ".join(each.values()) for each in self._evidence.candidates.get(record.id, ())]
        return f" It may have created {' or '.join(named[:MOST_NAMED])}." if named else ""

    def _find_refusal_of_like(self, record: StepRecord, effect: Facts, asker: Asker) -> Ruling | None:
        """Return the ruling that a refusal in this run asks for: it covers every step that brings the same fact."""
        for each in self.state.steps.values():
            is_refused = each is not record and each.reason.startswith(REFUSED) and not each.attempts
            if is_refused and not effect.items().isdisjoint(self._finder.find_declared(each.step).items()):
                verdict = Verdict.ASK_AGAIN if asker.may_ask else Verdict.REFUSED
                return Ruling(verdict, f"somebody has refused {self.flights.name(each)}, which is for the same")
        return None

    async def _rule_on_others(self, record: StepRecord, view: View) -> tuple[Ruling, Flight | None, View]:
        """Rule on a step that may begin by the ledger of all other steps that bring a fact of its effect.

        Return the ruling, with the flight that it speaks of and the latest view; `view` was looked at right before.
        """
        own = self.flights.identify(record)
        wanted = self.flights.describe(record, self._finder.find_effect(record), self._values.get(record.id))
        for item in await self.flights.book.find_like(wanted.marks):
            if item == own:
                continue
            flight, entries = await self.flights.book.read(item)
            if flight is not None and self.flights.has(flight):
                flight = None  # the run knows itself what its steps do
            elif flight is not None:
                flight = await self.flights.settle_other(flight)
            if flight is not None and not self._is_for_same(wanted, flight):
                flight = None
            entries = [each for each in entries if self._is_for_same(wanted, each) and self._may_tell(wanted, each)]
            if flight is None and not entries:
                continue
            if flight is not None:
                seen = await self._evidence.look(
                    record, replace(flight, traces=""), self._find_rest(record, flight, ())
                )
                view = replace(seen, traces=view.traces)
            asker = replace(self._describe_asker(record, entries), accepts=False, approves=False, repeats=True)
            is_alive = flight is not None and await self.flights.is_alive(flight)
            sight, told = view.sight, Brought.read((flight or entries[-1]).brings)
            is_other_way = wanted.shares_only_goals(told)
            if is_other_way:
                if self._is_taken_into_account(record, item, told):
                    continue
                sight = await self._evidence.look_at(told.facts, flight, _find_last_time(entries))
            ruling = rule(sight, flight, entries, asker, is_alive=is_alive)
            if is_other_way and ruling.verdict is Verdict.ALREADY:
                self._planned_anew.add((str(record.step), item))
                row = f"{(flight or entries[-1]).text} has brought about what it is for"
                return Ruling(Verdict.NEEDLESS, row), None, view
            if ruling.verdict in {Verdict.WAIT, Verdict.ALREADY}:
                return ruling, flight, view
            if ruling.verdict is Verdict.ASK_DOUBT and flight is not None:
                row = f"{flight.text} is for the same, and nobody can say whether it happened"
                return Ruling(Verdict.ASK_AGAIN, row), None, view
            if ruling.verdict is not Verdict.BEGIN and ruling.entry is not None:
                how = "was refused" if ruling.entry.outcome is Outcome.REFUSED else "was done"
                return replace(ruling, row=f"{ruling.entry.text} is for the same, and it {how}"), None, view
        return Ruling(Verdict.BEGIN, FIRST), None, view

    def _is_taken_into_account(self, record: StepRecord, item: str, told: Brought) -> bool:
        """Return whether the plan has the step `item` of another run itself, or was made knowing what it brings."""
        left_out = {events.StepStatus.SKIPPED, events.StepStatus.FAILED}
        own = [each for each in self.state.steps.values() if each.status not in left_out]
        if any(self.flights.identify(each) == item for each in own if self.state.is_irreversible(each)):
            return True
        if (str(record.step), item) in self._planned_anew:
            return True
        known = self._known[record.id]
        facts = [(fact, value) for fact, value in told.facts.items() if not isinstance(fact, FluentValue)]
        return all((fact in known) is value for fact, value in facts)

    def _may_tell(self, wanted: Brought, entry: Entry) -> bool:
        """Return whether an entry tells something of another way: this run knows itself what it has done."""
        is_word = entry.outcome is not Outcome.NOT_DONE and entry.run != self.state.run
        return is_word or not wanted.shares_only_goals(Brought.read(entry.brings))

    @staticmethod
    def _is_for_same(wanted: Brought, other: Flight | Entry) -> bool:
        """Return whether another step is for the same as the `wanted` one.

        What was done with another value was something else, but not what is in doubt, or was refused.
        """
        brought = Brought.read(other.brings)
        is_done = isinstance(other, Entry) and other.outcome is Outcome.DONE
        return not brought.differs(wanted) or (brought.shares_fact(wanted) and not is_done)

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
                return True
            case Verdict.BEGIN:
                return None
            case Verdict.WAIT:
                assert other is not None, "somebody is at it"
                return await self._give_way(record, other)
            case Verdict.REFUSED:
                self._refuse(record, item, "it was refused before")
                return False
            case Verdict.NEEDLESS:
                self.flights.leave(record)
                self.emit(events.StepEnded(record.id, events.StepStatus.SKIPPED, ruling.row))
                return False
        return await self._ask(ruling, record, item, other)

    def _describe_asker(self, record: StepRecord, entries: Sequence[Entry]) -> Asker:
        own = sum(1 for each in entries if each.run == self.state.run and each.outcome is Outcome.DONE)
        told = sum(1 for each in entries if each.outcome is not Outcome.NOT_DONE)
        return Asker(
            self.state.run,
            self.state.occasion,
            accepts=self._is_accepted(record, told) or self._is_denied(record, entries),
            approves=told > 0 and self._is_approved_again(record, _describe_latest(entries)),
            wants=self._is_asked_for(record) and not own,
            repeats=self._may_repeat(record, own),
            may_ask=not self.state.plan.basis.is_unattended,
        )

    def _is_approved_again(self, record: StepRecord, earlier: tuple[str, ...]) -> bool:
        """Return whether an approval that showed the `earlier` entries is meant for another time.

        A function that approves has to say so, as one that approves everything knows nothing of them.
        """
        question = f"approve:{record.id}"
        asked, answer = self.state.answered.get(question), self.state.answers.get(question)
        if asked is None or not {*earlier} <= {*asked.known}:
            return False
        return answer == AGAIN if question in self.state.answered_here else answer is not None

    def _is_asked_for(self, record: StepRecord) -> bool:
        """Return whether the request says that the step is to be done again."""
        wanted = {each.replace(" ", "") for each in self.state.again}
        return str(self.flights.name(record)).replace(" ", "") in wanted

    def _is_accepted(self, record: StepRecord, told: int) -> bool:
        """Return whether a person has said that the step is to be done, knowing the `told` entries."""
        name = _name_question(record, told)
        asked = self.state.answered.get(name)
        return asked is not None and interpret_answer(asked, self.state.answers.get(name)) == YES

    def _is_denied(self, record: StepRecord, entries: Sequence[Entry]) -> bool:
        """Return whether a person has told this run that the latest attempt did not happen: then it may be made."""
        if not entries or entries[-1].outcome is not Outcome.NOT_DONE or entries[-1].reason not in {DENIED, BY_WORD}:
            return False
        last = entries[-1]
        return (last.run, last.step) == (self.state.run, record.id) or self._has_settled(record, last)

    def _is_told_done(self, record: StepRecord, entries: Sequence[Entry]) -> bool:
        """Return whether a person has told this run, and the ledger, that the latest attempt happened."""
        return bool(entries) and entries[-1].outcome is Outcome.DONE and self._has_settled(record, entries[-1])

    def _has_settled(self, record: StepRecord, entry: Entry) -> bool:
        """Return whether a person has told this run what became of the attempt that has left `entry`."""
        asked = f"flight:{record.id}:{entry.run}/{entry.step}:"
        return any(each.startswith(asked) for each in self.state.answers)

    def _find_told(self, record: StepRecord, entry: Entry) -> Any:
        """Return what a person has told this run of the attempt that has left `entry`."""
        asked = f"flight:{record.id}:{entry.run}/{entry.step}:"
        return next(answer for name, answer in self.state.answers.items() if name.startswith(asked))

    def _may_repeat(self, record: StepRecord, done: int) -> bool:
        """Return whether the plan has more such steps than the `done` ones; a policy may take a step often."""
        if self.state.purpose_of(record) != "plan":
            return False
        if self.state.policy is not None:
            return True
        planned = [each.step for each in self.state.steps.values() if not each.because]
        same = record.step.action, self.flights.name_given(record.step)
        return done < sum(1 for step in planned if (step.action, self.flights.name_given(step)) == same)

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
        told = sum(1 for each in entries if each.outcome is not Outcome.NOT_DONE)
        is_doubt, creates = ruling.verdict is Verdict.ASK_DOUBT and other is not None, tuple[str, ...]()
        if is_doubt and other is not None:
            choices: tuple[str, ...] = (HAPPENED, NOTHING)
            name = f"flight:{record.id}:{other.run}/{other.step}:{other.since}"
            text = f"Nobody can say whether {other.text}, begun by run {other.run!r}, happened: {other.doubt}. Did it?"
            creates = tuple(each for each, at in record.plan.created.items() if self.state.objects.is_open(at))
            text += self.describe_candidates(record) + ask_for_created(creates)
        else:
            name, choices = _name_question(record, told), (YES, NO, SO)
            text = f"May {self.flights.name(record)} be done? {ruling.row[0].upper()}{ruling.row[1:]}."
        earlier = () if ruling.entry is None else (_describe_entry(ruling.entry),)
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
            self._end_as_told(record, "somebody says so")
            return False
        if meant == YES:
            return None  # the answer is among those of the run, and counts from now on
        self._decline(ruling, record, item)
        return False

    def _decline(self, ruling: Ruling, record: StepRecord, item: str) -> None:
        """End a step that a person does not want done: it was done before, or it is refused."""
        if ruling.entry is not None and ruling.entry.outcome is Outcome.DONE:
            self._end_as_told(record, f"{_describe_entry(ruling.entry)}; {_SKIPS}")
        else:
            self._refuse(record, item, f"somebody says that it must not be done ({ruling.row})")

    def _refuse(self, record: StepRecord, item: str, reason: str) -> None:
        self.flights.leave(record)
        self.flights.note_refusal(record, item, reason)
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

    def _end_as_told(self, record: StepRecord, reason: str, answer: Any = None) -> None:
        """End a step of which a person, or an entry, says that it was done before; `answer` may say what it created."""
        self.flights.leave(record)
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
            if fact in born or not self.state.beliefs.is_noted(fact) or self.state.beliefs.holds(fact) is None
        ]
        reason, result = f"{events.ALREADY_SO}: {reason}", None if told is None else data_of(told)
        self.emit(events.StepEnded(record.id, events.StepStatus.SKIPPED, reason, result, tuple(notes)))

    async def is_refused(self, record: StepRecord, item: str) -> bool:
        """Return whether a step of a run that nobody asked for was refused, or one for the same; end it if so."""
        if not self.state.plan.basis.is_unattended:
            return False
        _, entries = await self.flights.book.read(item)
        ruling = rule(Sight.MISSING, None, entries, self._describe_asker(record, entries), is_alive=False)
        if ruling.verdict is not Verdict.REFUSED:
            unseen = View(LookResult(), self._finder.find_effect(record), {}, Sight.MISSING)
            ruling, _, _ = await self._rule_on_others(record, unseen)
        if ruling.verdict is not Verdict.REFUSED:
            return False
        reason = f"{REFUSED} before: {ruling.row if ruling.entry is None else _describe_entry(ruling.entry)}"
        self.emit(events.StepEnded(record.id, events.StepStatus.FAILED, reason, repeatable=False, denied=True))
        return True


def _find_last_time(entries: Sequence[Entry]) -> float:
    """Return when a step was done last, in seconds since 1970; 0 if never."""
    return max((each.at for each in entries if each.outcome is Outcome.DONE), default=0.0)


def _name_question(record: StepRecord, told: int) -> str:
    """Name the question whether a step is to be done, in the light of so many entries."""
    return f"again:{record.id}" + (f":{told}" if told else "")


def _describe_entry(entry: Entry) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(entry.at))
    occasion = f" for {entry.occasion}" if entry.occasion else ""
    how = "was refused" if entry.outcome is Outcome.REFUSED else "was done" if entry.seen else "was done, as reported,"
    return f"{entry.text} {how} by run {entry.run!r}{occasion} at {when}"


def _describe_latest(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Describe what was done and what was refused last: a refusal does not hide what was done before it."""
    told = [each for each in entries if each.outcome is not Outcome.NOT_DONE]
    latest = {each.outcome: each for each in told}
    return tuple([_describe_entry(each) for each in told if each in latest.values()])


def _describe_already(by: Flight | Entry | None) -> str:
    if by is None:
        return events.ALREADY_SO
    return f"{events.ALREADY_SO}: run {by.run!r} has done it"
