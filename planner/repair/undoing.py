"""Undoing: steps that return what a run wrote to what it was before, and leave alone what it has not written.

No step may change in place what the run has not written, as no step can take that back, and no such fact may end for
good. Each item is a choice: it is found as it was, or given up; the search restores all items where that can be done,
else as many as can be.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence

from planner.compilations.adl import compile_adl
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.soft_goals import add_stages, forgo_name, grant_name, granted_places, make_wish_actions
from planner.compilations.trajectory_constraints import compile_constraints
from planner.errors import InputError, did_you_mean
from planner.lightweight import Final, dataclass, replace
from planner.limits import Finishing, Limits, check_limits
from planner.model.actions import Constraint, ConstraintKind, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Atom,
    Equals,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Term,
    Variable,
    conjunction,
    conjuncts,
)
from planner.model.problem import Goal, Problem
from planner.plan import Status, Step, StoppedBy
from planner.portfolio.incumbent import refuse_constructs
from planner.problem_kinds import resolve_classical
from planner.repair.forbidden_steps import actions_of, barred, without_actions
from planner.repair.repair_search import STOPS, Choice, Chooser, Found, Prices, claimed, stopped_by, untried, with_spare
from planner.semantics.condition_solver import State
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import staleness_of
from planner.validation.validate import check_steps


class Covered:
    """The facts that some of `items` covers: these are facts, and patterns with open arguments."""

    def __init__(self, items: Iterable[Atom]) -> None:
        self.items = tuple(items)
        self._facts: set[Atom] = set()
        self._open: dict[str, list[Atom]] = {}
        for item in self.items:
            if OPEN in item.args:
                self._open.setdefault(item.predicate, []).append(item)
            else:
                self._facts.add(item)

    def __contains__(self, fact: Atom) -> bool:
        return fact in self._facts or any(item.matches(fact) for item in self._open.get(fact.predicate, ()))


@dataclass(frozen=True, slots=True)
class Sparing:
    """Leaves alone all but the items that were `written`: facts, and patterns with open arguments."""

    written: tuple[Atom, ...]

    def without_rewriting(self, problem: Problem) -> Problem:
        """Return `problem` in which no action changes in place what was not written.

        An item is changed in place by `modifies`, and also where it is provided though it holds already, if others go
        stale with it: a document that is drafted anew.
        """
        domain = problem.domain
        sources = {pattern.predicate for each in domain.predicates.values() for pattern in each.stale_with}
        actions = {}
        for action in domain.actions.values():
            guards = [guard for effect in action.effects for guard in self._guards(effect, sources)]
            actions[action.name] = action
            if guards:
                requires = conjunction([*conjuncts(action.requires), *guards])
                actions[action.name] = replace(action, requires=requires)
        return replace(problem, domain=replace(domain, actions=actions))

    def _guards(self, effect: When, sources: Collection[str]) -> Iterator[Formula]:
        """Yield what must hold before `effect`, so that it changes nothing in place that was not written."""
        kept = [self._is_written(item) for item in effect.modifies if OPEN not in item.args]
        provided = [fact for fact in positive_atoms(effect.provides) if fact.predicate in sources]
        kept += [Or((Not(fact), self._is_written(fact))) for fact in provided]
        for guard in kept:
            found = guard if effect.requires == TRUE else Imply(effect.requires, guard)
            yield Forall(effect.variables, found) if effect.variables else found

    def _is_written(self, item: Atom) -> Formula:
        """Return that `item`, whose arguments may be variables, is one that was written."""
        same = [each for each in self.written if each.predicate == item.predicate]
        pairs = [
            [(mine, other) for mine, other in zip(item.args, each.args, strict=True) if other != OPEN] for each in same
        ]
        return Or(tuple([And(tuple([Equals(mine, other) for mine, other in each])) for each in pairs]))

    def relevant(self, problem: Problem, facts: Iterable[Atom]) -> tuple[Problem, list[Atom]]:
        """Return `problem` with the actions that its goal needs, and those of `facts` that these may end.

        Facts that were written do not count; those that are returned are to hold at the end, which needs actions, too.
        """
        found = remove_irrelevant_actions(problem)
        written = Covered(self.written)
        own = [fact for fact in facts if fact not in written]
        while True:
            ending = _ended_by(found.domain)
            kept = [fact for fact in own if fact.predicate in ending]
            goal = conjunction([*conjuncts(problem.goal.hard), *kept])
            wider = remove_irrelevant_actions(replace(problem, goal=replace(problem.goal, hard=goal)))
            if len(wider.domain.actions) == len(found.domain.actions):
                return found, kept
            found = wider


def _ended_by(domain: DomainModel) -> set[str]:
    """Return the predicates of facts that some action of `domain` may end."""
    found: set[str] = set()
    for action in domain.actions.values():
        for effect in action.effects:
            opened = [item for item in effect.modifies if OPEN in item.args]
            ended = [*negated_atoms(effect.provides), *opened]
            written = [*positive_atoms(effect.provides), *ended, *effect.modifies]
            found.update(fact.predicate for fact in (*ended, *staleness_of(domain).of(written)))
    return found


@dataclass(frozen=True, slots=True)
class Values:
    """The facts of `state`, that of the time; what an item of `exempt` covers does not count."""

    domain: DomainModel
    state: State
    exempt: Covered

    def held(self, fact: Atom) -> bool:
        """Return whether `fact` held."""
        return fact in self.state

    def wish(self, item: Atom) -> Formula:
        """Return that what `item` covers is as it was: what held does, and nothing else.

        Raises `InputError` for an item that the domain does not have.
        """
        predicate = self.domain.predicates.get(item.predicate)
        if predicate is None or len(predicate.parameters) != len(item.args):
            hint = did_you_mean(item.predicate, self.domain.predicates)
            raise InputError(f"{item} is no item of domain '{self.domain.name}'", hint=hint)
        held = [fact for fact in sorted(self.state.matching(item), key=str) if not self._is_exempt(fact)]
        if OPEN not in item.args:
            exempt = self._is_exempt(item)
            return And() if exempt else item if held else Not(item)
        variables = {
            place: Variable(f"?any{place}", parameter.types)
            for place, parameter in enumerate(predicate.parameters)
            if item.args[place] == OPEN
        }
        names = {place: variable.name for place, variable in variables.items()}
        atom = Atom(item.predicate, tuple([names.get(place, arg) for place, arg in enumerate(item.args)]))
        allowed = tuple([_same(names, pattern) for pattern in (*held, *self._exempt_within(item))])
        nothing_else = Forall(tuple(variables.values()), Imply(atom, Or(allowed)) if allowed else Not(atom))
        return conjunction([*held, nothing_else])

    def _is_exempt(self, fact: Atom) -> bool:
        return fact in self.exempt

    def _exempt_within(self, item: Atom) -> Iterator[Atom]:
        """Yield the exempt patterns that may cover facts that `item` covers."""
        for pattern in self.exempt.items:
            if pattern.predicate == item.predicate and all(
                OPEN in (mine, theirs) or mine == theirs for mine, theirs in zip(item.args, pattern.args, strict=True)
            ):
                yield pattern


def _same(names: dict[int, Term], pattern: Atom) -> Formula:
    """Return that the variables of these `names`, by place, are what `pattern` has there."""
    return And(tuple([Equals(name, arg) for place, name in names.items() if (arg := pattern.args[place]) != OPEN]))


def collecting(plain: Problem, wishes: Sequence[Formula], kept: Sequence[Atom]) -> Choice:
    """Return the choice of which `wishes` hold in the end, as all of `kept` do; a penalty is one that is given up."""
    special = make_wish_actions(wishes, [0] * len(wishes), 0)
    steps: dict[str, tuple[Step, ...]] = {action.name: () for action in special}
    penalties = {forgo_name(place): 1 for place in range(len(wishes))}
    return Choice(add_stages(plain, special, conjunction(kept), len(wishes), first_only=True), steps, penalties)


def settled(holding: Iterable[bool]) -> list[str]:
    """Return the names of the special actions that find each wish as this says, without any step before them."""
    return [grant_name(place) if holds else forgo_name(place) for place, holds in enumerate(holding)]


SECONDS: Final = 5.0
"""So long steps are searched that restore everything, where there is no limit; else half of it."""


@dataclass(frozen=True, slots=True)
class Restored:
    """Steps that a search has found, and what it has proved: of the `hopeless` wishes, none can come true."""

    steps: tuple[Step, ...]
    proved: bool
    stopped_by: StoppedBy
    hopeless: frozenset[int] = frozenset()


RESTORED: Final = Restored((), proved=True, stopped_by=StoppedBy.EXHAUSTED)
"""There is nothing to be done."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """One search in the `plain` problem: as few of `wishes` as can be are to fail, and none of `kept` may.

    `holding` says which of the wishes hold now.
    """

    plain: Problem
    wishes: Sequence[Formula]
    kept: Sequence[Atom]
    holding: Sequence[bool]
    limits: Limits

    def restored(self) -> Restored:
        """Return the steps.

        Those that restore everything are a plan for an ordinary goal. Where there are none, or it is not proved that
        none are cheaper, each wish is granted or given up.
        """
        try:
            return self._restored()
        except STOPS as stop:
            return Restored((), proved=False, stopped_by=stopped_by(stop))

    def _restored(self) -> Restored:
        every = range(len(self.wishes))
        steps, proved = self._together(every)
        if proved and steps is not None:
            return Restored(tuple(steps), proved=True, stopped_by=StoppedBy.EXHAUSTED)
        chooser = Chooser(collecting(self.plain, self.wishes, self.kept), self.limits)
        possible = granted_places(action.step.action for action in chooser.task.actions)
        hopeless = frozenset(every) - possible
        if hopeless:
            steps, proved = self._together(sorted(possible))
            if proved and steps is not None:
                return Restored(tuple(steps), proved=True, stopped_by=StoppedBy.EXHAUSTED, hopeless=hopeless)
        start = None if steps is None else chooser.named([*steps, *settled(place in possible for place in every)])
        found = chooser.fewest(start or chooser.named(settled(self.holding)))
        taken = tuple([step for _, step in chooser.steps(found.plan or ())])
        return Restored(taken, found.proved, found.stopped_by, hopeless)

    def _together(self, places: Sequence[int]) -> tuple[list[Step] | None, bool]:
        """Return steps after which the wishes at `places` hold, and whether nothing that costs less does that."""
        left = self.limits.remaining
        goal = Goal(conjunction([*(self.wishes[place] for place in places), *self.kept]))
        limits = self.limits.part(SECONDS if left is None else left / 2)
        try:
            chooser = Chooser(Choice(replace(self.plain, goal=goal), {}), limits)
            found: Found = chooser.best(Prices())
        except STOPS:
            self.limits.check()
            return None, False
        return (None if found.plan is None else [step for _, step in chooser.steps(found.plan)]), found.proved


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
    refused = refuse_constructs(free)
    if refused is not None:
        return Undo(refused.status, refused.stopped_by, exempt=exempt, reason=refused.reason)
    limits = Limits(time_limit, memory_limit, cancel)
    whole = replace(compile_constraints(with_spare(free, ())).problem, goal=Goal())
    values = Values(problem.domain, State(before), Covered(each.item for each in exempt))
    reversible = tuple([each for each in written if not each.irreversible])
    sparing = Sparing(tuple(dict.fromkeys([each.item for each in written])))
    found = _Undoing(whole, actions_of(forbidden), values, reversible, sparing, limits).result()
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
    limits: Limits

    def result(self) -> Undo:
        """Return the steps, and what became of each item."""
        wishes = {each.item: self.values.wish(each.item) for each in self.written if not each.in_place}
        now, then = Simulation(self.problem), Simulation(self.problem)
        is_whole = all(map(now.holds, wishes.values()))
        found = RESTORED if is_whole else self._search(list(wishes.values()), now)
        steps = tuple([Step(step.action, step.arguments, then.cost(step)) for step in found.steps])
        with Finishing():
            verdict = check_steps(self.problem, steps)
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
        plain = barred(compile_adl(replace(wanted, goal=Goal())).problem, self.forbidden, frozenset())
        return Restoring(plain, wishes, kept, [now.holds(wish) for wish in wishes], self.limits).restored()

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
