"""Rule on an irreversible step by what the ledger knows of the others that are for the same.

Another step is for the same if it brings about a fact that the plan takes from this one, or if it is another way to
what the step is for in the end: a part of the goal, such as a disjunct, or a task. A plan that pays by card waits while
somebody transfers the money, and asks where that is in doubt, was refused, or was done and nobody can look. A patch
that transfers the money asks where the run has paid by card, and nothing that is left makes use of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from executor.events.events import LEFT_OUT
from executor.events.fluent_values import FluentValue
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.ledger.records import Entry, Flight, Outcome
from executor.ledger.rulings import FIRST, HELD, Asker, Ruling, Sight, Verdict, find_last_done, find_refusal, rule
from executor.loop.asker import describe_asker, describe_entry, describe_replacement, is_approved_again
from executor.loop.evidence import Evidence, View, find_last_time
from executor.loop.flights import Flights
from executor.loop.step_identity import Brought, mark_goal
from planner.lightweight import dataclass, field, replace
from planner.model import Atom


@dataclass(slots=True, eq=False)
class OtherWays:
    """Rules on the steps of one run by the flights and entries of all other steps that are for the same."""

    state: RunState
    flights: Flights
    evidence: Evidence
    _planned_anew: set[tuple[str, str]] = field(init=False, default_factory=set)
    """Steps, with the steps of other runs on whose account the run has planned anew."""

    async def rule(
        self, record: StepRecord, wanted: Brought, view: View, known: AbstractSet[Atom]
    ) -> tuple[Ruling, Flight | None, View]:
        """Rule on a step that may begin, from which the plan takes what is `wanted`; it knew the facts `known`.

        Return the ruling, with the flight that it speaks of and the latest view; `view` was looked at right before.
        """
        own, is_told = self.flights.identify(record), False
        for item in await self.flights.find_like(record, wanted):
            flight, entries, told = (None, [], None) if item == own else await self._read(item, wanted)
            if told is None:
                continue
            if flight is not None:
                further = self.evidence.find_further(record, flight, told=told)
                seen = await self.evidence.look(record, replace(flight, traces=""), further)
                view = replace(seen, traces=view.traces)
            sight, is_other_way = view.sight, wanted.shares_only_goals(told)
            if is_other_way:
                if flight is not None and await self._is_settled(flight, told):
                    flight, entries, told = None, *(await self._read(item, wanted))[1:]
                    if told is None:
                        continue
                replaced = self._find_replaced(record, told, entries, known)
                if replaced is not None and is_approved_again(self.state, record, (replaced.row,)):
                    is_told = True
                    continue
                if replaced is not None:
                    return replaced, None, view
                if self._is_taken_into_account(record, item, wanted, told, known):
                    continue
                sight = await self.evidence.look_at(told.facts, flight, find_last_time(entries))
            ruling = await self._rule_as_own(record, sight, flight, entries)
            other = flight or entries[-1]
            match ruling.verdict:
                case Verdict.ALREADY if is_other_way:
                    row, key = f"{other.text} is for the same, and it has happened", (str(record.step), item)
                    is_wanted_still = key in self._planned_anew
                    self._planned_anew.add(key)
                    entry = entries[-1] if entries else None
                    return Ruling(Verdict.ASK_AGAIN if is_wanted_still else Verdict.NEEDLESS, row, entry), None, view
                case Verdict.WAIT | Verdict.ALREADY:
                    return ruling, flight, view
                case Verdict.ASK_DOUBT:
                    row = f"{other.text} is for the same, and nobody can say whether it happened"
                    return Ruling(Verdict.ASK_AGAIN, row), None, view
                case Verdict.ASK_AGAIN | Verdict.REFUSED if ruling.entry is not None:
                    is_refusal = ruling.entry.outcome is Outcome.REFUSED
                    if is_refusal and is_approved_again(self.state, record, (describe_entry(ruling.entry),)):
                        continue
                    how = "was refused" if is_refusal else "was done"
                    return replace(ruling, row=f"{ruling.entry.text} is for the same, and it {how}"), None, view
        left = None if is_told else self._find_left_behind(record)
        return left or Ruling(Verdict.BEGIN, FIRST), None, view

    def _find_left_behind(self, record: StepRecord) -> Ruling | None:
        """Return the ruling on a step that would be done in the place of what somebody else has brought about."""
        told = self.flights.aims.find_left_behind(record)
        row = f"{told}, and {self.flights.name(record)} would be done in its place"
        return Ruling(Verdict.ASK_AGAIN, row) if told and not is_approved_again(self.state, record, (row,)) else None

    async def describe_others(self, record: StepRecord, wanted: Brought, known: AbstractSet[Atom]) -> list[str]:
        """Describe what is for the same as a step and was refused, or was done in another way and is to be replaced.

        The approval of the step answers for it.
        """
        found, own = list[str](), self.flights.identify(record)
        for item in await self.flights.find_like(record, wanted):
            _, entries, told = (None, (), None) if item == own else await self._read(item, wanted)
            if told is None:
                continue
            is_other_way = wanted.shares_only_goals(told)
            replaced = self._find_replaced(record, told, entries, known) if is_other_way else None
            refusal = find_refusal(entries, self.state.occasion)
            if replaced is not None:
                found.append(replaced.row)
            elif refusal and not (is_other_way and self._is_taken_into_account(record, item, wanted, told, known)):
                found.append(describe_entry(refusal))
        left = self._find_left_behind(record)
        return [*found, left.row] if left is not None and not found else found

    async def _read(self, item: str, wanted: Brought) -> tuple[Flight | None, list[Entry], Brought | None]:
        """Return the flight and the entries of another step that are for the same, and what the latest is for."""
        flight, entries = await self.flights.book.read(item)
        if flight is not None and self.flights.has(flight):
            flight = None  # the run knows itself what its steps do
        elif flight is not None:
            flight = await self.flights.settle_other(flight)
            if flight is None:  # it has left an entry
                _, entries = await self.flights.book.read(item)
        told = [(each, Brought.read(each.brings)) for each in entries]
        told = [(each, it) for each, it in told if _is_for_same(wanted, each, it)]
        found = [each for each, _ in told]
        if flight is not None:
            brought = Brought.read(flight.brings)
            if _is_for_same(wanted, flight, brought):
                return flight, found, brought
        return None, found, told[-1][1] if told else None

    async def _rule_as_own(
        self, record: StepRecord, sight: Sight, flight: Flight | None, entries: Sequence[Entry]
    ) -> Ruling:
        """Rule on a step as if the `flight` and the `entries` of another one were its own."""
        asker = describe_asker(self.flights, record, entries)
        asker = replace(asker, accepts=False, approves=False, repeats=True)
        is_alive = flight is not None and await self.flights.is_alive(flight)
        return rule(sight, flight, entries, asker, is_alive=is_alive)

    async def _is_settled(self, flight: Flight, told: Brought) -> bool:
        """Return whether a flight that is over is seen to have happened; settle it if so."""
        if flight.is_waiting or await self.flights.is_alive(flight):
            return False
        if await self.evidence.look_at(told.facts, flight, 0.0) is not Sight.HOLDS:
            return False
        self.flights.end(flight, Outcome.DONE, seen=True, reason=HELD)
        return True

    def _find_replaced(
        self, record: StepRecord, told: Brought, entries: Sequence[Entry], known: AbstractSet[Atom]
    ) -> Ruling | None:
        """Return the ruling on a step that was added to the plan in the place of another one that was done.

        That is so if the run has done the other one, or knows what it has brought, and nothing that is left takes this
        to the part of the goal for which both are. What a person accepted, with both in it, replaces nothing.
        """
        done = find_last_done(entries, Asker(self.state.run, self.state.occasion))
        if done is None or not record.because:
            return None
        is_own, facts = done.run == self.state.run, self._list_facts(told)
        if not is_own and not (facts and _are_known(facts, known)):
            return None
        names = {mark_goal(self.flights.world, each): each for each in self.flights.name_goals(record)}
        goals = [names[each] for each in told.goals if each in names]
        if not goals or self.flights.aims.is_taken_up(facts, done.step if is_own else "", goals):
            return None
        parts = self.flights.aims.name_goals(record)
        named = [each for each in goals if each in parts] or goals
        row = describe_replacement(done, named, str(self.flights.name(record)), self.state.run)
        return Ruling(Verdict.ASK_AGAIN, row, done)

    def _list_facts(self, told: Brought) -> dict[Atom, bool]:
        """Return the facts that another step brings, and no numbers, with the names that objects have in the plan."""
        renamed = self.state.objects.renamed
        return {renamed(each): holds for each, holds in told.facts.items() if not isinstance(each, FluentValue)}

    def _is_taken_into_account(
        self, record: StepRecord, item: str, wanted: Brought, told: Brought, known: AbstractSet[Atom]
    ) -> bool:
        """Return whether the plan has the step `item` of another run itself, or was made knowing what it brings.

        A plan that was made anew on its account takes it into account if it wants more of this step than that has told.
        """
        own = [each for each in self.state.steps.values() if each.status not in LEFT_OUT]
        if any(self.flights.identify(each) == item for each in own if self.state.is_irreversible(each)):
            return True
        if (str(record.step), item) in self._planned_anew:
            return not {*wanted.goals} <= {*told.goals}
        return _are_known(self._list_facts(told), known)


def _are_known(facts: Mapping[Atom, bool], known: AbstractSet[Atom]) -> bool:
    return all((fact in known) is holds for fact, holds in facts.items())


def _is_for_same(wanted: Brought, other: Flight | Entry, told: Brought) -> bool:
    """Return whether another step is for the same as the `wanted` one.

    What was done with another value was something else, but not what is in doubt, or was refused.
    """
    outcome = other.outcome if isinstance(other, Entry) else None
    if outcome is Outcome.NOT_DONE and wanted.shares_only_goals(told):
        return False
    is_done = outcome is Outcome.DONE
    return not told.differs(wanted) or (told.shares_fact(wanted) and not is_done)
