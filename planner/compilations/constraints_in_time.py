"""Trajectory constraints of problems in time, compiled to conditions and effects of starts, ends and known changes.

A happening of a plan in time is instantaneous, so the monitors of `planner.compilations.trajectory_constraints` watch
starts, ends and changes at known times. A step counts from its start where it may break a constraint, and from its end
where it meets one.

Of happenings at one moment, monitors see each by itself, and constraints are judged by the state after all of them
(`planner.semantics.constraint_monitors.TimedMonitors`). So plans of the compiled problem keep the constraints, and what
is proved of it holds of the constraints that `is_watched_exactly` names: whatever order the happenings of a moment are
taken in, the monitors agree. Where other constraints are, the problem without these gives the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from planner.compilations import Claim, Compiled
from planner.compilations.driver import Driver, as_plan_of
from planner.compilations.normal_form import to_negation_normal_form
from planner.compilations.passes import compile_away
from planner.compilations.trajectory_constraints import (
    BROKEN,
    MARK,
    UNCOUNTED,
    Before,
    Preparation,
    is_monitor,
)
from planner.lightweight import Any, Final, dataclass, replace
from planner.model.actions import (
    Action,
    Constraint,
    ConstraintKind,
    Done,
    Happening,
    Literal,
    Moment,
    NumericEffect,
    When,
)
from planner.model.constructs import CONSTRAINED, Construct
from planner.model.domain import Function, Predicate
from planner.model.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Comparison,
    Equals,
    Exists,
    Forall,
    Formula,
    Not,
    Number,
    Or,
    atoms_in,
    comparisons_in,
    conjunction,
    conjuncts,
    negate,
    with_conjuncts,
)
from planner.model.problem import Goal, Metric, Problem, SoftGoal
from planner.model.timing import TimedEffect
from planner.plan import Result, Status
from planner.problem_kinds import classical_of
from planner.semantics.snap_actions import split_moments, takes_no_time

BOUND_SHARE: Final = 0.4
BOUND_SECONDS: Final = 5.0
"""Part of the time for bounds without constraints that monitors do not judge exactly; seconds without a time limit."""
AT_ONCE: Final = "plans that keep a constraint only by happenings at one moment were not searched"
"""Why a plan may be missed where a constraint is not watched exactly."""


def solve_with_constraints_in_time(
    driver: Driver, put: Callable[[Problem], Any] = lambda classical: classical
) -> Result:
    """Solve the problem of `driver`, which is in time and has constraints, by problems that have none.

    For a problem of another kind, `put` returns it with another classical problem in place of its own.
    """
    problem = driver.problem
    classical, lift = classical_of(problem), partial(as_plan_of, problem)
    watched = Compiled(put(watch_in_time(classical)), lift)
    if all(is_watched_exactly(each, classical) for each in classical.constraints):
        return driver.finish(driver.ask(watched), watched)
    watched = replace(watched, claim=Claim(bounds=False, unsolvable=False, doubt=AT_ONCE))
    limits = driver.limits
    if driver.options.mode != "first":
        part = limits.part(BOUND_SECONDS) if limits.time_limit is None else limits.share(BOUND_SHARE)
        free = Compiled(put(watch_in_time(classical, exactly=True)), lift, Claim(plans=False))
        found = driver.ask(free, part)
        if driver.is_optimal or found.status is Status.UNSOLVABLE:
            return driver.finish(found, free)
    return driver.finish(driver.ask(watched, until_proved=True), watched)


def grant(problem: Problem, wishes: Collection[SoftGoal | Constraint]) -> Problem:
    """Return `problem` with `wishes`, some of its own, as hard goals and constraints, and without its other wishes."""
    goals = [each.condition for each in wishes if isinstance(each, SoftGoal)]
    kept = [replace(each, utility=None) for each in wishes if isinstance(each, Constraint)]
    hard = [each for each in problem.constraints if each.utility is None]
    goal = Goal(with_conjuncts(problem.goal.hard, *goals))
    return replace(problem, goal=goal, constraints=(*hard, *kept), seal=())


_START: Final = "@start "
_END: Final = "@end "
_CHANGE: Final = "@change "
"""Prefixes of the names of happenings: of an action's start, of its end, and of a change at a known time."""


def watch_in_time(problem: Problem, *, exactly: bool = False) -> Problem:
    """Compile the constraints of `problem`, which is in time, to facts, goals and soft goals; plans keep their steps.

    With `exactly`, only the constraints of which `is_watched_exactly` are kept, and the others are left out: bounds on
    the plans of the compiled problem then hold for `problem`. Raises `UnsupportedError` as `split_moments` does.
    """
    problem = _join_changes(problem)
    constraints = [
        each if not exactly or is_watched_exactly(each, problem) else _NOTHING for each in problem.constraints
    ]
    return _Watch(problem, constraints).compile()


_NOTHING: Final = Constraint(ConstraintKind.AT_MOST, Done(Atom("")), times=UNCOUNTED)
"""A constraint that every plan keeps; it holds the place of another one."""


def is_watched_exactly(constraint: Constraint, problem: Problem) -> bool:
    """Return whether monitors of single happenings judge `constraint` as the states after all of a moment do."""
    what, other = constraint.what, constraint.other
    if _reads_items_in_use(problem):
        return False
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            return _is_joined(what, And, problem)
        case ConstraintKind.SOMETIME:
            return isinstance(what, Done) or _is_joined(what, Or, problem)
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return True
        case ConstraintKind.AT_MOST:
            return isinstance(what, Done) or (constraint.times == 0 and _is_joined(what, Or, problem))
        case ConstraintKind.BEFORE:
            are_alternatives = all(isinstance(each, Done) or _is_joined(each, Or, problem) for each in (what, other))
            return are_alternatives and not (isinstance(what, Done) and not isinstance(other, Done))
    return False


def _reads_items_in_use(problem: Problem) -> bool:
    """Return whether a monitor may have to look, before a conditional effect, at an item that a step modifies."""
    actions = problem.domain.actions.values()
    is_conditional = any(each.when or each.at_start.when or each.at_end.when for each in actions)
    return is_conditional and any(each.modifies and not takes_no_time(each) for each in actions)


def _is_joined(condition: Happening | None, kind: type[And | Or], problem: Problem) -> bool:
    """Return whether `condition` is one literal, or literals joined by `kind`, whose facts only effects change."""
    assert condition is not None
    assert not isinstance(condition, Done)
    if any(True for _ in comparisons_in(condition)):
        return False
    if any(atom.predicate in problem.domain.derived for atom in atoms_in(condition)):
        return False
    return _joins(to_negation_normal_form(condition, iter(range(1_000_000))), kind)


def _joins(part: Formula, kind: type[And | Or]) -> bool:
    match part:
        case Atom() | Not(Atom()) | Equals() | Not(Equals()):
            return True
        case And(parts) | Or(parts):
            rigid = [each for each in parts if not any(True for _ in atoms_in(each))]
            left = [each for each in parts if each not in rigid]
            return (isinstance(part, kind) or len(left) < 2) and all(_joins(each, kind) for each in left)
        case Forall(_, inner) | Exists(_, inner):
            return isinstance(part, Forall) is (kind is And) and _joins(inner, kind)
    return False


def _join_changes(problem: Problem) -> Problem:
    """Return `problem` with one change at each known time, so that monitors see all that comes at once."""
    together: dict[Number, list[TimedEffect]] = {}
    for each in problem.timed:
        together.setdefault(each.time, []).append(each)
    if len(together) == len(problem.timed) or any(map(_clash, together.values())):
        return problem
    joined = [
        TimedEffect(
            time,
            tuple([literal for each in group for literal in each.provides]),
            tuple([number for each in group for number in each.numbers]),
        )
        for time, group in together.items()
    ]
    return replace(problem, timed=tuple(joined))


def _clash(group: Iterable[TimedEffect]) -> bool:
    """Return whether changes of one moment write one fact in both ways, or one number twice."""
    literals = {literal for each in group for literal in each.provides}
    fluents = [number.fluent for each in group for number in each.numbers]
    return any(Not(literal) in literals for literal in literals) or len({*fluents}) < len(fluents)


_LATE: Final = Atom(f"{MARK}change-breaks")
_NEVER: Final = Atom(f"{MARK}change{BROKEN}")
"""A change at a known time breaks a hard constraint; a fact that nothing adds, for one that does so in any case."""


@dataclass(frozen=True, slots=True)
class _Added:
    """What monitors add to one happening: conditions, effects, and numbers under conditions."""

    needs: Formula
    provides: tuple[Literal, ...]
    when: tuple[When, ...]

    @classmethod
    def of(cls, watched: Action, more: Iterable[When]) -> _Added:
        """Return what monitors have added to `watched`, with `more` effects."""
        own = [each for each in watched.when if each.provides and all(map(is_monitor, each.provides))]
        provides = tuple([each for each in watched.provides if is_monitor(each)])
        return cls(watched.requires, provides, (*own, *more))

    @property
    def certain(self) -> tuple[NumericEffect, ...]:
        """The unconditional changes of numbers."""
        return tuple([number for each in self.when if each.requires == TRUE for number in each.numbers])

    @property
    def branches(self) -> tuple[When, ...]:
        """The conditional effects."""
        return tuple([each for each in self.when if each.requires != TRUE])

    def extend(self, moment: Moment) -> Moment:
        """Return `moment` with what is added."""
        return replace(
            moment,
            requires=with_conjuncts(moment.requires, *conjuncts(self.needs)),
            provides=(*moment.provides, *self.provides),
            when=(*moment.when, *self.branches),
            numbers=(*moment.numbers, *self.certain),
        )

    def extend_change(self, change: TimedEffect) -> TimedEffect:
        """Return the known `change`, which happens in any case: a fact says that it breaks a hard constraint."""
        broken: tuple[When, ...] = ()
        provides = (*change.provides, *self.provides)
        if self.needs == FALSE:
            provides = (*provides, _LATE)
        elif self.needs != TRUE:
            broken = (When(negate(self.needs), (_LATE,)),)
        return replace(change, provides=provides, when=(*change.when, *self.branches, *broken))


class _Watch:
    """Compiles `constraints`, some of those of `problem`, at their places."""

    def __init__(self, problem: Problem, constraints: list[Constraint]) -> None:
        self._problem = problem
        actions = problem.domain.actions
        self._ends = {name: _START if takes_no_time(action) else _END for name, action in actions.items()}
        self._constraints = constraints
        self._counted = {
            f"{MARK}{place}-count": each
            for place, each in enumerate(constraints)
            if each.kind is ConstraintKind.AT_MOST and isinstance(each.what, Done) and 1 < each.times < UNCOUNTED
        }

    def compile(self) -> Problem:
        """Return the problem without constraints."""
        problem, domain = self._problem, self._problem.domain
        watched = self._watch_happenings()
        before = Preparation(problem, {}).before
        added = {
            name: _Added.of(action, self._count_steps(before(action)) if name.startswith(_START) else ())
            for name, action in watched.domain.actions.items()
        }
        timed = tuple([added[f"{_CHANGE}{place}"].extend_change(each) for place, each in enumerate(problem.timed)])
        counts = {
            name: Function(name, high=each.times if each.utility is None else None)
            for name, each in self._counted.items()
        }
        goal = self._extend_goal(watched.goal, timed)
        predicates = {name: each for name, each in watched.domain.predicates.items() if name.startswith(MARK)}
        predicates |= {fact.predicate: Predicate(fact.predicate) for fact in (_LATE, _NEVER)}
        return replace(
            problem,
            domain=replace(
                domain,
                actions={name: self._extend(action, added) for name, action in domain.actions.items()},
                predicates={**domain.predicates, **predicates},
                functions={**domain.functions, **counts},
            ),
            initial=(*problem.initial, *[fact for fact in watched.initial if is_monitor(fact)]),
            values={**problem.values, **{Atom(name): 0 for name in counts}},
            goal=goal,
            timed=timed,
            constraints=(),
        )

    def _watch_happenings(self) -> Problem:
        """Return the problem of happenings without time, with the monitors of state conditions and of ordered steps."""
        problem = self._problem
        moments = {each.name: each for each in self._find_happenings()}
        happenings = replace(
            problem,
            domain=replace(problem.domain, actions=moments),
            constraints=tuple(map(self._rename, self._constraints)),
            metric=Metric.LENGTH,
            timed=(),
            due=(),
            capacity={},
            budgets={},
            deadline=None,
        )
        return compile_away(happenings, Construct.CHANGES, *CONSTRAINED)

    def _find_happenings(self) -> Iterator[Action]:
        """Yield the starts, the ends and the known changes as actions that change facts."""
        for name, action in self._problem.domain.actions.items():
            start, _, end = split_moments(action)
            if takes_no_time(action):
                start = Moment(
                    provides=(*start.provides, *end.provides),
                    modifies=(*start.modifies, *end.modifies),
                    when=(*start.when, *end.when),
                )
            else:
                yield _make_happening(_END + name, action, end)
            yield _make_happening(_START + name, action, start)
        for place, change in enumerate(self._problem.timed):
            yield Action(f"{_CHANGE}{place}", provides=change.provides, cost=())

    def _rename(self, constraint: Constraint) -> Constraint:
        """Return `constraint` about happenings: its steps break it at their starts, and meet it at their ends."""
        if constraint in self._counted.values():
            return _NOTHING
        meets = constraint.kind in (ConstraintKind.SOMETIME, ConstraintKind.BEFORE)
        what = self._name(constraint.what, meets=meets)
        other = None if constraint.other is None else self._name(constraint.other, meets=False)
        return replace(constraint, what=what, other=other)

    def _name(self, happening: Happening, *, meets: bool) -> Happening:
        if not isinstance(happening, Done):
            return happening
        name = happening.action.predicate
        prefix = self._ends.get(name, _START) if meets else _START
        return Done(replace(happening.action, predicate=prefix + name))

    def _count_steps(self, before: Before) -> Iterator[When]:
        """Yield the effects of the start `before` on how many steps constraints have counted."""
        for name, each in self._counted.items():
            covered = _cover(each, before)
            if covered != FALSE:
                yield When(covered, numbers=(NumericEffect(Atom(name), "+=", 1),))

    def _extend(self, action: Action, added: Mapping[str, _Added]) -> Action:
        """Return the declared `action` with what monitors add to its happenings."""
        start = added[_START + action.name]
        if _END + action.name not in added:
            whole = start.extend(Moment(action.requires, action.provides, action.modifies, action.when, action.numbers))
            return replace(
                action, requires=whole.requires, provides=whole.provides, when=whole.when, numbers=whole.numbers
            )
        end = added[_END + action.name]
        return replace(action, at_start=start.extend(action.at_start), at_end=end.extend(action.at_end))

    def _extend_goal(self, goal: Goal, timed: Iterable[TimedEffect]) -> Goal:
        """Return `goal` with what known changes and steps must not break."""
        hard, soft = [*conjuncts(goal.hard)], [*goal.soft]
        if any(_LATE in each.provides for each in timed):
            hard.append(_NEVER)
        if any(_LATE in when.provides for each in timed for when in each.when):
            hard.append(Not(_LATE))
        for name, each in self._counted.items():
            if each.utility is not None:
                soft.append(SoftGoal(Comparison(Atom(name), "<=", each.times), each.utility))
        return Goal(conjunction(hard), tuple(soft))


def _cover(constraint: Constraint, before: Before) -> Formula:
    """Return when the start `before` is one of a step that `constraint` names."""
    assert isinstance(constraint.what, Done)
    pattern = constraint.what.action
    return before.covered(replace(pattern, predicate=_START + pattern.predicate))


def _make_happening(name: str, action: Action, moment: Moment) -> Action:
    """Return what `moment` changes as an action `name`, without conditions and numbers."""
    when = tuple([replace(each, numbers=()) for each in moment.when if each.provides or each.modifies])
    return Action(name, action.parameters, TRUE, moment.provides, moment.modifies, when, cost=())
