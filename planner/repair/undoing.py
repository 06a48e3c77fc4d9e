"""Undoing: steps that restore the items that a run wrote, and leave all other items alone.

No step may change in place an item that the run has not written, as no step could restore it, and facts about such
items must hold again at the end. Special actions grant or forgo the restoring of each item: the search restores as many
items as possible.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.soft_goals import add_stages, forgo_name, grant_name, granted_places, make_wish_actions
from planner.errors import InputError, did_you_mean
from planner.lightweight import Final, dataclass, replace
from planner.limits import STOPS, Finishing, Limits, check_limits, stop_reason
from planner.model import formulas
from planner.model.actions import Constraint, ConstraintKind, When, positive_atoms
from planner.model.constructs import CONSTRAINED, Construct, Service
from planner.model.domain import DomainModel
from planner.model.formulas import OPEN, Atom, Formula, Not, conjunction, with_conjuncts
from planner.model.problem import Goal, Problem, is_numeric
from planner.options import SolveOptions
from planner.plan import Status, Step, StoppedBy
from planner.portfolio.incumbent import refuse_constructs
from planner.problem_kinds import resolve_classical
from planner.repair import repair_search
from planner.repair.forbidden_steps import actions_of, disable_actions, forbid_actions
from planner.repair.repair_search import Choice, Chooser, Prices
from planner.semantics.condition_solver import State
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import staleness_of
from planner.validation.validate import check_steps


class CoveredFacts:
    """The set of facts that some of `items` matches: facts, and patterns with open arguments."""

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
class WriteGuard:
    """Guards all items but those that were `written`: facts, and patterns with open arguments."""

    written: tuple[Atom, ...]

    def without_rewriting(self, problem: Problem) -> Problem:
        """Return `problem` in which no action changes in place an item that was not written.

        `modifies` changes an item in place, and so does `provides` if the item holds already and others are stale with
        it, such as a document that is drafted anew.
        """
        domain = problem.domain
        sources = {pattern.predicate for each in domain.predicates.values() for pattern in each.stale_with}
        actions = {}
        for action in domain.actions.values():
            guards = [guard for effect in action.effects for guard in self._guards(effect, sources)]
            actions[action.name] = action
            if guards:
                requires = with_conjuncts(action.requires, *guards)
                actions[action.name] = replace(action, requires=requires)
        return replace(problem, domain=replace(domain, actions=actions))

    def _guards(self, effect: When, sources: Collection[str]) -> Iterator[Formula]:
        """Yield preconditions by which `effect` changes no item in place that was not written."""
        kept = [self._is_written(item) for item in effect.in_place]
        provided = [fact for fact in positive_atoms(effect.provides) if fact.predicate in sources]
        kept += [formulas.Or((Not(fact), self._is_written(fact))) for fact in provided]
        for guard in kept:
            found = guard if effect.requires == formulas.TRUE else formulas.Imply(effect.requires, guard)
            yield formulas.Forall(effect.variables, found) if effect.variables else found

    def _is_written(self, item: Atom) -> Formula:
        """Return the condition that `item`, whose arguments may be variables, was written."""
        same = [each for each in self.written if each.predicate == item.predicate]
        pairs = [
            [(mine, other) for mine, other in zip(item.args, each.args, strict=True) if other != OPEN] for each in same
        ]
        return formulas.Or(
            tuple([formulas.And(tuple([formulas.Equals(mine, other) for mine, other in each])) for each in pairs])
        )

    def relevant(self, problem: Problem, facts: Iterable[Atom]) -> tuple[Problem, list[Atom]]:
        """Return the relevant part of `problem`, and those of `facts`, not written, that its actions may end.

        These facts must hold at the end, which may make further actions relevant: the result is a fixpoint.
        """
        found = remove_irrelevant_actions(problem)
        written = CoveredFacts(self.written)
        own = [fact for fact in facts if fact not in written]
        while True:
            ending = _predicates_that_may_end(found.domain)
            kept = [fact for fact in own if fact.predicate in ending]
            goal = with_conjuncts(problem.goal.hard, *kept)
            wider = remove_irrelevant_actions(replace(problem, goal=replace(problem.goal, hard=goal)))
            if len(wider.domain.actions) == len(found.domain.actions):
                return found, kept
            found = wider


def _predicates_that_may_end(domain: DomainModel) -> set[str]:
    """Return the predicates of facts that some action of `domain` may delete."""
    found: set[str] = set()
    for action in domain.actions.values():
        for effect in action.effects:
            found.update(fact.predicate for fact in (*effect.retracted, *staleness_of(domain).of(effect.written)))
    return found


@dataclass(frozen=True, slots=True)
class ValuesBefore:
    """The facts of the `state` before the run; facts that an item of `exempt` matches do not count."""

    domain: DomainModel
    state: State
    exempt: CoveredFacts

    def held(self, fact: Atom) -> bool:
        """Return whether `fact` held before the run."""
        return fact in self.state

    def wish(self, item: Atom) -> Formula:
        """Return the condition that `item` is restored: of the facts that it matches, exactly those hold that held.

        Raises `InputError` for an item that the domain does not declare.
        """
        predicate = self.domain.predicates.get(item.predicate)
        if predicate is None or len(predicate.parameters) != len(item.args):
            hint = did_you_mean(item.predicate, self.domain.predicates)
            raise InputError(f"{item} is no item of domain '{self.domain.name}'", hint=hint)
        held = [fact for fact in sorted(self.state.matching(item), key=str) if not self._is_exempt(fact)]
        if OPEN not in item.args:
            exempt = self._is_exempt(item)
            return formulas.And() if exempt else item if held else Not(item)
        variables = {
            place: formulas.Variable(f"?any{place}", parameter.types)
            for place, parameter in enumerate(predicate.parameters)
            if item.args[place] == OPEN
        }
        names = {place: variable.name for place, variable in variables.items()}
        atom = Atom(item.predicate, tuple([names.get(place, arg) for place, arg in enumerate(item.args)]))
        allowed = tuple([_equal_arguments(names, pattern) for pattern in (*held, *self._exempt_within(item))])
        nothing_else = formulas.Forall(
            tuple(variables.values()), formulas.Imply(atom, formulas.Or(allowed)) if allowed else Not(atom)
        )
        return conjunction([*held, nothing_else])

    def _is_exempt(self, fact: Atom) -> bool:
        return fact in self.exempt

    def _exempt_within(self, item: Atom) -> Iterator[Atom]:
        """Yield the exempt patterns that overlap with `item`."""
        for pattern in self.exempt.items:
            if pattern.predicate == item.predicate and all(
                OPEN in (mine, theirs) or mine == theirs for mine, theirs in zip(item.args, pattern.args, strict=True)
            ):
                yield pattern


def _equal_arguments(names: dict[int, formulas.Term], pattern: Atom) -> Formula:
    """Return the condition that the variables of these `names`, by place, equal the arguments of `pattern`."""
    return formulas.And(
        tuple([formulas.Equals(name, arg) for place, name in names.items() if (arg := pattern.args[place]) != OPEN])
    )


def make_restoring_choice(plain: Problem, wishes: Sequence[Formula], kept: Sequence[Atom]) -> Choice:
    """Return the choice of `wishes` to grant, where all of `kept` must hold; a forgone wish has a penalty of 1."""
    special = make_wish_actions(wishes, [0] * len(wishes), 0)
    steps: dict[str, tuple[Step, ...]] = {action.name: () for action in special}
    penalties = {forgo_name(place): 1 for place in range(len(wishes))}
    return Choice(add_stages(plain, special, conjunction(kept), len(wishes), first_only=True), steps, penalties)


def name_final_actions(holding: Iterable[bool]) -> list[str]:
    """Return the names of the special actions that grant or forgo each wish as `holding` says."""
    return [grant_name(place) if holds else forgo_name(place) for place, holds in enumerate(holding)]


RESTORE_ALL_SECONDS: Final = 5.0
"""Time limit for restoring all items, in seconds, if there is no limit; otherwise half of the remaining time."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The steps of a search, and what is proved: none of the `hopeless` wishes can come true."""

    steps: tuple[Step, ...]
    proved: bool
    stopped_by: StoppedBy
    hopeless: frozenset[int] = frozenset()


RESTORED: Final = Restored((), proved=True, stopped_by=StoppedBy.EXHAUSTED)
"""The result where nothing has to be done."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """One search in the `plain` problem for as many of `wishes` as possible, where all of `kept` must hold.

    `holding` says which of the wishes hold now.
    """

    plain: Problem
    wishes: Sequence[Formula]
    kept: Sequence[Atom]
    holding: Sequence[bool]
    limits: Limits

    def search(self) -> Restored:
        """Return the best steps.

        First search for a plan for all wishes as an ordinary goal. If there is none, or it is not proved to be the
        cheapest, search with the choice to grant or forgo each wish.
        """
        try:
            return self._search()
        except STOPS as stop:
            return Restored((), proved=False, stopped_by=stop_reason(stop))

    def _search(self) -> Restored:
        every = range(len(self.wishes))
        steps, proved = self._restore_all(every)
        if proved and steps is not None:
            return Restored(tuple(steps), proved=True, stopped_by=StoppedBy.EXHAUSTED)
        chooser = Chooser(make_restoring_choice(self.plain, self.wishes, self.kept), self.limits)
        possible = granted_places(action.step.action for action in chooser.task.actions)
        hopeless = frozenset(every) - possible
        if hopeless:
            steps, proved = self._restore_all(sorted(possible))
            if proved and steps is not None:
                return Restored(tuple(steps), proved=True, stopped_by=StoppedBy.EXHAUSTED, hopeless=hopeless)
        start = (
            None
            if steps is None
            else chooser.find_named_plan([*steps, *name_final_actions(place in possible for place in every)])
        )
        found = chooser.search_fewest_penalties(start or chooser.find_named_plan(name_final_actions(self.holding)))
        taken = tuple([step for _, step in chooser.steps(found.plan or ())])
        return Restored(taken, found.proved, found.stopped_by, hopeless)

    def _restore_all(self, places: Sequence[int]) -> tuple[list[Step] | None, bool]:
        """Return steps after which the wishes at `places` hold, and whether it is proved that none cost less."""
        left = self.limits.remaining
        goal = Goal(conjunction([*(self.wishes[place] for place in places), *self.kept]))
        limits = self.limits.part(RESTORE_ALL_SECONDS if left is None else left / 2)
        try:
            chooser = Chooser(Choice(replace(self.plain, goal=goal), {}), limits)
            found = chooser.search_best(Prices())
        except STOPS:
            self.limits.check()
            return None, False
        return (None if found.plan is None else [step for _, step in chooser.steps(found.plan)]), found.proved


@dataclass(frozen=True, slots=True)
class Written:
    """An item that a run wrote, a fact or a pattern with open arguments; `step` is the key of the step that wrote it.

    Items of an `irreversible` step are not undone. An item changed `in_place` stayed true, so that no fact says what it
    was before.
    """

    item: Atom
    step: str
    irreversible: bool = False
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """An item that is not restored, and why; `proved` if no steps can restore it."""

    item: Atom
    reason: str
    proved: bool


@dataclass(frozen=True, slots=True)
class UndoStep:
    """A step that undoes; `undoes` are the keys of the steps that wrote the items it restores, the latest first."""

    step: Step
    undoes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """The result of `undo`: the steps, and the items that are `restored` or `left` by them.

    `exempt` are the items that irreversible steps wrote. `status` is OPTIMAL if it is proved that no steps restore more
    items, and that none that restore as many cost less; otherwise SOLVED, or UNSUPPORTED.
    """

    status: Status
    stopped_by: StoppedBy
    steps: tuple[UndoStep, ...] = ()
    restored: tuple[Atom, ...] = ()
    left: tuple[Left, ...] = ()
    exempt: tuple[Written, ...] = ()
    cost: formulas.Number = 0
    reason: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all items of reversible steps are restored."""
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
    """Return steps after which every fact that a `written` item matches is as it was `before`, and no other has ended.

    The initial state of `problem` is the present state, and `ran` has what has run; goal, budgets and deadline do not
    count. `before` are the facts before the run, `written` the items that it wrote, in that order. Facts that an
    irreversible step wrote are exempt. The steps keep the hard constraints on what always or never happens. Facts about
    other items hold at the end if they hold now, and are not changed in place; new facts may come with the steps. As
    many items as possible are restored, at the least cost. No step is irreversible, or like those of `forbidden`.
    Limits are those of `planner.solve`. Raises `InputError` for invalid limits, and for undeclared names in the
    problem.
    """
    check_limits(time_limit, memory_limit)
    problem = resolve_classical(problem, "undo", "give its classical part: problem.classical")
    exempt = tuple([each for each in written if each.irreversible])
    irreversible = {name for name, action in problem.domain.actions.items() if "irreversible" in action.tags}
    reversible_only = disable_actions(problem, irreversible)
    free = replace(reversible_only, goal=Goal(), constraints=_lasting_constraints(problem), budgets={}, deadline=None)
    refused = refuse_constructs(free, Service.UNDOING)
    if refused is not None:
        return Undo(refused.status, refused.stopped_by, exempt=exempt, reason=refused.reason)
    limits = Limits(time_limit, memory_limit, cancel)
    whole = replace(compile_away(repair_search.add_spare_objects(free, ()), *CONSTRAINED), goal=Goal())
    values = ValuesBefore(problem.domain, State(before), CoveredFacts(each.item for each in exempt))
    reversible = tuple([each for each in written if not each.irreversible])
    sparing = WriteGuard(tuple(dict.fromkeys([each.item for each in written])))
    found = _Undoing(whole, actions_of(forbidden), values, reversible, sparing, limits).search()
    found = replace(found, exempt=exempt)
    status = repair_search.weaken_claim(problem, found.status)
    if status is found.status:
        return found
    left = [replace(each, proved=each.reason == _IN_PLACE) for each in found.left]
    return replace(found, status=status, left=tuple(left), reason=repair_search.describe_untried(problem))


def _lasting_constraints(problem: Problem) -> tuple[Constraint, ...]:
    """Return the hard constraints that do not depend on what has happened before."""
    hard = (each for each in problem.constraints if each.utility is None)
    never = (ConstraintKind.AT_MOST, 0)
    return tuple([each for each in hard if each.kind is ConstraintKind.ALWAYS or (each.kind, each.times) == never])


@dataclass(frozen=True, slots=True)
class _Undoing:
    """The search for one undo."""

    problem: Problem
    forbidden: frozenset[Atom]
    values: ValuesBefore
    written: tuple[Written, ...]
    sparing: WriteGuard
    limits: Limits

    def search(self) -> Undo:
        """Return the steps, and which items they restore."""
        wishes = {each.item: self.values.wish(each.item) for each in self.written if not each.in_place}
        now, then = Simulation(self.problem), Simulation(self.problem)
        is_whole = all(map(now.holds, wishes.values()))
        found = RESTORED if is_whole else self._search_wishes(list(wishes.values()), now)
        steps = tuple([Step(step.action, step.arguments, then.cost(step)) for step in found.steps])
        with Finishing():
            verdict = check_steps(self.problem, steps)
            if not verdict.valid:
                raise RuntimeError(f"internal error: steps were found that cannot be taken: {verdict.reason}")
            undoes = self._keys_undone(then, steps)
        lost = [item for item, wish in wishes.items() if not then.holds(wish)]
        left = [Left(each.item, _IN_PLACE, proved=True) for each in self.written if each.in_place]
        places = {item: place for place, item in enumerate(wishes)}
        left += [
            self._explain_left(item, wishes[item], found, now, alone=places[item] in found.hopeless) for item in lost
        ]
        gone = {each.item for each in left}
        return Undo(
            Status.OPTIMAL if found.proved else Status.SOLVED,
            found.stopped_by,
            tuple([UndoStep(step, keys) for step, keys in zip(steps, undoes, strict=True)]),
            tuple([item for item in wishes if item not in gone]),
            tuple(dict.fromkeys(left)),
            cost=verdict.cost,
        )

    def _search_wishes(self, wishes: Sequence[Formula], now: Simulation) -> Restored:
        """Return the steps after which as many of `wishes` as possible hold."""
        able = self.sparing.without_rewriting(self.problem)
        if is_numeric(able):
            return self._search_with_numbers(able, wishes, now)
        wanted, kept = self.sparing.relevant(replace(able, goal=Goal(conjunction(wishes))), now.facts)
        plain = forbid_actions(
            compile_away(replace(wanted, goal=Goal()), Construct.CHANGES), self.forbidden, frozenset()
        )
        return Restoring(plain, wishes, kept, [now.holds(wish) for wish in wishes], self.limits).search()

    def _search_with_numbers(self, able: Problem, wishes: Sequence[Formula], now: Simulation) -> Restored:
        """Return steps after which all of `wishes` hold, or none; values of fluents may change."""
        from planner.solve import answer

        ending, written = _predicates_that_may_end(able.domain), CoveredFacts(self.sparing.written)
        kept = [fact for fact in now.facts if fact.predicate in ending and fact not in written]
        goal = Goal(conjunction([*wishes, *kept]))
        barred = forbid_actions(replace(able, goal=goal), self.forbidden, frozenset())
        found = answer(barred, SolveOptions(mode="first").within(self.limits))
        return Restored(() if found.plan is None else found.plan.steps, proved=False, stopped_by=found.stopped_by)

    def _keys_undone(self, simulation: Simulation, steps: Iterable[Step]) -> list[tuple[str, ...]]:
        """Apply `steps`, and return for each the keys of the steps that wrote the items it restores."""
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

    def _explain_left(self, item: Atom, wish: Formula, found: Restored, now: Simulation, *, alone: bool) -> Left:
        """Return why `item` is not restored; `alone` says that no steps restore it even alone."""
        if not found.proved:
            return Left(item, f"no steps were found that restore it: {found.stopped_by.value}", proved=False)
        if not alone:
            single = self._search_wishes([wish], now)
            alone = single.proved and not single.steps
        if alone:
            return Left(item, "no reversible steps restore it and leave alone what was not written", proved=True)
        return Left(item, "no reversible steps restore it together with the others", proved=True)


_IN_PLACE: Final = "it was changed in place: no fact says what it was"
