"""Constraints on the way, compiled to conditions and effects of the actions that matter to them.

    hard   an action requires that it does not break the constraint
    soft   where it is broken, a fact says so from then on: a wish that this fact does not hold

Monitors are facts that say how far a constraint is kept. What an action does to them is said about the state before the
step, by regression, so monitors are ordinary conditions and effects (Bonassi, Gerevini, Percassi and Scala, 2021, for
states; here for steps, too). Where a constraint has to count, there is one fact for each time, or binary digits where
these are many.

A condition on a derived predicate cannot be regressed: the next step judges the state that it leaves, and the end
judges the last one. Actions keep their names and arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from planner.compilations import Compilation, same_steps
from planner.compilations.adl import compile_adl
from planner.compilations.lifted_regression import Objects, Regression, both, either, opposite, variables_in
from planner.compilations.normal_form import negation_normal
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import (
    Action,
    Constraint,
    ConstraintKind,
    Done,
    Happening,
    Literal,
    When,
    negated_atoms,
    positive_atoms,
)
from planner.model.domain import Predicate
from planner.model.formulas import (
    FALSE,
    OPEN,
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Term,
    atoms_in,
    conjunction,
    conjuncts,
    substitute,
)
from planner.model.problem import Goal, Problem, SoftGoal


@dataclass(frozen=True, slots=True)
class Before:
    """The state before a step of `action`, which goes by this `name`, and what it says about the one after it."""

    name: str
    action: Action
    regression: Regression
    objects: Objects

    def covered(self, pattern: Atom) -> Formula:
        """Return when the step is one that `pattern` covers."""
        if pattern.predicate != self.name:
            return FALSE
        found: list[Formula] = []
        for mine, parameter in zip(pattern.args, self.action.parameters, strict=False):
            if mine != OPEN:
                if not self.objects.may_be(mine, parameter.types):
                    return FALSE
                found.append(Equals(parameter.name, mine))
        return both(found)


@dataclass(frozen=True, slots=True)
class Watched:
    """A condition and its negation in negation normal form, or a pattern of steps (`is_step`).

    `at_start` says whether it happens in the initial state.
    """

    condition: Formula
    negation: Formula = FALSE
    is_step: bool = False
    at_start: bool = False

    def newly(self, before: Before) -> Formula:
        """Return when the action makes it happen; where the condition held already, it may say either."""
        return self._covered(before) if self.is_step else before.regression.newly(self.condition)

    def ends(self, before: Before) -> Formula:
        """Return when the action makes the condition false; where it was so already, it may say either."""
        return before.regression.newly(self.negation)

    def fails(self, before: Before) -> Formula:
        """Return when the action makes the condition false, or the step is none of these."""
        return opposite(self._covered(before)) if self.is_step else self.ends(before)

    def begins(self, before: Before) -> Formula:
        """Return when the action makes it begin to happen."""
        made = self.newly(before)
        return made if self.is_step else both([made, self.negation])

    def after(self, before: Before) -> Formula:
        """Return when it happens with the action, or in the state after it."""
        return self._covered(before) if self.is_step else before.regression.after(self.condition)

    def _covered(self, before: Before) -> Formula:
        assert isinstance(self.condition, Atom)
        return before.covered(self.condition)


class Watching:
    """Makes happenings of one problem ready."""

    def __init__(self, problem: Problem, names: Mapping[str, str]) -> None:
        self._names = names
        self.objects = Objects(problem)
        self._derived = problem.domain.derived
        self._start = set(problem.initial)
        self._bound: dict[Term, tuple[str, ...]] = {}
        self._fresh = itertools.count()

    def watched(self, happening: Happening) -> Watched:
        """Return `happening`, ready; of conditions on derived predicates, it is not known what holds at the start."""
        if isinstance(happening, Done):
            return Watched(happening.action, is_step=True)
        condition, negation = [negation_normal(happening, self._fresh, negate=negate) for negate in (False, True)]
        self._bound |= variables_in(condition) | variables_in(negation)
        at_start = not self.reads_derived(happening) and holds(condition, self._start, self.objects)
        return Watched(condition, negation, at_start=at_start)

    def before(self, action: Action) -> Before:
        """Return the state before a step of `action`."""
        name = self._names.get(action.name, action.name)
        return Before(name, action, Regression.through(action, self.objects, self._bound), self.objects)

    def reads_derived(self, happening: Happening | None) -> bool:
        """Return whether `happening` is a condition on a derived predicate."""
        if happening is None or isinstance(happening, Done):
            return False
        return any(atom.predicate in self._derived for atom in atoms_in(happening))


def holds(condition: Formula, facts: set[Atom], objects: Objects) -> bool:
    """Return whether the ground `condition` on base facts holds where just `facts` do."""
    match condition:
        case Atom():
            return condition in facts
        case Equals(left, right):
            return left == right
        case Not(part):
            return not holds(part, facts, objects)
        case Imply(premise, conclusion):
            return not holds(premise, facts, objects) or holds(conclusion, facts, objects)
        case And(parts):
            return all(holds(part, facts, objects) for part in parts)
        case Or(parts):
            return any(holds(part, facts, objects) for part in parts)
        case Forall() | Exists():
            found = (holds(part, facts, objects) for part in _instances(condition, objects))
            return all(found) if isinstance(condition, Forall) else any(found)


def _instances(condition: Forall | Exists, objects: Objects) -> Iterator[Formula]:
    names = [variable.name for variable in condition.variables]
    for values in itertools.product(*[objects.of(variable.types) for variable in condition.variables]):
        yield substitute(condition.part, dict(zip(names, values, strict=True)))


FEW: Final = 8
"""So many times have a fact each."""


def effect(condition: Formula, *literals: Literal) -> list[When]:
    """Return the effect, if it ever happens."""
    return [] if condition == FALSE else [When(condition, literals)]


UNCOUNTED: Final = 100_000
"""So many times are not counted: no search finds a plan of so many steps."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A number from 0 to `times`, in facts whose predicates begin with `name`; `full` holds from `times` on."""

    name: str
    times: int

    @property
    def full(self) -> Atom:
        """The fact that the number is reached."""
        return Atom(f"{self.name}-{self.times}" if self.times <= FEW else f"{self.name}-full")

    @property
    def once(self) -> tuple[Atom, ...]:
        """The facts that hold where it is 1."""
        return () if not self.times else (Atom(f"{self.name}-1"),) if self.times <= FEW else (self._digits[0],)

    def effects(self, begins: Formula) -> list[When]:
        """Return what makes it one more where something `begins`."""
        if self.times > FEW:
            return self._carried(begins)
        levels = [Atom(f"{self.name}-{number}") for number in range(1, self.times + 1)]
        below: list[Formula] = [TRUE, *levels]
        return [
            each for level, known in zip(levels, below, strict=False) for each in effect(both([begins, known]), level)
        ]

    @property
    def _digits(self) -> list[Atom]:
        return [Atom(f"{self.name}-digit-{number}") for number in range(self.times.bit_length())]

    def _carried(self, begins: Formula) -> list[When]:
        """Return the effects that add one to the binary digits, and that of the last time."""
        digits, last = self._digits, self.times - 1
        found = []
        for place, digit in enumerate(digits):
            lower = digits[:place]
            found += effect(both([begins, *lower, Not(digit)]), digit, *map(Not, lower))
        before = [digit if last >> place & 1 else Not(digit) for place, digit in enumerate(digits)]
        return [*found, *effect(both([begins, *before]), self.full)]


def _nothing(_: Before) -> list[When]:
    return []


def _never(_: Before) -> Formula:
    return FALSE


@dataclass(frozen=True, slots=True)
class Monitor:
    """How one constraint is watched.

    `initial` are the facts that hold at first. `breaks` says when a step breaks the constraint, in the state before it,
    and `effects` what the step changes. The constraint is `broken` from the start, or where `final` does not hold at
    the end.
    """

    initial: tuple[Atom, ...] = ()
    breaks: Callable[[Before], Formula] = _never
    effects: Callable[[Before], list[When]] = _nothing
    broken: bool = False
    final: Formula = TRUE


def monitor(constraint: Constraint, name: str, watching: Watching) -> Monitor:
    """Return what watches `constraint`, with facts whose predicates begin with `name`."""
    what = watching.watched(constraint.what)
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            return Monitor(breaks=what.fails, broken=not (what.is_step or what.at_start))
        case ConstraintKind.SOMETIME:
            return _sometime(what, name)
        case ConstraintKind.AT_MOST if constraint.times == 0:
            return Monitor(breaks=what.newly, broken=what.at_start)
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return Monitor()
        case ConstraintKind.AT_MOST:
            return _at_most(what, constraint.times, name)
    assert constraint.other is not None
    other = watching.watched(constraint.other)
    return (_before if constraint.kind is ConstraintKind.BEFORE else _never_after)(what, other, name)


def _sometime(what: Watched, name: str) -> Monitor:
    if what.at_start:
        return Monitor()
    seen = Atom(f"{name}-seen")
    return Monitor(effects=lambda before: effect(what.newly(before), seen), final=seen)


def _at_most(what: Watched, times: int, name: str) -> Monitor:
    counter = Counter(name, times)

    def effects(before: Before) -> list[When]:
        return counter.effects(what.newly(before) if times == 1 else what.begins(before))

    def breaks(before: Before) -> Formula:
        return both([what.begins(before), counter.full])

    return Monitor(counter.once if what.at_start else (), breaks, effects)


def _before(what: Watched, other: Watched, name: str) -> Monitor:
    seen = Atom(f"{name}-seen")

    def breaks(before: Before) -> Formula:
        in_time = what.newly(before) if what.is_step and not other.is_step else FALSE
        return both([other.newly(before), opposite(either([seen, in_time]))])

    initial = (seen,) if what.at_start else ()
    return Monitor(initial, breaks, lambda before: effect(what.newly(before), seen), other.at_start)


def _never_after(what: Watched, other: Watched, name: str) -> Monitor:
    seen = Atom(f"{name}-seen")
    if not what.is_step and not other.is_step:
        return _ending(what, other, seen, Atom(f"{name}-ending"))

    def breaks(before: Before) -> Formula:
        both_now = both([other.newly(before), what.after(before)]) if other.is_step and not what.is_step else FALSE
        return either([both([what.newly(before), seen]), both_now])

    initial = (seen,) if other.at_start else ()
    return Monitor(initial, breaks, lambda before: effect(other.newly(before), seen))


def _ending(what: Watched, other: Watched, seen: Atom, ending: Atom) -> Monitor:
    """Return the monitor of a condition that may hold where the other holds first, but no longer: it is `ending`."""

    def breaks(before: Before) -> Formula:
        stays = TRUE if what.ends(before) == FALSE else what.after(before)
        return either([both([what.newly(before), seen]), both([ending, stays])])

    def effects(before: Before) -> list[When]:
        found = effect(other.newly(before), seen)
        found += effect(both([other.newly(before), what.after(before), Not(seen)]), ending)
        return found if what.ends(before) == FALSE else [*found, When(TRUE, (Not(ending),))]

    initial = tuple([fact for fact, held in ((seen, other.at_start), (ending, what.at_start)) if held])
    return Monitor(initial if other.at_start else (), breaks, effects)


def observer(constraint: Constraint, name: str, watching: Watching) -> Monitor:
    """Return what watches `constraint`, with facts whose predicates begin with `name`."""
    what, seen = watching.watched(constraint.what), Atom(f"{name}-seen")
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            broken = FALSE if what.is_step else what.negation
            return Monitor(breaks=lambda before: what.fails(before) if what.is_step else broken, final=opposite(broken))
        case ConstraintKind.SOMETIME:
            return Monitor(effects=lambda before: effect(_left(what, before), seen), final=either([seen, _now(what)]))
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return Monitor()
        case ConstraintKind.AT_MOST:
            return _observe_at_most(what, constraint.times, name)
    assert constraint.other is not None
    other = watching.watched(constraint.other)
    return (_observe_before if constraint.kind is ConstraintKind.BEFORE else _observe_never_after)(what, other, seen)


def _now(what: Watched) -> Formula:
    """Return when `what` happens in the state itself."""
    return FALSE if what.is_step else what.condition


def _step(what: Watched, before: Before) -> Formula:
    return what.newly(before) if what.is_step else FALSE


def _left(what: Watched, before: Before) -> Formula:
    """Return when `what` happens in the state that a step leaves, or is the step."""
    return either([_now(what), _step(what, before)])


def _observe_at_most(what: Watched, times: int, name: str) -> Monitor:
    counter, held = Counter(name, times), Atom(f"{name}-held")
    full = [counter.full] if times else []
    begins_now = both([_now(what), Not(held)])

    def begins(before: Before) -> Formula:
        return either([begins_now, _step(what, before)])

    def effects(before: Before) -> list[When]:
        found = counter.effects(begins(before))
        if what.is_step:
            return found
        return [*found, *effect(what.condition, held), *effect(what.negation, Not(held))]

    return Monitor(
        breaks=lambda before: both([begins(before), *full]),
        effects=effects,
        final=opposite(both([begins_now, *full])),
    )


def _observe_before(what: Watched, other: Watched, seen: Atom) -> Monitor:
    broken = both([_now(other), Not(seen)])

    def breaks(before: Before) -> Formula:
        late = both([_step(other, before), opposite(either([seen, _now(what)]))])
        return either([broken, late])

    return Monitor((), breaks, lambda before: effect(_left(what, before), seen), final=opposite(broken))


def _observe_never_after(what: Watched, other: Watched, seen: Atom) -> Monitor:
    broken = both([_now(what), seen])

    def breaks(before: Before) -> Formula:
        late = both([_step(what, before), either([seen, _now(other)])])
        return either([broken, late])

    return Monitor((), breaks, lambda before: effect(_left(other, before), seen), final=opposite(broken))


MARK: Final = "@constraint-"
"""What the predicates of monitors begin with; the number of the constraint follows."""


NO_NAMES: Final[Mapping[str, str]] = {}
BROKEN: Final = "-kept"
"""What the predicates end with that never hold."""


def compile_constraints(
    problem: Problem, *, soft: bool = True, names: Mapping[str, str] = NO_NAMES, plainly: bool = False
) -> Compilation:
    """Compile to plain ADL without constraints: the plans are those that keep the hard ones, and keep their steps.

    Soft constraints become soft goals, after those that there are; or are dropped, without `soft`. Actions in `names`
    go by another name where constraints speak of steps. `plainly` has all constraints watched as those on derived
    predicates are. A problem without constraints is returned unchanged.
    """
    if not problem.constraints:
        return same_steps(problem, problem)
    plain = compile_adl(problem).problem
    watching = Watching(plain, names)
    numbered = [(number, each) for number, each in enumerate(plain.constraints) if soft or each.utility is None]
    watches = [_Watch.of(number, each, watching, plainly) for number, each in numbered]
    parts = {
        action.name: [watch.at(before) for watch in watches]
        for action in plain.domain.actions.values()
        for before in [watching.before(action)]
    }
    initial = [fact for watch in watches for fact in watch.initial]
    possible = {*initial, *(atom for found in parts.values() for part in found for atom in part.adds)}
    actions = {name: _acting(plain.domain.actions[name], found, possible) for name, found in parts.items()}
    facts = dict.fromkeys([*initial, *(atom for found in parts.values() for part in found for atom in part.facts)])
    facts |= dict.fromkeys(atom for watch in watches for atom in atoms_in(watch.final) if _is_own(atom))
    predicates = {fact.predicate: Predicate(fact.predicate) for fact in facts}
    hard = [part for watch in watches if watch.utility is None for part in conjuncts(watch.final)]
    wishes = tuple([SoftGoal(watch.final, watch.utility) for watch in watches if watch.utility is not None])
    goal = plain.goal
    compiled = replace(
        plain,
        domain=replace(plain.domain, actions=actions, predicates={**plain.domain.predicates, **predicates}),
        initial=(*plain.initial, *initial),
        goal=Goal(conjunction([*conjuncts(goal.hard), *hard]) if hard else goal.hard, (*goal.soft, *wishes)),
        constraints=(),
    )
    return same_steps(compiled, problem)


def constraint_of(formula: Formula, problem: Problem) -> Constraint | None:
    """Return the constraint of `problem` whose monitor `formula` reads, if there is one."""
    numbers = [atom.predicate.removeprefix(MARK) for atom in atoms_in(formula) if _is_own(atom)]
    return problem.constraints[int(numbers[0].partition("-")[0])] if numbers and problem.constraints else None


def is_monitor(fact: Atom | Not) -> bool:
    """Return whether `fact` is one of a monitor, or the negation of one."""
    atom = fact.part if isinstance(fact, Not) else fact
    return isinstance(atom, Atom) and _is_own(atom)


def _is_own(atom: Atom) -> bool:
    return atom.predicate.startswith(MARK)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one action does about one constraint: what it must `avoid`, and its effects on the monitor."""

    avoid: Formula
    effects: tuple[When, ...]

    @property
    def adds(self) -> list[Atom]:
        return [atom for when in self.effects for atom in positive_atoms(when.provides)]

    @property
    def facts(self) -> list[Atom]:
        return [
            atom for when in self.effects for atom in (*positive_atoms(when.provides), *negated_atoms(when.provides))
        ]


@dataclass(frozen=True, slots=True)
class _Watch:
    """A constraint, its monitor, and what the predicates of the monitor's facts begin with."""

    monitor: Monitor
    name: str
    utility: Number | None

    @classmethod
    def of(cls, number: int, constraint: Constraint, watching: Watching, plainly: bool) -> _Watch:
        reads = any(map(watching.reads_derived, (constraint.what, constraint.other)))
        name = f"{MARK}{number}"
        made = (observer if plainly or reads else monitor)(constraint, name, watching)
        return cls(made, name, constraint.utility)

    @property
    def broken(self) -> Atom:
        """The fact that a soft constraint has been broken."""
        return Atom(f"{self.name}-broken")

    @property
    def initial(self) -> tuple[Atom, ...]:
        broken = self.utility is not None and self.monitor.broken
        return (*self.monitor.initial, self.broken) if broken else self.monitor.initial

    @property
    def final(self) -> Formula:
        """What must hold at the end, or had better: a fact that nothing makes true where it is broken initially."""
        if self.utility is not None:
            return both([Not(self.broken), self.monitor.final])
        return Atom(self.name + BROKEN) if self.monitor.broken else self.monitor.final

    def at(self, before: Before) -> _Part:
        breaks, effects = self.monitor.breaks(before), self.monitor.effects(before)
        if self.utility is not None:
            return _Part(FALSE, (*effects, *effect(breaks, self.broken)))
        return _Part(breaks, tuple(effects))


def _acting(action: Action, parts: Sequence[_Part], possible: set[Atom]) -> Action:
    """Return `action` with what the constraints ask of it; monitors' facts are among `possible`, or never hold."""
    needs = [part for each in parts for part in conjuncts(opposite(_live(each.avoid, possible)))]
    effects = [replace(when, requires=_live(when.requires, possible)) for each in parts for when in each.effects]
    always = [literal for when in effects if when.requires == TRUE for literal in when.provides]
    if not needs and not effects:
        return action
    return replace(
        action,
        requires=conjunction([*conjuncts(action.requires), *needs]) if needs else action.requires,
        provides=tuple(dict.fromkeys([*action.provides, *always])),
        when=(*action.when, *[when for when in effects if when.requires not in (TRUE, FALSE)]),
    )


def _live(formula: Formula, possible: set[Atom]) -> Formula:
    """Return `formula` with the facts of monitors that never hold put in."""
    match formula:
        case Atom() if _is_own(formula) and formula not in possible:
            return FALSE
        case Not(Atom() as atom) if _is_own(atom) and atom not in possible:
            return TRUE
        case And(parts):
            return both([_live(part, possible) for part in parts])
        case Or(parts):
            return either([_live(part, possible) for part in parts])
        case _:
            return formula
