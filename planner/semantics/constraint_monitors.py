"""Constraints, looked at state by state and step by step, in the order in which things happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy

from planner.lightweight import replace
from planner.model import OPEN, Constraint, ConstraintKind, Done
from planner.model.actions import Happening
from planner.plan import Step
from planner.semantics.condition_solver import Condition
from planner.semantics.simulation import Simulation


class ConstraintMonitor:
    """What has happened so far of one constraint: `broken` at once, or `unmet` if the plan ends here."""

    def __init__(self, constraint: Constraint, simulation: Simulation) -> None:
        self.constraint = constraint
        self.broken = False
        self._what = _ready(constraint.what, simulation)
        self._other = None if constraint.other is None else _ready(constraint.other, simulation)
        self._what_before = False
        self._other_before = False
        self._holds = False
        self._beginnings = 0

    @property
    def unmet(self) -> bool:
        """Whether something that is asked for has not happened."""
        return self.constraint.kind is ConstraintKind.SOMETIME and not self._what_before

    def look(self, simulation: Simulation, step: Step | None = None, *, in_part: bool = False) -> None:
        """Take in that `step` is taken; without one, the state as it is now.

        One that was taken `in_part` counts for what may not happen, and not for what has to.
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

    def left(self, simulation: Simulation) -> Constraint | None:
        """Return what the constraint asks of a plan that goes on from here; None where it asks for nothing more.

        Such a plan begins in the state as it is. What is broken stays so, and nothing more is asked than that it be
        broken no further.
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
        """All that tells what has happened so far from what else may have, as far as it matters."""
        count = min(self._beginnings, self.constraint.times + 1)
        return self.broken, self._what_before, self._other_before, self._holds, count


class ConstraintMonitors:
    """The constraints of a problem while a plan for it is carried out."""

    def __init__(self, simulation: Simulation) -> None:
        self._all = [ConstraintMonitor(constraint, simulation) for constraint in simulation.problem.constraints]
        self.look(simulation)

    def changed(self, constraints: Iterable[Constraint], simulation: Simulation) -> ConstraintMonitors:
        """Return watches of other `constraints`: of those that stay, what has happened is known."""
        known, twin = {watch.constraint: watch for watch in self._all}, copy(self)
        twin._all = [known.get(each) or ConstraintMonitor(each, simulation) for each in constraints]  # noqa: SLF001 - its own
        for watch in twin._all:  # noqa: SLF001 - as above
            if watch.constraint not in known:
                watch.look(simulation)
        return twin

    def look(self, simulation: Simulation, step: Step | None = None, *, in_part: bool = False) -> None:
        """Take in that `step` is taken, perhaps only `in_part`; without one, the state as it is now."""
        for watch in self._all:
            watch.look(simulation, step, in_part=in_part)

    def copy(self) -> ConstraintMonitors:
        """Return watches of their own of which the same has happened."""
        twin = ConstraintMonitors.__new__(ConstraintMonitors)
        twin._all = [copy(watch) for watch in self._all]  # noqa: SLF001 - its own
        return twin

    @property
    def key(self) -> tuple[object, ...]:
        """All that tells what has happened so far from what else may have, as far as it matters."""
        return tuple([watch.key for watch in self._all])

    def left(self, simulation: Simulation) -> tuple[Constraint, ...]:
        """Return what is asked of a plan that goes on from here (progression: Bacchus and Kabanza, 1998)."""
        return tuple([left for each in self._all if (left := each.left(simulation)) is not None])

    @property
    def broken(self) -> Constraint | None:
        """The first hard constraint that is broken by now."""
        return next((each.constraint for each in self._all if each.broken and each.constraint.utility is None), None)

    @property
    def unmet(self) -> Iterator[Constraint]:
        """The hard constraints that a plan which ends here has not met."""
        return (each.constraint for each in self._all if each.unmet and each.constraint.utility is None)

    @property
    def forgone(self) -> Iterator[Constraint]:
        """The soft constraints that a plan which ends here does not keep."""
        soft = (each for each in self._all if each.constraint.utility is not None)
        return (each.constraint for each in soft if each.broken or each.unmet)


def _ready(happening: Happening, simulation: Simulation) -> Done | Condition:
    return happening if isinstance(happening, Done) else simulation.rules.compiler.compile(happening)


def _happens(happening: Done | Condition | None, simulation: Simulation, step: Step | None) -> bool | None:
    """Return whether it happens with `step`, or in the state as it is without one; None where that says nothing."""
    if happening is None or isinstance(happening, Done) is (step is None):
        return None
    if step is None:
        assert not isinstance(happening, Done)
        return simulation.world.solver.holds(happening, {})
    assert isinstance(happening, Done)
    return covers(happening, step)


def covers(pattern: Done, step: Step) -> bool:
    """Return whether `step` is one that `pattern` covers; arguments that it does not give are open."""
    given = pattern.action.args
    return pattern.action.predicate == step.action and all(
        mine in (OPEN, other) for mine, other in zip(given, step.arguments, strict=False)
    )
