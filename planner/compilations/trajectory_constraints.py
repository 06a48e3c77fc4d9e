"""Trajectory constraints, compiled to conditions and effects of the actions that can change them.

hard each action requires that it does not violate the constraint soft an action that violates the constraint adds a
fact, and a soft goal requires that this fact does not hold

A monitor is a set of facts that record the progress of a constraint. Regression expresses the effects of an action on a
monitor in the state before the action (Bonassi, Gerevini, Percassi and Scala, 2021, for conditions; here for steps,
too). A counting monitor has one fact for each number, or binary digits for large numbers.

A condition on a derived predicate or on numbers is not regressed. A late monitor evaluates the state before a step
instead of the state after it, and the goal evaluates the last state. Actions keep their names and arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from planner.compilations.lifted_regression import Objects, Regression, bound_variables, conjoin, disjoin
from planner.compilations.normal_form import to_negation_normal_form
from planner.lightweight import Final, dataclass, replace
from planner.model import formulas
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
    Comparison,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Term,
    negate,
    with_conjuncts,
)
from planner.model.problem import Goal, Problem, SoftGoal


@dataclass(frozen=True, slots=True)
class Before:
    """The state before a step of `action`, which constraints call `name`, and the regression through the action."""

    name: str
    action: Action
    regression: Regression
    objects: Objects

    def covered(self, pattern: Atom) -> Formula:
        """Return the condition under which `pattern` covers the step."""
        if pattern.predicate != self.name:
            return FALSE
        found: list[Formula] = []
        for mine, parameter in zip(pattern.args, self.action.parameters, strict=False):
            if mine != OPEN:
                if not self.objects.may_be(mine, parameter.types):
                    return FALSE
                found.append(Equals(parameter.name, mine))
        return conjoin(found)


@dataclass(frozen=True, slots=True)
class Watched:
    """What a monitor watches: a condition and its negation in negation normal form, or a pattern of steps (`is_step`).

    `at_start` tells whether the condition holds in the initial state. All methods return conditions on the state before
    a step.
    """

    condition: Formula
    negation: Formula = FALSE
    is_step: bool = False
    at_start: bool = False

    def becomes_true(self, before: Before) -> Formula:
        """Return when the step is covered or makes the condition true; arbitrary if that held before."""
        return self._covered(before) if self.is_step else before.regression.becomes_true(self.condition)

    def ends(self, before: Before) -> Formula:
        """Return when the step makes the condition false; arbitrary if it was false before."""
        return before.regression.becomes_true(self.negation)

    def fails(self, before: Before) -> Formula:
        """Return when the step makes the condition false, or is not covered."""
        return negate(self._covered(before)) if self.is_step else self.ends(before)

    def begins(self, before: Before) -> Formula:
        """Return when the step is covered, or makes the condition true that was false."""
        made = self.becomes_true(before)
        return made if self.is_step else conjoin([made, self.negation])

    def after(self, before: Before) -> Formula:
        """Return when the step is covered, or the condition holds after it."""
        return self._covered(before) if self.is_step else before.regression.after(self.condition)

    def _covered(self, before: Before) -> Formula:
        assert isinstance(self.condition, Atom)
        return before.covered(self.condition)


class Preparation:
    """Prepares conditions and patterns of one problem for monitors."""

    def __init__(self, problem: Problem, names: Mapping[str, str]) -> None:
        self._names = names
        self.objects = Objects(problem)
        self._derived = problem.domain.derived
        self._start = set(problem.initial)
        self._bound: dict[Term, tuple[str, ...]] = {}
        self._fresh = itertools.count()

    def prepare(self, happening: Happening) -> Watched:
        """Return `happening` in the form that monitors watch; a condition for late monitors is not `at_start`."""
        if isinstance(happening, Done):
            return Watched(happening.action, is_step=True)
        condition, negation = [to_negation_normal_form(each, self._fresh) for each in (happening, Not(happening))]
        self._bound |= bound_variables(condition) | bound_variables(negation)
        at_start = not self.is_late(happening) and holds(condition, self._start, self.objects)
        return Watched(condition, negation, at_start=at_start)

    def before(self, action: Action) -> Before:
        """Return the state before a step of `action`."""
        name = self._names.get(action.name, action.name)
        return Before(name, action, Regression.through(action, self.objects, self._bound), self.objects)

    def is_late(self, happening: Happening | None) -> bool:
        """Return whether `happening` is a condition on a derived predicate or on numbers."""
        if happening is None or isinstance(happening, Done):
            return False
        compared = any(True for _ in formulas.comparisons_in(happening))
        return compared or any(atom.predicate in self._derived for atom in formulas.atoms_in(happening))


def holds(condition: Formula, facts: set[Atom], objects: Objects) -> bool:
    """Return whether the ground `condition` on base facts holds in the state `facts`."""
    match condition:
        case Atom():
            return condition in facts
        case Equals(left, right):
            return left == right
        case Comparison():
            raise AssertionError("late monitors compare numbers")
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
        yield formulas.substitute(condition.part, dict(zip(names, values, strict=True)))


FEW: Final = 8
"""Numbers up to this one have one fact each; larger ones are counted in binary digits."""


def make_effect(condition: Formula, *literals: Literal) -> list[When]:
    """Return the conditional effect as a list, which is empty if `condition` is false."""
    return [] if condition == FALSE else [When(condition, literals)]


UNCOUNTED: Final = 100_000
"""Numbers from this one on are not counted: no search finds plans with so many steps."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A number from 0 to `times`, in facts whose predicates begin with `name`; `full` says that it is `times`."""

    name: str
    times: int

    @property
    def full(self) -> Atom:
        """The fact that the number is `times`."""
        return Atom(f"{self.name}-{self.times}" if self.times <= FEW else f"{self.name}-full")

    @property
    def once(self) -> tuple[Atom, ...]:
        """The facts that hold if the number is 1."""
        return () if not self.times else (Atom(f"{self.name}-1"),) if self.times <= FEW else (self._digits[0],)

    def effects(self, begins: Formula) -> list[When]:
        """Return the effects that add one if `begins` holds."""
        if self.times > FEW:
            return self._carry_digits(begins)
        levels = [Atom(f"{self.name}-{number}") for number in range(1, self.times + 1)]
        below: list[Formula] = [TRUE, *levels]
        return [
            each
            for level, known in zip(levels, below, strict=False)
            for each in make_effect(conjoin([begins, known]), level)
        ]

    @property
    def _digits(self) -> list[Atom]:
        return [Atom(f"{self.name}-digit-{number}") for number in range(self.times.bit_length())]

    def _carry_digits(self, begins: Formula) -> list[When]:
        """Return the effects that add one to the binary digits, and that add `full` at the end."""
        digits, last = self._digits, self.times - 1
        found = []
        for place, digit in enumerate(digits):
            lower = digits[:place]
            found += make_effect(conjoin([begins, *lower, Not(digit)]), digit, *map(Not, lower))
        before = [digit if last >> place & 1 else Not(digit) for place, digit in enumerate(digits)]
        return [*found, *make_effect(conjoin([begins, *before]), self.full)]


def _no_effects(_: Before) -> list[When]:
    return []


def _never_breaks(_: Before) -> Formula:
    return FALSE


@dataclass(frozen=True, slots=True)
class Monitor:
    """The monitor of one constraint.

    `initial` are the monitor's facts in the initial state. `breaks` is the condition, before a step, under which the
    step violates the constraint, and `effects` are the step's effects on the monitor. `broken` tells whether the
    initial state violates the constraint; `final` must hold at the end.
    """

    initial: tuple[Atom, ...] = ()
    breaks: Callable[[Before], Formula] = _never_breaks
    effects: Callable[[Before], list[When]] = _no_effects
    broken: bool = False
    final: Formula = TRUE


def build_monitor(constraint: Constraint, name: str, watching: Preparation) -> Monitor:
    """Build the monitor of `constraint`, by regression; its predicates begin with `name`."""
    what = watching.prepare(constraint.what)
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            return Monitor(breaks=what.fails, broken=not (what.is_step or what.at_start))
        case ConstraintKind.SOMETIME:
            return _monitor_sometime(what, name)
        case ConstraintKind.AT_MOST if constraint.times == 0:
            return Monitor(breaks=what.becomes_true, broken=what.at_start)
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return Monitor()
        case ConstraintKind.AT_MOST:
            return _monitor_at_most(what, constraint.times, name)
    assert constraint.other is not None
    other = watching.prepare(constraint.other)
    return (_monitor_before if constraint.kind is ConstraintKind.BEFORE else _monitor_never_after)(what, other, name)


def _monitor_sometime(what: Watched, name: str) -> Monitor:
    if what.at_start:
        return Monitor()
    seen = Atom(f"{name}-seen")
    return Monitor(effects=lambda before: make_effect(what.becomes_true(before), seen), final=seen)


def _monitor_at_most(what: Watched, times: int, name: str) -> Monitor:
    counter = Counter(name, times)

    def effects(before: Before) -> list[When]:
        return counter.effects(what.becomes_true(before) if times == 1 else what.begins(before))

    def breaks(before: Before) -> Formula:
        return conjoin([what.begins(before), counter.full])

    return Monitor(counter.once if what.at_start else (), breaks, effects)


def _monitor_before(what: Watched, other: Watched, name: str) -> Monitor:
    seen = Atom(f"{name}-seen")

    def breaks(before: Before) -> Formula:
        in_time = what.becomes_true(before) if what.is_step and not other.is_step else FALSE
        return conjoin([other.becomes_true(before), negate(disjoin([seen, in_time]))])

    initial = (seen,) if what.at_start else ()
    return Monitor(initial, breaks, lambda before: make_effect(what.becomes_true(before), seen), other.at_start)


def _monitor_never_after(what: Watched, other: Watched, name: str) -> Monitor:
    seen = Atom(f"{name}-seen")
    if not what.is_step and not other.is_step:
        return _monitor_ending(what, other, seen, Atom(f"{name}-ending"))

    def breaks(before: Before) -> Formula:
        both_now = (
            conjoin([other.becomes_true(before), what.after(before)]) if other.is_step and not what.is_step else FALSE
        )
        return disjoin([conjoin([what.becomes_true(before), seen]), both_now])

    initial = (seen,) if other.at_start else ()
    return Monitor(initial, breaks, lambda before: make_effect(other.becomes_true(before), seen))


def _monitor_ending(what: Watched, other: Watched, seen: Atom, ending: Atom) -> Monitor:
    """Build the monitor of a condition that must end once the other has held; `ending`: it is still true."""

    def breaks(before: Before) -> Formula:
        stays = TRUE if what.ends(before) == FALSE else what.after(before)
        return disjoin([conjoin([what.becomes_true(before), seen]), conjoin([ending, stays])])

    def effects(before: Before) -> list[When]:
        found = make_effect(other.becomes_true(before), seen)
        found += make_effect(conjoin([other.becomes_true(before), what.after(before), Not(seen)]), ending)
        return found if what.ends(before) == FALSE else [*found, When(TRUE, (Not(ending),))]

    initial = tuple([fact for fact, held in ((seen, other.at_start), (ending, what.at_start)) if held])
    return Monitor(initial if other.at_start else (), breaks, effects)


def build_late_monitor(constraint: Constraint, name: str, watching: Preparation) -> Monitor:
    """Build the late monitor of `constraint`, which each step updates for the state before it."""
    what, seen = watching.prepare(constraint.what), Atom(f"{name}-seen")
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            broken = FALSE if what.is_step else what.negation
            return Monitor(breaks=lambda before: what.fails(before) if what.is_step else broken, final=negate(broken))
        case ConstraintKind.SOMETIME:
            return Monitor(
                effects=lambda before: make_effect(_left_or_step(what, before), seen),
                final=disjoin([seen, _state_condition(what)]),
            )
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return Monitor()
        case ConstraintKind.AT_MOST:
            return _late_at_most(what, constraint.times, name)
    assert constraint.other is not None
    other = watching.prepare(constraint.other)
    return (_late_before if constraint.kind is ConstraintKind.BEFORE else _late_never_after)(what, other, seen)


def _state_condition(what: Watched) -> Formula:
    """Return the condition of `what` on the state itself."""
    return FALSE if what.is_step else what.condition


def _step_condition(what: Watched, before: Before) -> Formula:
    return what.becomes_true(before) if what.is_step else FALSE


def _left_or_step(what: Watched, before: Before) -> Formula:
    """Return when `what` holds in the state before a step, or covers the step."""
    return disjoin([_state_condition(what), _step_condition(what, before)])


def _late_at_most(what: Watched, times: int, name: str) -> Monitor:
    counter, held = Counter(name, times), Atom(f"{name}-held")
    full = [counter.full] if times else []
    begins_now = conjoin([_state_condition(what), Not(held)])

    def begins(before: Before) -> Formula:
        return disjoin([begins_now, _step_condition(what, before)])

    def effects(before: Before) -> list[When]:
        found = counter.effects(begins(before))
        if what.is_step:
            return found
        return [*found, *make_effect(what.condition, held), *make_effect(what.negation, Not(held))]

    return Monitor(
        breaks=lambda before: conjoin([begins(before), *full]),
        effects=effects,
        final=negate(conjoin([begins_now, *full])),
    )


def _late_before(what: Watched, other: Watched, seen: Atom) -> Monitor:
    broken = conjoin([_state_condition(other), Not(seen)])

    def breaks(before: Before) -> Formula:
        late = conjoin([_step_condition(other, before), negate(disjoin([seen, _state_condition(what)]))])
        return disjoin([broken, late])

    return Monitor((), breaks, lambda before: make_effect(_left_or_step(what, before), seen), final=negate(broken))


def _late_never_after(what: Watched, other: Watched, seen: Atom) -> Monitor:
    broken = conjoin([_state_condition(what), seen])

    def breaks(before: Before) -> Formula:
        late = conjoin([_step_condition(what, before), disjoin([seen, _state_condition(other)])])
        return disjoin([broken, late])

    return Monitor((), breaks, lambda before: make_effect(_left_or_step(other, before), seen), final=negate(broken))


MARK: Final = "@constraint-"
"""Prefix of the predicates of monitors; the number of the constraint follows."""


NO_NAMES: Final[Mapping[str, str]] = {}
BROKEN: Final = "-kept"
"""Suffix of a predicate that never holds: it is the goal if the initial state violates a constraint."""


def compile_constraints(
    plain: Problem, *, soft: bool = True, names: Mapping[str, str] = NO_NAMES, plainly: bool = False
) -> Problem:
    """Compile `plain`, a problem in plain ADL, to one without constraints; plans keep their steps.

    Soft constraints become soft goals behind the declared ones, or stay as they are unless `soft`. `names` maps actions
    to the names that constraints use for them. With `plainly`, all monitors are late ones.
    """
    watching = Preparation(plain, names)
    numbered = [(number, each) for number, each in enumerate(plain.constraints) if soft or each.utility is None]
    watches = [_NamedMonitor.of(number, each, watching, plainly) for number, each in numbered]
    parts = {
        action.name: [watch.apply_to(before) for watch in watches]
        for action in plain.domain.actions.values()
        for before in [watching.before(action)]
    }
    initial = [fact for watch in watches for fact in watch.initial]
    possible = {*initial, *(atom for found in parts.values() for part in found for atom in part.adds)}
    actions = {name: _constrain_action(plain.domain.actions[name], found, possible) for name, found in parts.items()}
    facts = dict.fromkeys([*initial, *(atom for found in parts.values() for part in found for atom in part.facts)])
    facts |= dict.fromkeys(atom for watch in watches for atom in formulas.atoms_in(watch.final) if _is_of_monitor(atom))
    predicates = {fact.predicate: Predicate(fact.predicate) for fact in facts}
    hard = [part for watch in watches if watch.utility is None for part in formulas.conjuncts(watch.final)]
    wishes = tuple([SoftGoal(watch.final, watch.utility) for watch in watches if watch.utility is not None])
    goal = plain.goal
    return replace(
        plain,
        domain=replace(plain.domain, actions=actions, predicates={**plain.domain.predicates, **predicates}),
        initial=(*plain.initial, *initial),
        goal=Goal(with_conjuncts(goal.hard, *hard) if hard else goal.hard, (*goal.soft, *wishes)),
        constraints=tuple([each for each in plain.constraints if not soft and each.utility is not None]),
    )


def constraint_of(formula: Formula, problem: Problem) -> Constraint | None:
    """Return the constraint of `problem` whose monitor `formula` reads, if there is one."""
    numbers = [atom.predicate.removeprefix(MARK) for atom in formulas.atoms_in(formula) if _is_of_monitor(atom)]
    return problem.constraints[int(numbers[0].partition("-")[0])] if numbers and problem.constraints else None


def is_monitor(fact: Atom | Not) -> bool:
    """Return whether `fact` is a fact of a monitor, or the negation of one."""
    atom = fact.part if isinstance(fact, Not) else fact
    return isinstance(atom, Atom) and _is_of_monitor(atom)


def _is_of_monitor(atom: Atom) -> bool:
    return atom.predicate.startswith(MARK)


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of one action in one constraint: the condition that it must `avoid`, and effects on the monitor."""

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
class _NamedMonitor:
    """A constraint's monitor, the prefix of its predicates, and the utility of a soft constraint."""

    monitor: Monitor
    name: str
    utility: Number | None

    @classmethod
    def of(cls, number: int, constraint: Constraint, watching: Preparation, plainly: bool) -> _NamedMonitor:
        late = plainly or any(map(watching.is_late, (constraint.what, constraint.other)))
        name = f"{MARK}{number}"
        made = (build_late_monitor if late else build_monitor)(constraint, name, watching)
        return cls(made, name, constraint.utility)

    @property
    def broken(self) -> Atom:
        """The fact that the plan has violated the soft constraint."""
        return Atom(f"{self.name}-broken")

    @property
    def initial(self) -> tuple[Atom, ...]:
        broken = self.utility is not None and self.monitor.broken
        return (*self.monitor.initial, self.broken) if broken else self.monitor.initial

    @property
    def final(self) -> Formula:
        """The goal, or soft goal; a fact that nothing adds if the initial state violates a hard constraint."""
        if self.utility is not None:
            return conjoin([Not(self.broken), self.monitor.final])
        return Atom(self.name + BROKEN) if self.monitor.broken else self.monitor.final

    def apply_to(self, before: Before) -> _Share:
        breaks, effects = self.monitor.breaks(before), self.monitor.effects(before)
        if self.utility is not None:
            return _Share(FALSE, (*effects, *make_effect(breaks, self.broken)))
        return _Share(breaks, tuple(effects))


def _constrain_action(action: Action, parts: Sequence[_Share], possible: set[Atom]) -> Action:
    """Add the conditions and effects of the constraints to `action`; only `possible` facts of monitors may hold."""
    needs = [part for each in parts for part in formulas.conjuncts(negate(_simplify(each.avoid, possible)))]
    effects = [replace(when, requires=_simplify(when.requires, possible)) for each in parts for when in each.effects]
    always = [literal for when in effects if when.requires == TRUE for literal in when.provides]
    if not needs and not effects:
        return action
    return replace(
        action,
        requires=with_conjuncts(action.requires, *needs) if needs else action.requires,
        provides=tuple(dict.fromkeys([*action.provides, *always])),
        when=(*action.when, *[when for when in effects if when.requires not in (TRUE, FALSE)]),
    )


def _simplify(formula: Formula, possible: set[Atom]) -> Formula:
    """Simplify `formula`: facts of monitors that are not `possible` are false."""
    match formula:
        case Atom() if _is_of_monitor(formula) and formula not in possible:
            return FALSE
        case Not(Atom() as atom) if _is_of_monitor(atom) and atom not in possible:
            return TRUE
        case And(parts):
            return conjoin([_simplify(part, possible) for part in parts])
        case Or(parts):
            return disjoin([_simplify(part, possible) for part in parts])
        case _:
            return formula
