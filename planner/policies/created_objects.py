"""Policies for problems whose actions create objects: rounds with more and more placeholders.

A round is complete if no state that it looked into had taken all placeholders of a type: then its bounds hold for any
number of created objects, as states that it did not look into count for the best that may be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.compilations.creation_rounds import is_relaxed_unreachable
from planner.compilations.object_creation import compile_object_creation, expand_in_order
from planner.lightweight import TYPE_CHECKING, Any, Final, cast, replace
from planner.limits import LimitReached, Limits
from planner.model import Atom, Problem
from planner.plan import Status, StoppedBy
from planner.policies.decision import Decision
from planner.policies.markov_decision_process import Graph
from planner.problem_kinds import AnyProblem, classical_of, is_other_problem, service_of

if TYPE_CHECKING:
    from planner.policies.decide import Decider, Turn

MOST: Final = 64
"""Most placeholders of a type."""
SHARE: Final = 0.5
"""Fraction of the time left for each round."""


def decide_with_placeholders(
    problem: AnyProblem, make: Callable[[AnyProblem, Limits], Decider], turns: Sequence[Turn], limits: Limits
) -> Decision:
    """Decide on `problem`, for which `make` starts a search for one with placeholders within limits."""
    number, best = 1, None
    while True:
        left = limits.remaining
        part = limits.part(None if left is None or number >= MOST else left * SHARE)
        decider = make(_with_placeholders(problem, number), part)
        found = decider.run(turns)
        if found.status is Status.UNSUPPORTED or not is_short(decider, problem):
            return found
        if found.policy is not None and (best is None or best.policy is None or _is_better(found, best)):
            best = found
        ended = limits.remaining is not None and limits.remaining <= 0
        if number >= MOST or ended or found.stopped_by is StoppedBy.CANCELLED:
            return _qualify(found if best is None else best)
        if found.policy is None and number == 1 and _is_hopeless(problem, limits):
            return replace(found, status=Status.UNSOLVABLE, stopped_by=StoppedBy.EXHAUSTED)
        number *= 2


def _with_placeholders(problem: AnyProblem, number: int) -> AnyProblem:
    if is_other_problem(problem):
        pooled: AnyProblem = service_of(problem).with_placeholders(problem, number)
        return pooled
    compiled: Problem = compile_object_creation(cast("Problem", problem), number).problem
    return compiled


def _is_better(one: Decision, other: Decision) -> bool:
    return _worth(one) > _worth(other)


def _worth(found: Decision) -> tuple[float, ...]:
    policy = found.policy
    assert policy is not None
    if found.penalty is not None:
        return (-(found.expected_cost or 0.0),)
    return round(policy.success, 9), round(policy.utility, 9), -policy.cost


def _is_hopeless(problem: AnyProblem, limits: Limits) -> bool:
    """Return whether no outcomes reach the goal of `problem` with any number of objects, deletes ignored."""
    if is_other_problem(problem):
        return False
    try:
        return is_relaxed_unreachable(_lucky(cast("Problem", problem)), limits)
    except LimitReached:
        return False


def _lucky(problem: Problem) -> Problem:
    """Return `problem` with the effects of all outcomes of each action together, as far as they add anything."""
    actions = {
        name: replace(
            each,
            provides=(*each.provides, *[fact for way in each.outcomes for fact in way.provides]),
            numbers=(),
            outcomes=(),
        )
        for name, each in problem.domain.actions.items()
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


def is_short(decider: Decider, problem: AnyProblem) -> bool:
    """Return whether more placeholders might change what `decider` found."""
    process = decider.process
    if process is None or process.task.unreachable_goal is not None:
        return True
    fresh = {*expand_in_order(classical_of(problem).domain).fresh.values()}
    groups: dict[str, int] = dict.fromkeys(fresh, 0)
    for number, fact in enumerate(process.task.facts):
        if isinstance(fact, Atom) and fact.predicate in groups:
            groups[fact.predicate] |= 1 << number
    masks = [mask for mask in groups.values() if mask]
    graphs: list[Graph] = [graph for graph, _ in decider.known.values()]
    return any(_is_exhausted(graph, masks) for graph in graphs)


def _is_exhausted(graph: Any, masks: Sequence[int]) -> bool:
    states = [state for state, inside in zip(graph.states, graph.inside, strict=True) if inside]
    return any(not graph.process.facts(state) & mask for state in states for mask in masks)


def _qualify(found: Decision) -> Decision:
    """Return what was `found` with some placeholders as an answer for any number of created objects."""
    if found.status in (Status.UNSOLVABLE, Status.UNKNOWN):
        reason = "policies with more created objects were not looked for"
        status, stopped = Status.UNKNOWN, StoppedBy.INCOMPLETE
        return replace(found, status=status, stopped_by=stopped, reason=reason, success_bound=1.0, cost_bound=0.0)
    reason = "policies with more created objects might be better"
    utility = None if found.utility_bound is None else float("inf")
    known = replace(found, status=Status.SOLVED, reason=reason, utility_bound=utility)
    return replace(known, success_bound=1.0, cost_bound=float("-inf"))
