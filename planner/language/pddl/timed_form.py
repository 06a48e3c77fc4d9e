"""Compile problems in time to what PDDL 2.1, level 3, and PDDL 2.2 can say.

    declared problem → snap actions → plain ADL → durative actions

Capacities and budgets become numeric fluents, and items that steps modify facts that say that the items are in use. A
deadline of the plan becomes a fact that ends, which all steps need at their end; a deadline of a goal one that the
action `reach` needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from decimal import Decimal

from planner.compilations import reserve_name
from planner.compilations.budgets import compile_budgets
from planner.compilations.passes import compile_away
from planner.compilations.types_as_predicates import with_plain_types
from planner.errors import UnsupportedError
from planner.language.pddl.number_bounds import require_bounds
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import NO_MOMENT, Action, CostFunction, CostTerm, Moment
from planner.model.arithmetic import TESTS, exact_value
from planner.model.constructs import Construct
from planner.model.domain import Function, Predicate, has_durations
from planner.model.formulas import (
    TRUE,
    Arithmetic,
    Atom,
    Comparison,
    Formula,
    Not,
    Number,
    conjunction,
    conjuncts,
    functions_in,
    with_conjuncts,
)
from planner.model.problem import TOTAL_COST, Goal, Metric, NumericMetric, Problem, is_temporal
from planner.model.timing import TimedEffect
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import SnapAction, SnapProblem, free_name, make_snap_problem, sum_of

_DOCUMENTS: Final = "YAML and JSON documents say it (--to yaml)"


def asks_for_time(problem: Problem) -> bool:
    """Return whether only a text with durative actions says what plans of `problem` are."""
    return is_temporal(problem) or (problem.deadline is not None and has_durations(problem.domain))


@dataclass(frozen=True, slots=True)
class TimedForm:
    """A `problem` whose actions have plain ADL conditions and effects at their moments.

    It has no capacities, no deadlines and no items to modify. Plans of the source lack steps of the actions `added`.
    """

    problem: Problem
    added: tuple[str, ...] = ()


def compile_time(problem: Problem, where: str = "in PDDL") -> TimedForm:
    """Return the form of `problem`, which asks for time, in which PDDL can write it.

    Raises `UnsupportedError` for outcomes, created objects, constraints, `after`, lateness, changes at known times that
    other facts depend on, and bounds of numbers that only some effects reach, in a language that is named by `where`.
    """
    _refuse(problem, where)
    problem = _with_budgets_as_goals(_with_all_capacities(problem))
    snap = make_snap_problem(problem)
    plain = with_plain_types(compile_away(snap.problem, Construct.CHANGES))
    plain = require_bounds(replace(_require_capacities(plain, snap, problem), timed=problem.timed), where)
    actions = {name: _join_moments(name, problem.domain.actions[name], plain, snap) for name in problem.domain.actions}
    functions = {name: each for name, each in plain.domain.functions.items() if name != _TOTAL_TIME_NAME}
    domain = replace(plain.domain, actions=actions, functions=functions)
    values = {term: value for term, value in plain.values.items() if term.predicate in functions}
    timed = tuple([each for event, when in zip(snap.events, problem.timed, strict=True)
                   for each in _split_event(plain.domain.actions[event], when.time, where)])  # fmt: skip
    found = replace(plain, domain=domain, values=values, timed=timed, metric=_metric(problem))
    return _compile_deadlines(_charge(found, problem), problem)


_TOTAL_TIME_NAME: Final = "total-time"


def _refuse(problem: Problem, where: str) -> None:
    late = next((each for each in problem.due if each.weight is not None), None)
    uncertain = next((name for name, action in problem.domain.actions.items() if action.is_uncertain), None)
    following = next((name for name, action in problem.domain.actions.items() if action.after), None)
    reasons = [
        (problem.constraints, "constraints beside time", _DOCUMENTS),
        (late, f"a price for lateness (of {late})", _DOCUMENTS),
        (uncertain, f"the outcomes or the risk of '{uncertain}' beside time", _DOCUMENTS),
        (following, f"'after' of '{following}' beside time", _DOCUMENTS),
    ]
    for there, construct, hint in reasons:
        if there:
            raise UnsupportedError(f"{construct}, {where}", hint)


def _with_all_capacities(problem: Problem) -> Problem:
    """Return `problem` with a capacity for all that actions hold: a domain alone has none."""
    held = {name: 0 for action in problem.domain.actions.values() for name in action.holds}
    return replace(problem, capacity={**held, **problem.capacity}) if held.keys() - problem.capacity.keys() else problem


def _with_budgets_as_goals(problem: Problem) -> Problem:
    """Return `problem` with a function that sums up each budget's use, which the goal and all that lasts look at.

    No use is negative, so the goal alone would do; with the steps, searches end earlier. Conditions of the ends would
    read what other steps write, and keep them from ending at the same time.
    """
    if not problem.budgets:
        return problem
    found = compile_budgets(problem)
    functions = dict(found.domain.functions)
    kept = []
    for name in functions.keys() - problem.domain.functions.keys():
        kept.append(Comparison(Atom(name), "<=", functions[name].high or 0))
        functions[name] = replace(functions[name], high=None)
    kept.sort(key=str)
    found = _change_at_ends(found, functions.keys() - problem.domain.functions.keys())
    actions = {
        name: replace(action, throughout=with_conjuncts(action.throughout, *kept))
        if action.duration is not None
        else action
        for name, action in found.domain.actions.items()
    }
    goal = Goal(with_conjuncts(found.goal.hard, *kept), found.goal.soft)
    return replace(found, domain=replace(found.domain, actions=actions, functions=functions), goal=goal)


def _change_at_ends(problem: Problem, names: Collection[str]) -> Problem:
    """Let the ends of steps change the functions `names`, by PDDL's rules: others may read them until then."""
    actions = dict(problem.domain.actions)
    for name, action in actions.items():
        moved = tuple([each for each in action.numbers if each.fluent.predicate in names])
        if action.duration is not None and moved:
            kept = tuple([each for each in action.numbers if each not in moved])
            end = replace(action.at_end, numbers=(*action.at_end.numbers, *moved))
            actions[name] = replace(action, numbers=kept, at_end=end)
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _require_capacities(plain: Problem, snap: SnapProblem, problem: Problem) -> Problem:
    """Let the starts of steps require the capacities that they take, in place of bounds that ends would read too."""
    actions = dict(plain.domain.actions)
    for name, action in problem.domain.actions.items():
        if action.holds and action.duration is not None:
            start = actions[snap.actions[name].start]
            needs = [Comparison(Atom(free_name(held)), ">=", sum_of(terms)) for held, terms in action.holds.items()]
            actions[start.name] = replace(start, requires=with_conjuncts(start.requires, *needs))
    free = {name: Function(name) for name in map(free_name, problem.capacity)}
    domain = replace(plain.domain, actions=actions, functions={**plain.domain.functions, **free})
    return replace(plain, domain=domain)


def _join_moments(name: str, action: Action, plain: Problem, snap: SnapProblem) -> Action:
    """Return the durative action of the snap actions for `action`; the conditions of the start are its own."""
    moments: SnapAction = snap.actions[name]
    start = plain.domain.actions[moments.start]
    if action.duration is None:
        return replace(start, name=name)
    end = plain.domain.actions[moments.end]
    throughout = plain.domain.actions[moments.lasting].requires if moments.lasting else TRUE
    functions = plain.domain.functions
    numbers = tuple([each for each in start.numbers if each.fluent.predicate in functions])
    first = Moment(provides=start.provides, when=start.when, numbers=numbers)
    last = Moment(end.requires, end.provides, when=end.when, numbers=end.numbers)
    return Action(
        name,
        start.parameters,
        start.requires,
        duration=action.duration,
        throughout=throughout,
        at_start=NO_MOMENT if first.is_empty else first,
        at_end=NO_MOMENT if last.is_empty else last,
        cost=(),
    )


def _split_event(event: Action, time: Number, where: str) -> Iterator[TimedEffect]:
    """Yield the changes of `event` one by one, as timed initial literals are."""
    if event.when:
        raise UnsupportedError(f"a change at {time} that makes other facts stale, {where}", _DOCUMENTS)
    for literal in event.provides:
        yield TimedEffect(time, (literal,))
    for effect in event.numbers:
        if effect.operator != ":=" or any(True for _ in functions_in(effect.value)):
            hint = "state the value that the function has from then on: 'price := 3'"
            raise UnsupportedError(f"the change '{effect}' at {time}, {where}", hint)
        if not all(map(_is_true, conjuncts(event.requires))):
            raise UnsupportedError(f"the change '{effect}' at {time}, which leaves the bounds, {where}", _DOCUMENTS)
        yield TimedEffect(time, numbers=(effect,))


def _is_true(part: Formula) -> bool:
    """Return whether `part` compares two numbers and holds."""
    match part:
        case Comparison(int() | Decimal() as left, relation, int() | Decimal() as right):
            return TESTS[relation](exact_value(left), exact_value(right))
    return False


def _metric(problem: Problem) -> Metric | NumericMetric:
    """Return the metric; the length of plans becomes their cost, as texts without a metric mean the makespan."""
    is_length = problem.metric is Metric.LENGTH and has_durations(problem.domain)
    return Metric.COST if is_length else problem.metric


def _charge(found: Problem, problem: Problem) -> Problem:
    """Give the actions of `found` the costs that they have in `problem`, where its metric counts them."""
    metric = problem.metric
    if isinstance(metric, NumericMetric) and TOTAL_COST not in functions_in(metric.expression):
        return found
    if metric is Metric.LENGTH and found.metric is Metric.LENGTH:
        return found
    actions = {
        name: replace(action, cost=(1,) if metric is Metric.LENGTH else _flat_cost(problem.domain.actions[name]))
        for name, action in found.domain.actions.items()
    }
    return replace(found, domain=replace(found.domain, actions=actions))


def _flat_cost(action: Action) -> tuple[CostTerm, ...]:
    return action.cost if len(action.cost) < 2 or _is_computed(action) else (Arithmetic("+", action.cost),)  # type: ignore[arg-type]


def _is_computed(action: Action) -> bool:
    return any(isinstance(term, CostFunction) for term in action.cost)


def _compile_deadlines(found: Problem, problem: Problem) -> TimedForm:
    """Compile the deadlines of the plan and of goals to facts that end."""
    domain, timed = found.domain, list(found.timed)
    taken = set(domain.predicates)
    predicates, actions = dict(domain.predicates), dict(domain.actions)
    initial, goal = list(found.initial), list(conjuncts(found.goal.hard))
    added: list[str] = []
    if problem.deadline is not None:
        in_time = _add_fact("in-time", taken, predicates)
        initial.append(in_time)
        timed.append(TimedEffect(_just_after(problem.deadline), (Not(in_time),)))
        actions = {name: _need_at_end(action, in_time) for name, action in actions.items()}
    for number, due in enumerate(problem.due, start=1):
        still, reached = [_add_fact(f"{word}-{number}", taken, predicates) for word in ("still", "reached")]
        initial.append(still)
        timed.append(TimedEffect(_just_after(_just_after(due.by)), (Not(still),)))
        name = reserve_name(f"reach-{number}", set(actions))
        actions[name] = Action(name, requires=with_conjuncts(due.condition, still), provides=(reached,), cost=())
        added.append(name)
        goal.append(reached)
    if len(timed) == len(found.timed):
        return TimedForm(found)
    written = replace(
        found,
        domain=replace(domain, predicates=predicates, actions=actions),
        initial=tuple(initial),
        goal=Goal(conjunction(goal), found.goal.soft),
        timed=tuple(sorted(timed, key=lambda each: each.time)),
    )
    return TimedForm(written, tuple(added))


def _add_fact(wish: str, taken: set[str], predicates: dict[str, Predicate]) -> Atom:
    name = reserve_name(wish, taken)
    predicates[name] = Predicate(name)
    return Atom(name)


def _just_after(time: Number) -> Number:
    return time + SEPARATION


def _need_at_end(action: Action, fact: Atom) -> Action:
    if action.duration is None:
        return replace(action, requires=with_conjuncts(action.requires, fact))
    needed = with_conjuncts(action.at_end.requires, fact)
    return replace(action, at_end=replace(action.at_end, requires=needed))
