"""Whether the goal can still be reached: what a run has to be measured by."""

from __future__ import annotations

from collections.abc import Iterable

from executor.testing.faults import BREAKING, Fault, pattern_of
from executor.testing.truth import Truth
from planner.model import FALSE, And, Atom, DomainModel, Equals, Not, Or, Problem
from planner.model.atoms import OPEN
from planner.plan import Status
from planner.records import replace
from planner.solve import solve

SECONDS = 10.0


def reachable(truth: Truth, faults: Iterable[Fault] = (), *, skills: int = 1, seconds: float = SECONDS) -> bool | None:
    """Return whether steps lead from the true state to the hard goal that none of `faults` keeps from working for good.

    None where a search of so many `seconds` does not tell. An action works as long as one of its `skills` handlers
    does.
    """
    result = solve(left(truth, faults, skills), mode="first", time_limit=seconds)
    if result.has_plan:
        return True
    return False if result.status is Status.UNSOLVABLE else None


def left(truth: Truth, faults: Iterable[Fault] = (), skills: int = 1) -> Problem:
    """Return the problem of reaching the goal from the true state, without the ground actions that are broken."""
    simulation = truth.simulation
    problem = simulation.problem
    broken = [fault for fault in faults if fault.is_for_good]
    everywhere = [fault for fault in broken if not fault.skill or _others_are_broken(fault, broken, skills)]
    domain = problem.domain
    for pattern in [pattern_of(fault.at) for fault in everywhere if fault.kind in BREAKING]:
        domain = without(domain, pattern)
    return replace(problem, domain=domain, initial=tuple(simulation.world.state), ran=tuple(simulation.history))


def _others_are_broken(fault: Fault, broken: list[Fault], skills: int) -> bool:
    return len({each.skill for each in broken if each.skill and each.at == fault.at}) >= skills


def without(domain: DomainModel, pattern: Atom | None) -> DomainModel:
    """Return `domain` in which the ground actions that `pattern` covers are never possible; None covers all."""
    actions = dict(domain.actions)
    for name, action in domain.actions.items():
        if pattern is None or (pattern.predicate == name and set(pattern.args) <= {OPEN}):
            actions[name] = replace(action, requires=FALSE)
        elif pattern.predicate == name:
            named = zip(action.parameters, pattern.args, strict=False)
            other = [Not(Equals(each.name, value)) for each, value in named if value != OPEN]
            actions[name] = replace(action, requires=And((action.requires, Or(tuple(other)))))
    return replace(domain, actions=actions)
