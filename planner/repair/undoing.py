"""Undoing: steps that return what a run wrote to what it was before."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from planner.annotations import Final
from planner.answer import unsupported
from planner.budget import Budget, Finishing, check_limits
from planner.model import Atom, Constraint, ConstraintKind, Formula, Goal, Number, Problem
from planner.model.formulas import conjunction
from planner.normalise import to_adl, without_constraints
from planner.plan import Status, Step, StoppedBy
from planner.records import dataclass, replace
from planner.repair.bans import actions_of, barred, without_actions
from planner.repair.covering import Covered
from planner.repair.created import claimed, untried, with_spare
from planner.repair.restoring import RESTORED, Restored, Restoring
from planner.repair.sparing import Sparing
from planner.repair.values import Values
from planner.resolve import resolve_classical
from planner.validate import Simulation, validate
from planner.validate.state import State


@dataclass(frozen=True, slots=True)
class Written:
    """An item that a run wrote: a fact, or a pattern with open arguments; `step` is the key of the step that did.

    What an `irreversible` step wrote is not undone. What was changed `in_place` stayed true, so that no fact says what
    it was before.
    """

    item: Atom
    step: str
    irreversible: bool = False
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """An item that is not as it was before, and why; `proved` if nothing can be done about it."""

    item: Atom
    reason: str
    proved: bool


@dataclass(frozen=True, slots=True)
class UndoStep:
    """A step that undoes; `undoes` are the keys of the steps that wrote what it restores, the latest first."""

    step: Step
    undoes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """What returns the written items to what they were.

    `restored` are the items that are as before at the end, `left` those that are not, `exempt` what irreversible steps
    wrote. `status` is OPTIMAL where it is proved that no steps restore more items, and none that restore as many cost
    less; SOLVED where they might; UNSUPPORTED where search does not take the problem.
    """

    status: Status
    stopped_by: StoppedBy
    steps: tuple[UndoStep, ...] = ()
    restored: tuple[Atom, ...] = ()
    left: tuple[Left, ...] = ()
    exempt: tuple[Written, ...] = ()
    cost: Number = 0
    reason: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left that a reversible step wrote."""
        return not self.left and self.status is not Status.UNSUPPORTED

    def __bool__(self) -> bool:
        raise TypeError("an Undo is neither true nor false; ask undo.is_whole")


def undo(
    problem: Problem,
    before: Iterable[Atom],
    written: Sequence[Written],
    *,
    forbidden: Iterable[Step] = (),
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Undo:
    """Return steps after which every fact that a `written` item covers is as it was `before`, and no other has ended.

    `problem` has the present state as its initial one, and in `ran` what has run; its goal, budgets and deadline do not
    count. `before` are the facts before the run, `written` what it wrote, in that order. Facts that an irreversible
    step wrote are exempt. Of its hard constraints, those count that say what never happens: no step breaks them.
    What the run has not written is left alone: what holds does so at the end, and is not changed in place, though new
    facts may come with the steps. So many items as can be are restored, at the least cost. No step is irreversible,
    and none is like those of `forbidden`. Limits are those of `planner.solve`. Raises `InputError` for limits that are
    none, and for names in the problem that nothing declares.
    """
    check_limits(time_limit, memory_limit)
    problem = resolve_classical(problem, "undo", "give its classical part: problem.classical")
    exempt = tuple([each for each in written if each.irreversible])
    irreversible = {name for name, action in problem.domain.actions.items() if "irreversible" in action.tags}
    reversible_only = without_actions(problem, irreversible)
    free = replace(reversible_only, goal=Goal(), constraints=_lasting(problem), budgets={}, deadline=None)
    refused = unsupported(free)
    if refused is not None:
        return Undo(refused.status, refused.stopped_by, exempt=exempt, reason=refused.reason)
    budget = Budget(time_limit, memory_limit, cancel)
    whole = replace(without_constraints(with_spare(free, ())), goal=Goal())
    values = Values(problem.domain, State(before), Covered(each.item for each in exempt))
    reversible = tuple([each for each in written if not each.irreversible])
    sparing = Sparing(tuple(dict.fromkeys([each.item for each in written])))
    found = _Undoing(whole, actions_of(forbidden), values, reversible, sparing, budget).result()
    found = replace(found, exempt=exempt)
    status = claimed(problem, found.status)
    if status is found.status:
        return found
    left = [replace(each, proved=each.reason == _IN_PLACE) for each in found.left]
    return replace(found, status=status, left=tuple(left), reason=untried(problem))


def _lasting(problem: Problem) -> tuple[Constraint, ...]:
    """Return the hard constraints that say nothing about what has happened before."""
    hard = (each for each in problem.constraints if each.utility is None)
    never = (ConstraintKind.AT_MOST, 0)
    return tuple([each for each in hard if each.kind is ConstraintKind.ALWAYS or (each.kind, each.times) == never])


@dataclass(frozen=True, slots=True)
class _Undoing:
    """The search for one way of undoing."""

    problem: Problem
    forbidden: frozenset[Atom]
    values: Values
    written: tuple[Written, ...]
    sparing: Sparing
    budget: Budget

    def result(self) -> Undo:
        """Return the steps, and what became of each item."""
        wishes = {each.item: self.values.wish(each.item) for each in self.written if not each.in_place}
        now, then = Simulation(self.problem), Simulation(self.problem)
        is_whole = all(map(now.holds, wishes.values()))
        found = RESTORED if is_whole else self._search(list(wishes.values()), now)
        steps = tuple([Step(step.action, step.arguments, then.cost(step)) for step in found.steps])
        with Finishing():
            verdict = validate(self.problem, steps)
            if not verdict.valid:
                raise RuntimeError(f"internal error: steps were found that cannot be taken: {verdict.reason}")
            undoes = self._keys(then, steps)
        lost = [item for item, wish in wishes.items() if not then.holds(wish)]
        left = [Left(each.item, _IN_PLACE, proved=True) for each in self.written if each.in_place]
        places = {item: place for place, item in enumerate(wishes)}
        left += [self._left(item, wishes[item], found, now, alone=places[item] in found.hopeless) for item in lost]
        gone = {each.item for each in left}
        return Undo(
            Status.OPTIMAL if found.proved else Status.SOLVED,
            found.stopped_by,
            tuple([UndoStep(step, keys) for step, keys in zip(steps, undoes, strict=True)]),
            tuple([item for item in wishes if item not in gone]),
            tuple(dict.fromkeys(left)),
            cost=verdict.cost,
        )

    def _search(self, wishes: Sequence[Formula], now: Simulation) -> Restored:
        """Return the steps after which as few of `wishes` as can be fail."""
        able = self.sparing.without_rewriting(self.problem)
        wanted, kept = self.sparing.relevant(replace(able, goal=Goal(conjunction(wishes))), now.facts)
        plain = barred(to_adl(replace(wanted, goal=Goal())), self.forbidden, frozenset())
        return Restoring(plain, wishes, kept, [now.holds(wish) for wish in wishes], self.budget).restored()

    def _keys(self, simulation: Simulation, steps: Iterable[Step]) -> list[tuple[str, ...]]:
        """Apply `steps`, and return for each of them the keys of those that wrote what it restores."""
        before = frozenset(simulation.facts)
        last: dict[Atom, int] = {}
        number = 0
        for number, step in enumerate(steps, start=1):
            changes = simulation.apply(step)
            last.update(dict.fromkeys((*changes.added, *changes.removed), number))
        found: list[dict[str, None]] = [{} for _ in range(number)]
        after = simulation.world.state
        restored = [fact for fact in last if (fact in before) is not self.values.held(fact) is (fact in after)]
        table = State(restored)
        for each in reversed(self.written):
            for fact in table.matching(each.item):
                found[last[fact] - 1][each.step] = None
        return [tuple(keys) for keys in found]

    def _left(self, item: Atom, wish: Formula, found: Restored, now: Simulation, *, alone: bool) -> Left:
        """Return why `item` is not as before; `alone` says that no steps restore it even alone."""
        if not found.proved:
            return Left(item, f"no steps were found that restore it: {found.stopped_by.value}", proved=False)
        if not alone:
            single = self._search([wish], now)
            alone = single.proved and not single.steps
        if alone:
            return Left(item, "no reversible steps restore it and leave alone what was not written", proved=True)
        return Left(item, "no reversible steps restore it together with the others", proved=True)


_IN_PLACE: Final = "it was changed in place: no fact says what it was"
