"""Decide which steps of a plan in time may start now, when to look again, and whether deadlines can still be met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from executor.dispatching.build_network import build_network
from executor.dispatching.capacity_chains import chain_again
from executor.dispatching.dispatch_network import APART, TICKS, DispatchNetwork, Limit, ticks_of
from executor.dispatching.late_steps import defer_irreversible_steps
from executor.dispatching.moments import Moments
from executor.dispatching.present_problem import Present, find_running, is_at_work, make_present
from executor.dispatching.timetable import Planned, Timetable, as_decimal
from executor.events.events import BEGUN, Note, StepStatus, TimePassed
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.step_verdict import Expected
from executor.plans.suppositions import find_looks
from executor.tools.clock import Clock
from planner.errors import InputError, PlanError, UnsupportedError
from planner.model.arithmetic import Exact
from planner.model.domain import numeric_fluents

NOISE: Final = 1e-6
"""Seconds that sums of floats may be off."""
LONGEST_SLEEP: Final = 60.0
"""Longest wait for a known time, in seconds: the clock of the machine may be set meanwhile, or stand still."""


@dataclass(slots=True, eq=False)
class Dispatcher:
    """Dispatches the plan of one run by its temporal network."""

    state: RunState
    clock: Clock
    held: bool = False
    """Whether nothing starts, because a deadline cannot be met by this plan."""
    _network: DispatchNetwork | None = field(init=False, default=None)
    _broken: str = field(init=False, default="")
    """Why the plan does not lead to the goal any more."""
    _version: tuple[int, ...] = field(init=False, default=(-1,))
    _noted: tuple[int, ...] = field(init=False, default=(-1, -1))
    """Counts of what had happened when the network was last brought up to date."""
    _moments: Moments | None = field(init=False, default=None)
    _quiet_until: int = field(init=False, default=0)
    """Tick before which nothing starts: shortly after something has ended."""
    _looked: int | None = field(init=False, default=None)
    """Tick at which it was last looked what may start, until it is waited for: what may since is no news yet."""
    _happened: int = field(init=False, default=0)
    """Number of steps that have ended and of changes at known times that have come about."""

    @property
    def timetable(self) -> Timetable:
        """The times of the run."""
        assert self.state.timetable is not None, "the run has a plan in time"
        return self.state.timetable

    @property
    def moments(self) -> Moments:
        """The starts and ends of the steps of the present problem."""
        if self._moments is None or self._moments.problem is not self.state.problem:
            self._moments = Moments(self.state.problem)
        return self._moments

    def now(self) -> int:
        """Return the present tick."""
        return round(self.timetable.seconds(self.clock.time()) * TICKS)

    def make_present(self, again: str = "") -> Present:
        """Return the problem that is left now, and in which the step with the id `again` has not begun."""
        return make_present(self.state, self.timetable, Decimal(self.now()) / TICKS, again)

    def find_left(self) -> list[StepRecord]:
        """Return the steps of the plan that have not begun."""
        waiting = [each for each in self.state.with_status(*BEGUN) if each.begun_at is None]
        return [*self.state.pending(), *waiting]

    def build(self, left: Sequence[StepRecord], again: str = "") -> DispatchNetwork:
        """Return the network of the steps `left` and of those at work; raises `PlanError` if they do not work.

        The step with the id `again` is among those left, and counts as one that has not begun.
        """
        begun = {
            each.id: ticks_of(as_decimal(self.timetable.seconds(each.begun_at)))
            for each in find_running(self.state)
            if each.begun_at is not None and each.id != again
        }
        planned: Mapping[str, Planned] = self.timetable.planned
        now = as_decimal(self.now() / TICKS)
        for id_ in begun:
            if id_ not in planned:
                planned = {**planned, id_: Planned(now, Decimal(0))}
        steps = [(each.id, each.step) for each in left]
        return build_network(self.make_present(again), steps, planned, begun, self._find_looks(left))

    def _find_looks(self, left: Sequence[StepRecord]) -> list[tuple[str, str]]:
        """Return the ids of steps that sense, and of later ones that suppose what is sensed."""
        records = [*find_running(self.state), *left]
        if not any(each.plan.supposes for each in records):
            return []
        steps, plans = [each.step for each in records], [each.plan for each in records]
        found = find_looks(self.state.domain, steps, plans)
        return [(records[earlier].id, records[later].id) for earlier, later, _ in found]

    def update(self) -> None:
        """Build the network anew if the state of the run has changed, and note which steps have started since."""
        version = self._count_changes()
        if version != self._version:
            self._version = version
            happened = len(self.state.finished) + len(self.timetable.passed)
            if happened != self._happened:
                self._happened, self._quiet_until = happened, self.now() + APART
            if not self._note_ends():
                try:
                    self._network, self._broken = self.build(self.find_left()), ""
                except (PlanError, InputError, UnsupportedError) as error:
                    self._network, self._broken = None, str(error)
            self._defer()
            self._noted = self._count_changes()
        if self._network is not None:
            for record in find_running(self.state):
                known = self._network.starts.get(record.id)
                if known is not None and known not in self._network.happened and record.begun_at is not None:
                    self._network.note_start(record.id, ticks_of(as_decimal(self.timetable.seconds(record.begun_at))))

    def _defer(self) -> None:
        """Let irreversible steps wait for the others, as long as that keeps the deadlines."""
        if self._network is not None:
            late = {each.id for each in self.find_left() if self.state.is_irreversible(each)}
            stalled = [each.id for each in self.state.with_status(StepStatus.WAITING, StepStatus.IN_DOUBT)]
            defer_irreversible_steps(self._network, late, self.now(), stalled, self.state.serves_other_goals)

    def _count_changes(self) -> tuple[int, ...]:
        """Return the counts of events, and of those by which the network may not fit any more."""
        state = self.state
        begun_again = sum(each.attempts for each in find_running(state) if each.attempts > 1)
        return state.version, state.changes, state.settled, state.surprises, begun_again

    def _note_ends(self) -> bool:
        """Note which steps have ended in the network, if nothing else has happened, and as expected.

        That takes a fifth of the time of a new network. What numbers are after a step may differ from what was
        expected, so that a domain with numbers gets a new one.
        """
        network, known, now = self._network, self._noted, self._count_changes()
        if network is None or now[1:] != known[1:] or numeric_fluents(self.state.problem.domain):
            return False
        ended = [
            record
            for record in map(self.state.steps.__getitem__, network.starts)
            if network.ends[record.id] not in network.happened or network.ends[record.id] in network.at_work
            if record.status is StepStatus.SUCCEEDED
        ]
        if len(ended) != now[0] - known[0]:
            return False
        for record in ended:
            at = self.now() if record.ended is None else ticks_of(as_decimal(self.timetable.seconds(record.ended)))
            if not network.note_end(record.id, at):
                return False
        if self.state.problem.capacity:
            if any(is_at_work(step.action) for step in network.steps.values()):
                return False  # it was built while steps were at work, and knows them by other names
            try:
                chain_again(network, self.state.problem, self.timetable.planned)
            except PlanError:
                return False
        return True

    def find_lateness(self) -> str:
        """Return which deadline the plan cannot meet, or why it does not work any more; "" if it does."""
        if self._network is None:
            return self._broken
        missed = self._find_missed()
        if missed:
            return missed
        late, times = self._find_late(self._network)
        if late and self._network.deferred:  # there is no time left to wait for what need not come before
            self._defer()
            late, times = self._find_late(self._network)
        if isinstance(late, str):
            return self._name(late) if late else ""
        node, when = self._network.nodes[late.node], times[late.node] / TICKS
        return self._name(f"{late.what} cannot be met any more: {node} comes at {when:g} s")

    def _find_late(self, network: DispatchNetwork) -> tuple[Limit | str, list[int]]:
        """Return the limit that the plan breaks by the most, or why it has no times; "" if it keeps all; and times."""
        times = network.find_earliest(self.now())
        return (times, []) if isinstance(times, str) else (network.find_late(times) or "", times)

    def _find_missed(self) -> str:
        """Return which deadline is over without what was due; "" if there is none."""
        now = self.timetable.seconds(self.clock.time())
        for number, due in enumerate(self.state.problem.due):
            if due.weight is None and number not in self.timetable.reached and now > due.by:
                return f"{due.condition} was due at {due.by} s, and it was not reached"
        return ""

    def find_overrun(self) -> str:
        """Return which deadline was met too late, so that no plan mends it; "" if there is none."""
        if self.state.is_undoing:
            return ""
        for number, due in enumerate(self.state.problem.due):
            at = self.timetable.reached.get(number)
            if due.weight is None and at is not None and at > float(due.by) + NOISE:
                return f"{due.condition} was due at {due.by} s, and it was reached at {at:g} s"
        deadline = self.state.problem.deadline
        ended = [each.ended for each in self.state.steps.values() if each.status.is_done and each.ended is not None]
        last = self.timetable.seconds(max(ended)) if ended and deadline is not None else 0.0
        if deadline is None or last <= float(deadline) + NOISE:
            return ""
        return f"the deadline was at {deadline} s, and a step ended at {last:g} s"

    def find_restart(self, record: StepRecord) -> float | str:
        """Return how many seconds the next attempt at a step may wait, or why it cannot be made within the plan."""
        now = self.now()
        try:
            network = self.build([*self.find_left(), record], again=record.id)
        except (PlanError, InputError, UnsupportedError) as error:
            return str(error)
        times = network.find_earliest(now)
        if isinstance(times, str):
            return times.replace(record.id, str(record.step))
        late = network.find_late(times)
        if late is not None:
            return f"{late.what} cannot be met any more"
        return (network.find_latest_start(record.id, now) - now) / TICKS

    def _name(self, text: str) -> str:
        """Return `text` with steps in place of their ids."""
        assert self._network is not None, "there is a network"
        for about in sorted(self._network.starts, key=len, reverse=True):
            text = text.replace(f" of {about} ", f" of {self.state.steps[about].step} ")
            if text.endswith(f" of {about}"):
                text = text.removesuffix(about) + str(self.state.steps[about].step)
        return text

    def take_ready(self, at_work: Iterable[str], most: int | None, is_held: Callable[[str], bool]) -> list[str]:
        """Return the steps that may start now, while `at_work` have been begun and at most `most` may be.

        An irreversible step that the plan takes twice waits for the end of the first one.
        """
        at_work = list(at_work)
        now = self._looked = self.now()
        if self._network is None or self.held or now < self._quiet_until:
            return []
        times = self._network.find_earliest(now)
        if isinstance(times, str):
            return []
        ready = [each for each in self._network.find_ready(now, times) if each not in at_work and not is_held(each)]
        ready = [each for each in ready if self.state.steps[each].is_pending]
        ready = list(self._leave_out_repeated(ready, at_work))
        return ready if most is None else ready[: max(most - len(at_work), 0)]

    def _leave_out_repeated(self, ready: Sequence[str], at_work: Iterable[str]) -> Iterator[str]:
        """Yield the steps that are `ready`, without irreversible ones that are the same as one before, or `at_work`."""
        records = [self.state.steps[each] for each in at_work]
        records += self.state.with_status(*BEGUN)
        begun = {each.step for each in records}
        for id_ in ready:
            record = self.state.steps[id_]
            if not (record.step in begun and self.state.is_irreversible(record)):
                begun.add(record.step)
                yield id_

    def has_ready(self, is_held: Callable[[str], bool]) -> bool:
        """Return whether some step may start now, for which not `is_held`."""
        return bool(self.take_ready((), None, is_held))

    def has_coming(self, is_held: Callable[[str], bool]) -> bool:
        """Return whether a step that is left comes when its time has come, for which not `is_held`.

        None does that comes after a step that is held, waits, or is in doubt.
        """
        network = self._network
        if network is None or self.held:
            return False
        stalled = {each.id for each in self.state.with_status(StepStatus.WAITING, StepStatus.IN_DOUBT)}
        left = [each.id for each in self.find_left() if each.id not in stalled and each.id in network.starts]
        stalled |= {each for each in left if is_held(each)}
        behind = {
            node for each in stalled if each in network.ends for node in network.find_following(network.ends[each])
        }
        return any(each not in stalled and network.starts[each] not in behind for each in left)

    def is_waiting(self) -> bool:
        """Return whether steps, or what the goal needs, will come when their time has come."""
        if self._network is None or self.held:
            return False
        if self.find_left():
            return True
        return bool(self.timetable.to_come) and not self.state.beliefs.is_true(self.state.goal)

    def seconds_to_news(self) -> float | None:
        """Return the seconds until something may start, comes about, or is too late; None if nothing will."""
        now, self._looked = self.now() if self._looked is None else self._looked, None
        moments = [now + int(LONGEST_SLEEP * TICKS)] if self.timetable.to_come or self.find_left() else []
        moments += [ticks_of(Decimal(effect.time)) for _, effect in self.timetable.to_come[:1]]
        if self._quiet_until > now:
            moments.append(self._quiet_until)
        if self._network is not None:
            times = self._network.find_earliest(now)
            following = None if isinstance(times, str) else self._network.find_next(now, times)
            alarm = self._network.find_alarm(now)
            moments += [each for each in (following, alarm) if each is not None]
        due = [
            ticks_of(Decimal(each.by)) + 1
            for number, each in enumerate(self.state.problem.due)
            if each.weight is None and number not in self.timetable.reached
        ]
        moments += [each for each in due if each > now]
        return None if not moments else max(min(moments) - self.now(), 1) / TICKS

    def find_passed(self) -> list[TimePassed]:
        """Return the changes at known times that have come about since, the earliest first; one at a time."""
        now = self.now()
        for number, effect in self.timetable.to_come:
            if ticks_of(Decimal(effect.time)) <= now:
                facts = self.moments.note_timed(self.state.beliefs, effect, find_running(self.state))
                return [TimePassed(number, facts)]
            break
        return []

    def find_start_objection(self, record: StepRecord) -> str:
        """Return why a step cannot start now, by what is believed; "" if it can."""
        others = [each for each in find_running(self.state) if each.id != record.id]
        return self.moments.find_start_objection(self.state.beliefs, record.step, others)[0]

    def expect_end(self, record: StepRecord) -> Expected:
        """Return the effects of a step that ends now."""
        now = self.clock.time()
        lasted = as_decimal(max(now - (now if record.begun_at is None else record.begun_at), 0.0))
        return self.moments.expect_end(self.state.beliefs, record, find_running(self.state), lasted)

    def find_capacities(self, record: StepRecord) -> dict[str, Exact]:
        """Return how much of each capacity a step holds."""
        return self.moments.capacities_of(self.state.beliefs, record.step)

    def has_capacities(self, record: StepRecord, taken: Mapping[str, Exact]) -> bool:
        """Return whether a step can hold what it needs: beside the steps of its run, and what others have `taken`."""
        needs = self.find_capacities(record)
        for other in find_running(self.state):
            if other.id != record.id:
                for name, amount in self.find_capacities(other).items():
                    needs[name] = needs.get(name, 0) + amount
        total = self.state.problem.capacity
        return all(amount + taken.get(name, 0) <= total.get(name, 0) for name, amount in needs.items() if name in taken)

    def find_duration(self, record: StepRecord) -> float | None:
        """Return how many seconds a step is planned to last."""
        planned = self.timetable.planned.get(record.id)
        return None if planned is None else float(planned.duration)

    def note_start(self, record: StepRecord) -> tuple[Note, ...]:
        """Return notes on what the start of a step changes."""
        return self.moments.note_start(self.state.beliefs, record.step, find_running(self.state))
