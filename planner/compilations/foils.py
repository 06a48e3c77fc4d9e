"""Foils: what a plan is asked to do otherwise, compiled into the problem (Krarup et al., 2021).

    use      a fact says that one of the steps is done, and the goal needs it
    avoid    the steps need a fact that never holds
    before   the later steps need the fact that an earlier one is done, and the goal needs that a later one is

The facts are named in words, so that explanations of compiled problems can be read. Actions keep their names and
arguments: a plan of the compiled problem is a plan of the declared one, at the same cost. In time, a step counts as
earlier than another if it starts first. Changes of the problem itself, such as a door that is closed, are foils, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from planner.compilations import reserve_name
from planner.compilations.lifted_regression import conjoin, disjoin
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.model.actions import Action, Constraint, Literal, When
from planner.model.domain import Predicate
from planner.model.formulas import FALSE, OPEN, TRUE, Atom, Equals, Formula, conjuncts, negate, with_conjuncts
from planner.model.problem import Goal, Problem, is_temporal, seal_like
from planner.plan import Plan, Step
from planner.problem_kinds import AnyProblem, classical_of, with_classical


@dataclass(frozen=True, slots=True)
class StepSet:
    """The steps that one of `patterns` covers, atoms `action(args…)` with open arguments.

    `text` names them: a pattern, or else what their arguments have in common.
    """

    text: str
    patterns: tuple[Atom, ...]

    def covers(self, step: Step) -> bool:
        """Return whether `step` is one of these steps."""
        return any(
            each.predicate == step.action
            and all(mine in (OPEN, other) for mine, other in zip(each.args, step.arguments, strict=False))
            for each in self.patterns
        )

    def covered(self, action: Action) -> Formula:
        """Return the condition on its parameters under which a step of `action` is one of these steps."""
        return disjoin(
            [
                conjoin(
                    [
                        Equals(parameter.name, mine)
                        for mine, parameter in zip(each.args, action.parameters, strict=False)
                        if mine != OPEN
                    ]
                )
                for each in self.patterns
                if each.predicate == action.name
            ]
        )

    def __str__(self) -> str:
        return self.text


class FoilKind(Enum):
    """What a foil asks of the steps of a plan."""

    USE = "some step is one of these"
    AVOID = "no step is one of these"
    BEFORE = "one of these is done before the first of the later steps, of which there is one"


@dataclass(frozen=True, slots=True)
class StepFoil:
    """A demand on the steps of a plan; `later` are the other steps of the kind BEFORE."""

    kind: FoilKind
    steps: StepSet
    later: StepSet | None = None

    @property
    def restricts(self) -> bool:
        """Whether the plans that do so are plans of the problem as it is."""
        return True

    def __str__(self) -> str:
        match self.kind:
            case FoilKind.USE:
                return f"with {self.steps}"
            case FoilKind.AVOID:
                return f"without {self.steps}"
        return f"{self.steps} before {self.later}"

    def holds_for(self, plan: Plan) -> bool:
        """Return whether `plan` does what the foil asks."""
        places = [place for place, step in enumerate(plan.steps) if self.steps.covers(step)]
        if self.later is None:
            return bool(places) is (self.kind is FoilKind.USE)
        later = [place for place, step in enumerate(plan.steps) if self.later.covers(step)]
        if not places or not later:
            return False
        starts = [time.start for time in plan.times] if plan.times else range(len(plan.steps))
        return min(starts[place] for place in places) < min(starts[place] for place in later)

    def apply(self, problem: Problem) -> Problem:
        """Return the problem whose plans are those of `problem` that do what the foil asks."""
        compile_kind = {FoilKind.USE: _compile_use, FoilKind.AVOID: _compile_avoid, FoilKind.BEFORE: _compile_before}
        return compile_kind[self.kind](problem, self)


@dataclass(frozen=True, slots=True)
class ConstraintFoil:
    """A constraint on the way to the goal, such as a fact that must never hold."""

    constraint: Constraint

    @property
    def restricts(self) -> bool:
        """Whether the plans that do so are plans of the problem as it is."""
        return True

    def __str__(self) -> str:
        return str(self.constraint)

    def apply(self, problem: Problem) -> Problem:
        """Add the constraint to `problem`."""
        return seal_like(replace(problem, constraints=(*problem.constraints, self.constraint)), problem)


@dataclass(frozen=True, slots=True)
class Intervention:
    """A problem that is otherwise than it is: `text` says how, and `change` returns it."""

    text: str
    change: Callable[[Problem], Problem] = field(compare=False, repr=False)

    @property
    def restricts(self) -> bool:
        """Whether the plans that do so are plans of the problem as it is."""
        return False

    def __str__(self) -> str:
        return self.text

    def apply(self, problem: Problem) -> Problem:
        """Return the changed problem."""
        return seal_like(self.change(problem), problem)


class OtherFoil:
    """A demand on the plans of a problem of another kind, such as one on their decomposition."""

    restricts = True
    """Whether the plans that do so are plans of the problem as it is."""

    def holds_for(self, plan: Plan) -> bool:
        """Return whether `plan` does what the foil asks."""
        raise NotImplementedError

    def apply(self, problem: Any) -> Any:
        """Return the problem whose plans are those of `problem` that do what the foil asks."""
        raise NotImplementedError


ClassicalFoil = StepFoil | ConstraintFoil | Intervention
Foil = ClassicalFoil | OtherFoil


def apply_foils(problem: AnyProblem, foils: Iterable[Foil]) -> Any:
    """Return the problem whose plans are those of `problem` that do what all `foils` ask.

    Of a problem of another kind, foils for classical problems change the classical part.
    """
    for each in foils:
        if isinstance(each, OtherFoil):
            problem = each.apply(problem)
        else:
            problem = with_classical(problem, each.apply(classical_of(problem)))
    return problem


DONE: Final = "done"
BEGUN: Final = "begun"
ALLOWED: Final = "allowed"
"""Beginnings of the names of facts: steps are done, begun (in time) or done before, and allowed."""


def _name_fact(problem: Problem, word: str, steps: StepSet) -> Atom:
    """Return a new fact for `steps`, such as `done drive(truck1, _, _)`, or `done something with truck1`."""
    named = all(each.predicate in steps.text for each in steps.patterns)
    what = steps.text if named else f"something with {steps}"
    return Atom(reserve_name(f"{word} {what}", {*problem.domain.predicates}, "'"))


def _with_actions(problem: Problem, actions: Iterable[Action], facts: Sequence[Atom], goal: Formula = TRUE) -> Problem:
    """Return `problem` with changed actions, more facts, and more in its goal."""
    domain = problem.domain
    changed = replace(
        domain,
        actions={action.name: action for action in actions},
        predicates={**domain.predicates, **{fact.predicate: Predicate(fact.predicate) for fact in facts}},
    )
    hard = problem.goal.hard
    if goal != TRUE:
        hard = with_conjuncts(hard, *conjuncts(goal))
    return seal_like(replace(problem, domain=changed, goal=Goal(hard, problem.goal.soft)), problem)


def _compile_use(problem: Problem, foil: StepFoil) -> Problem:
    done = _name_fact(problem, DONE, foil.steps)
    actions = [_add_effect(each, foil.steps.covered(each), done) for each in problem.domain.actions.values()]
    return _with_actions(problem, actions, [done], done)


def _compile_avoid(problem: Problem, foil: StepFoil) -> Problem:
    allowed = _name_fact(problem, ALLOWED, foil.steps)
    actions = [_add_need(each, foil.steps.covered(each), allowed) for each in problem.domain.actions.values()]
    return _with_actions(problem, actions, [allowed])


def _compile_before(problem: Problem, foil: StepFoil) -> Problem:
    assert foil.later is not None
    begun, done = _name_fact(problem, BEGUN, foil.steps), _name_fact(problem, DONE, foil.later)
    in_time, actions = is_temporal(problem), []
    for each in problem.domain.actions.values():
        later = foil.later.covered(each)
        ending = _add_effect(_add_need(each, later, begun), later, done)
        starts = in_time and each.duration is not None
        actions.append((_add_early_effect if starts else _add_effect)(ending, foil.steps.covered(each), begun))
    return _with_actions(problem, actions, [begun, done], done)


def _add_need(action: Action, covered: Formula, fact: Atom) -> Action:
    """Return `action`, whose steps need `fact` where they are `covered`."""
    if covered == FALSE:
        return action
    need = disjoin([negate(covered), fact])
    return replace(action, requires=with_conjuncts(action.requires, *conjuncts(need)))


def _add_effect(action: Action, covered: Formula, fact: Atom) -> Action:
    """Return `action`, whose steps make `fact` true where they are `covered`, at their end if they last."""
    provides, when = _make_true(fact, covered)
    return replace(action, provides=(*action.provides, *provides), when=(*action.when, *when))


def _add_early_effect(action: Action, covered: Formula, fact: Atom) -> Action:
    """Return `action`, whose steps make `fact` true where they are `covered`, at their start."""
    provides, when = _make_true(fact, covered)
    if not provides and not when:
        return action
    start = action.at_start
    start = replace(start, provides=(*start.provides, *provides), when=(*start.when, *when))
    return replace(action, at_start=start)


def _make_true(fact: Atom, covered: Formula) -> tuple[tuple[Literal, ...], tuple[When, ...]]:
    """Return the effects, plain and conditional, that make `fact` true where `covered` holds."""
    if covered in (TRUE, FALSE):
        return (fact,) if covered == TRUE else (), ()
    return (), (When(covered, (fact,)),)
