"""The problem that is left at a moment of a run: from the believed state, with the steps that run and what is to come.

A step that runs becomes an action that can only begin now, lasts as long as the step is thought to go on, and has what
is left of its effects. Changes at known times that are past are part of the state; those to come are as much nearer as
time has passed, and so are deadlines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from executor.dispatching.timetable import as_decimal
from executor.events.events import BEGUN
from executor.plans.suppositions import parse_suppositions
from planner.lightweight import dataclass, field, replace
from planner.model import Action, Atom, Goal, Number, Predicate, Problem
from planner.model.actions import DURATION, CostFunction, CostTerm, Literal, Moment, NumericEffect, When, positive_atoms
from planner.model.formulas import (
    TRUE,
    Arithmetic,
    Expression,
    Not,
    Term,
    conjunction,
    conjuncts,
    substitute,
    substitute_expression,
    with_conjuncts,
)
from planner.model.timing import TimedEffect
from planner.model.unknown_facts import restrict_unknown_facts
from planner.plan import Step
from planner.repair.forbidden_steps import actions_of, disable_actions, forbid_actions
from planner.semantics.durations import SEPARATION
from planner.semantics.simulation import bind_parameters
from planner.semantics.snap_actions import at_once, split_moments

if TYPE_CHECKING:
    from executor.dispatching.timetable import Timetable
    from executor.events.run_state import RunState
    from executor.events.steps import StepRecord

RUNNING: Final = "@running"
SHORTEST: Final = SEPARATION
"""Least time that a step at work is thought to go on, in seconds."""


@dataclass(frozen=True, slots=True)
class Present:
    """The `problem` that is left `now`, in seconds since the run began.

    `running` has the actions of the steps at work, by the ids of the steps, and `left` how long they are thought to go
    on. `events` are the numbers of the changes at known times that are to come, in the order of those of the problem.
    The facts `unknown`, with their probabilities `likely`, are false in the problem. Of these, the steps of the plan
    that are left suppose that those `supposed` hold.
    """

    problem: Problem
    now: Decimal
    running: Mapping[str, str]
    left: Mapping[str, Decimal]
    events: tuple[int, ...]
    unknown: tuple[Atom, ...] = ()
    likely: Mapping[Atom, Decimal] = field(default_factory=dict)
    supposed: tuple[Atom, ...] = ()

    @property
    def supposed_problem(self) -> Problem:
        """The problem in which what is `supposed` holds."""
        if not self.supposed:
            return self.problem
        return replace(self.problem, initial=tuple(dict.fromkeys((*self.problem.initial, *self.supposed))))


def make_present(state: RunState, timetable: Timetable, now: Decimal, again: str = "") -> Present:
    """Return what is left of the problem of a run at the time `now`, with the whole goal that the run still has.

    The step with the id `again` counts as one that has not begun.
    """
    believed, wanted = state.beliefs.problem, state.problem
    running = [each for each in find_running(state) if each.id != again]
    actions, predicates = dict(wanted.domain.actions), dict(wanted.domain.predicates)
    names: dict[str, str] = {}
    left: dict[str, Decimal] = {}
    goals = [] if state.is_undoing else list(conjuncts(state.goal))
    initial = list(believed.initial)
    for number, record in enumerate(running, 1):
        planned = timetable.planned.get(record.id)
        lasted = now - _begun(timetable, record, now)
        whole = Decimal(0) if planned is None else planned.duration
        left[record.id] = max(whole - lasted, SHORTEST)
        names[record.id] = name = f"{RUNNING} {number}"
        action = wanted.domain.actions[record.step.action]
        made = _rest_of(action, record.step, name, left[record.id], max(whole, lasted))
        if not state.beliefs.is_true(made.throughout):  # the handler will say what came of it
            made = replace(made, throughout=TRUE)
        actions[name] = made
        for fact in (_may_begin(name), _begun_fact(name), _done(name)):
            predicates[fact.predicate] = Predicate(fact.predicate)
        initial.append(_may_begin(name))
        goals.append(_done(name))
    events = timetable.to_come
    timed = tuple([replace(each, time=max(_exact(each.time) - now, SEPARATION)) for _, each in events])
    due = tuple(
        [
            replace(each, by=_exact(each.by) - now)
            for number, each in enumerate(wanted.due)
            if each.weight is None and number not in timetable.reached and not state.is_undoing
        ]
    )
    deadline = None if wanted.deadline is None or state.is_undoing else _exact(wanted.deadline) - now
    problem = replace(
        wanted,
        domain=replace(wanted.domain, actions=actions, predicates=predicates),
        initial=tuple(initial),
        values=believed.values,
        ran=believed.ran,
        goal=Goal(conjunction(goals)),
        unknown=(),
        likely={},
        constraints=(),
        budgets={},
        deadline=deadline,
        timed=timed,
        due=due,
    )
    found = Present(problem, now, names, left, tuple([number for number, _ in events]))
    return replace(found, **_find_suppositions(state)) if wanted.unknown else found


def _find_suppositions(state: RunState) -> dict[str, Any]:
    """Return what is unknown still, and what the plan supposes of it; nothing where plans are to suppose nothing."""
    if state.plan.supposes is None:
        return {}
    unknown, likely = restrict_unknown_facts(state.problem, frozenset(state.beliefs.unknown))
    left = [*find_running(state), *state.pending()]
    texts = [*(state.supposes or ()), *(text for each in left for text in each.plan.supposes)]
    held = [fact for fact, holds in parse_suppositions(texts).items() if holds and fact in unknown]
    return {"unknown": unknown, "likely": likely, "supposed": tuple(held)}


def find_running(state: RunState) -> list[StepRecord]:
    """Return the steps of the plan that have begun and are not over."""
    return [each for each in state.with_status(*BEGUN) if each.begun_at is not None]


def _begun(timetable: Timetable, record: StepRecord, now: Decimal) -> Decimal:
    return now if record.begun_at is None else as_decimal(float(timetable.seconds(record.begun_at)))


def _exact(number: Number) -> Decimal:
    return Decimal(number)


def _may_begin(name: str) -> Atom:
    return Atom(f"{name} may begin")


def _begun_fact(name: str) -> Atom:
    return Atom(f"{name} has begun")


def _done(name: str) -> Atom:
    return Atom(f"{name} is done")


def _rest_of(action: Action, step: Step, name: str, left: Decimal, whole: Decimal) -> Action:
    """Return the action `name` for what is `left` of `step`, which is thought to last `whole` seconds in all."""
    binding = dict(bind_parameters(action, step))
    _, throughout, end = split_moments(action)
    brought = positive_atoms(action.provides)  # no other step makes the contrary of it
    others = [each for each in end.provides if each not in brought]
    numbers = [_ground_number(each, binding, whole) for each in end.numbers]
    late = [_ground_effect(at_once(each), binding, whole) for each in end.when if each not in action.at_end.when]
    return Action(
        name,
        requires=_may_begin(name),
        provides=_ground_literals(brought, binding),
        modifies=tuple([item.substitute(binding) for item in action.modifies]),
        measures=tuple([term.substitute(binding) for term in action.measures]),
        cost=(),
        duration=left,
        tags=action.tags,
        throughout=substitute(throughout, binding),
        at_start=Moment(provides=(_begun_fact(name), Not(_may_begin(name)))),
        at_end=Moment(
            substitute(end.requires, binding),
            (*_ground_literals(others, binding), _done(name)),
            (),
            tuple([_ground_effect(each, binding, whole) for each in action.at_end.when]),
            tuple(numbers[len(action.numbers) :]),
        ),
        when=tuple(late),
        numbers=tuple(numbers[: len(action.numbers)]),
        holds={name: tuple([_ground_term(each, binding) for each in terms]) for name, terms in action.holds.items()},
    )


def _ground_literals(literals: Iterable[Literal], binding: Mapping[Term, Term]) -> tuple[Literal, ...]:
    found: list[Literal] = []
    for literal in literals:
        part = substitute(literal, binding)
        assert isinstance(part, Atom | Not), "a literal stays a literal"
        found.append(part)
    return tuple(found)


def _ground_effect(when: When, binding: Mapping[Term, Term], duration: Number) -> When:
    hidden = {variable.name for variable in when.variables}
    inner = {name: value for name, value in binding.items() if name not in hidden}
    return When(
        substitute(when.requires, inner),
        _ground_literals(when.provides, inner),
        tuple([item.substitute(inner) for item in when.modifies]),
        when.variables,
        tuple([_ground_number(each, inner, duration) for each in when.numbers]),
    )


def _ground_number(effect: NumericEffect, binding: Mapping[Term, Term], duration: Number) -> NumericEffect:
    found = effect.substitute(binding)
    return replace(found, value=_with_duration(found.value, duration))


def _with_duration(expression: Expression, duration: Number) -> Expression:
    if expression == DURATION:
        return duration
    if isinstance(expression, Arithmetic):
        return Arithmetic(expression.operator, tuple([_with_duration(each, duration) for each in expression.operands]))
    return expression


def _ground_term(term: CostTerm, binding: Mapping[Term, Term]) -> CostTerm:
    return term if isinstance(term, CostFunction) else substitute_expression(term, binding)


def make_searchable(present: Present, without: Iterable[str], forbidden: Iterable[Step]) -> Problem:
    """Return the problem to search for what to do from now on.

    No step starts before those at work, which must go on at once. Actions `without` handlers and `forbidden` ground
    actions are left out.
    """
    problem = forbid_actions(disable_actions(present.problem, frozenset(without)), actions_of(forbidden), ())
    names = list(present.running.values())
    begun = [_begun_fact(name) for name in names]
    actions = {
        name: action if name in names else replace(action, requires=with_conjuncts(action.requires, *begun))
        for name, action in problem.domain.actions.items()
    }
    timed = problem.timed
    if names and (timed or problem.due):
        late = TimedEffect(SEPARATION * (len(names) + 1), tuple([Not(_may_begin(name)) for name in names]))
        timed = (*timed, late)
    searched = replace(problem, domain=replace(problem.domain, actions=actions), timed=timed)
    return replace(searched, unknown=present.unknown, likely=present.likely) if present.unknown else searched


def is_at_work(name: str) -> bool:
    """Return whether the action `name` stands for a step at work."""
    return name.startswith(RUNNING)
