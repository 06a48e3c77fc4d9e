"""Monitor the constraints of a problem state by state and step by step while a plan is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from planner.lightweight import dataclass, replace
from planner.model import OPEN, Constraint, ConstraintKind, Done, Number
from planner.model.actions import Happening
from planner.plan import Step
from planner.semantics.condition_solver import Condition
from planner.semantics.durations import SEPARATION
from planner.semantics.simulation import Simulation


class ConstraintMonitor:
    """The progress of one constraint: `broken` for good, or `unmet` if the plan ends here."""

    def __init__(self, constraint: Constraint, simulation: Simulation) -> None:
        self.constraint = constraint
        self.broken = False
        self._what = _compile(constraint.what, simulation)
        self._other = None if constraint.other is None else _compile(constraint.other, simulation)
        self._what_before = False
        self._other_before = False
        self._holds = False
        self._beginnings = 0

    def change_objects(self, simulation: Simulation) -> None:
        """Read the constraint anew for the objects of `simulation`; what has happened stays."""
        self._what = _compile(self.constraint.what, simulation)
        self._other = None if self.constraint.other is None else _compile(self.constraint.other, simulation)

    @property
    def unmet(self) -> bool:
        """Whether the constraint requires a happening that is still to come."""
        return self.constraint.kind is ConstraintKind.SOMETIME and not self._what_before

    def look(self, simulation: Simulation, step: Step | None = None, *, in_part: bool = False) -> None:
        """Observe `step`; without one, observe the present state.

        A step that ran only `in_part` can break the constraint but not meet it.
        """
        what = _happens(self._what, simulation, step)
        other = _happens(self._other, simulation, step)
        match self.constraint.kind:
            case ConstraintKind.ALWAYS:
                self.broken |= what is False
            case ConstraintKind.AT_MOST:
                if what is not None:
                    begins = what and (step is not None or not self._holds)
                    self._beginnings, self._holds = self._beginnings + begins, what
                    self.broken |= self._beginnings > self.constraint.times
            case ConstraintKind.BEFORE:
                self.broken |= bool(other) and not self._what_before
            case ConstraintKind.NEVER_AFTER:
                self.broken |= bool(what) and self._other_before
        self._what_before |= bool(what) and not in_part
        self._other_before |= bool(other)

    def progress(self, simulation: Simulation) -> Constraint | None:
        """Progress the constraint to the rest of the plan, which begins in the present state; None where it is met.

        A broken constraint stays broken; its progression asks that it be broken no further.
        """
        kind, what_holds = self.constraint.kind, bool(_happens(self._what, simulation, None))
        if kind in (ConstraintKind.SOMETIME, ConstraintKind.BEFORE) and self._what_before:
            return None
        if kind is ConstraintKind.AT_MOST:
            return replace(self.constraint, times=max(self.constraint.times - self._beginnings, 0) + what_holds)
        if kind is ConstraintKind.NEVER_AFTER and self._other_before and not _happens(self._other, simulation, None):
            return replace(self.constraint, kind=ConstraintKind.AT_MOST, other=None, times=int(what_holds))
        return self.constraint

    @property
    def key(self) -> tuple[bool, bool, bool, bool, int]:
        """The memory of the monitor: two monitors with equal keys judge all continuations alike."""
        count = min(self._beginnings, self.constraint.times + 1)
        return self.broken, self._what_before, self._other_before, self._holds, count


class ConstraintMonitors:
    """Monitors of all constraints of a problem."""

    def __init__(self, simulation: Simulation) -> None:
        self._all = [ConstraintMonitor(constraint, simulation) for constraint in simulation.problem.constraints]
        self.look(simulation)

    def switch_to(self, constraints: Iterable[Constraint], simulation: Simulation) -> ConstraintMonitors:
        """Return monitors of other `constraints`; those that stay keep their monitors."""
        known, twin = {watch.constraint: watch for watch in self._all}, copy(self)
        twin._all = [known.get(each) or ConstraintMonitor(each, simulation) for each in constraints]  # noqa: SLF001 - its own
        for watch in twin._all:  # noqa: SLF001 - as above
            if watch.constraint not in known:
                watch.look(simulation)
        return twin

    def look(self, simulation: Simulation, step: Step | None = None, *, in_part: bool = False) -> None:
        """Observe `step`, perhaps run only `in_part`; without one, observe the present state."""
        for watch in self._all:
            watch.look(simulation, step, in_part=in_part)

    def change_objects(self, simulation: Simulation) -> None:
        """Read the constraints anew for the objects of `simulation`."""
        for watch in self._all:
            watch.change_objects(simulation)

    def copy(self) -> ConstraintMonitors:
        """Return independent monitors with the same memory."""
        twin = ConstraintMonitors.__new__(ConstraintMonitors)
        twin._all = [copy(watch) for watch in self._all]  # noqa: SLF001 - its own
        return twin

    @property
    def key(self) -> tuple[object, ...]:
        """The memory of all monitors."""
        return tuple([watch.key for watch in self._all])

    def progress(self, simulation: Simulation) -> tuple[Constraint, ...]:
        """Progress the constraints to the rest of the plan (Bacchus and Kabanza, 1998)."""
        return tuple([left for each in self._all if (left := each.progress(simulation)) is not None])

    @property
    def broken(self) -> Constraint | None:
        """The first hard constraint that is broken by now."""
        return next((each.constraint for each in self._all if each.broken and each.constraint.utility is None), None)

    @property
    def unmet(self) -> Iterator[Constraint]:
        """The hard constraints that are unmet if the plan ends here."""
        return (each.constraint for each in self._all if each.unmet and each.constraint.utility is None)

    @property
    def forgone(self) -> Iterator[Constraint]:
        """The soft constraints that are broken or unmet if the plan ends here."""
        soft = (each for each in self._all if each.constraint.utility is not None)
        return (each.constraint for each in soft if each.broken or each.unmet)


@dataclass(slots=True)
class _TimedMonitor:
    """The progress of one constraint of a plan in time; `what_at` and `other_at` are the first times of its parts."""

    constraint: Constraint
    what: Done | Condition
    other: Done | Condition | None
    broken: bool = False
    holds: bool = False
    beginnings: int = 0
    what_at: Number | None = None
    other_at: Number | None = None

    def close(self, time: Number, simulation: Simulation, begun: Sequence[Step], ended: Sequence[Step]) -> None:
        """Observe the moment `time`, at which steps have `begun` and `ended`, by the state after it."""
        kind, is_step = self.constraint.kind, isinstance(self.what, Done)
        starts = [covers(self.what, step) for step in begun] if isinstance(self.what, Done) else []
        now = any(starts) if isinstance(self.what, Done) else bool(_happens(self.what, simulation, None))
        met = any(covers(self.what, step) for step in ended) if isinstance(self.what, Done) else now
        if isinstance(self.other, Done):
            other_now = any(covers(self.other, step) for step in begun)
        else:
            other_now = self.other is not None and bool(_happens(self.other, simulation, None))
        is_other_step = isinstance(self.other, Done)
        match kind:
            case ConstraintKind.ALWAYS:
                self.broken |= not all(starts) if is_step else not now
            case ConstraintKind.AT_MOST:
                self.beginnings += sum(starts) if is_step else now and not self.holds
                self.broken |= self.beginnings > self.constraint.times
            case ConstraintKind.BEFORE if other_now:
                gap = 0 if is_step and not is_other_step else SEPARATION
                first = time if met and not gap else self.what_at
                self.broken |= first is None or first > time - gap
            case ConstraintKind.NEVER_AFTER if now:
                together = is_other_step and not is_step and other_now
                self.broken |= together or (self.other_at is not None and self.other_at < time)
        self.holds = now
        if met and self.what_at is None:
            self.what_at = time
        if other_now and self.other_at is None:
            self.other_at = time


class TimedMonitors:
    """Monitors of the constraints of a plan in time, judged by the states after all happenings of each moment.

    A step counts from its start where it may break a constraint, and from its end where it meets one. What must come
    before something else comes at least `SEPARATION` before it. The initial state lies before every moment.
    """

    def __init__(self, constraints: Sequence[Constraint], simulation: Simulation) -> None:
        self._all = [
            _TimedMonitor(
                each,
                _compile(each.what, simulation),
                None if each.other is None else _compile(each.other, simulation),
            )
            for each in constraints
        ]
        self.close(-2 * SEPARATION, simulation, (), ())

    def close(self, time: Number, simulation: Simulation, begun: Sequence[Step], ended: Sequence[Step]) -> None:
        """Observe the moment `time`, at which steps have `begun` and `ended`, by the state after it."""
        for each in self._all:
            each.close(time, simulation, begun, ended)

    @property
    def broken(self) -> Constraint | None:
        """The first hard constraint that is broken by now."""
        return next((each.constraint for each in self._all if each.broken and each.constraint.utility is None), None)

    @property
    def unmet(self) -> Constraint | None:
        """The first hard constraint that is not met if the plan ends here."""
        return next((each.constraint for each in self._all if _lacks(each) and each.constraint.utility is None), None)

    @property
    def forgone(self) -> list[Constraint]:
        """The soft constraints that are broken, or not met if the plan ends here."""
        soft = [each for each in self._all if each.constraint.utility is not None]
        return [each.constraint for each in soft if each.broken or _lacks(each)]


def _lacks(monitor: _TimedMonitor) -> bool:
    return monitor.constraint.kind is ConstraintKind.SOMETIME and monitor.what_at is None


def _compile(happening: Happening, simulation: Simulation) -> Done | Condition:
    return happening if isinstance(happening, Done) else simulation.rules.compiler.compile(happening)


def _happens(happening: Done | Condition | None, simulation: Simulation, step: Step | None) -> bool | None:
    """Return whether `happening` occurs with `step`, or in the present state; None where it is of the other sort."""
    if happening is None or isinstance(happening, Done) is (step is None):
        return None
    if step is None:
        assert not isinstance(happening, Done)
        return simulation.world.solver.holds(happening, {})
    assert isinstance(happening, Done)
    return covers(happening, step)


def covers(pattern: Done, step: Step) -> bool:
    """Return whether `pattern` covers `step`; arguments that the pattern leaves out are open."""
    given = pattern.action.args
    return pattern.action.predicate == step.action and all(
        mine in (OPEN, other) for mine, other in zip(given, step.arguments, strict=False)
    )
