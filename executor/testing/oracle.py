"""Whether the goal can still be reached: what a run has to be measured by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from executor.testing.faults import Fault, pattern_of
from executor.testing.truth import instances
from planner.model import FALSE, And, Atom, DomainModel, Equals, Formula, Not, Or, Problem
from planner.model.actions import added, deleted
from planner.model.atoms import OPEN
from planner.plan import Status
from planner.records import replace
from planner.solve import solve
from planner.validate import Simulation

SECONDS = 10.0


def reachable(
    simulation: Simulation,
    faults: Iterable[Fault] = (),
    *,
    skills: int = 1,
    unused: Iterable[Atom] = (),
    not_where: Mapping[Atom, Collection[Atom]] | None = None,
    seconds: float = SECONDS,
) -> bool | None:
    """Return whether steps that none of `faults` keeps from working for good lead from the present state to the goal.

    None where a search of so many `seconds` does not tell. An action works as long as one of its `skills` handlers
    does. Ground actions that the patterns of `unused` cover are left out of account, and each of `not_where` in the one
    state in which exactly these facts hold.
    """
    problem = left(simulation, [*map(pattern_of, broken(faults, skills)), *unused])
    for step, facts in (not_where or {}).items():
        problem = elsewhere(problem, step, facts)
    result = solve(problem, mode="first", time_limit=seconds)
    if result.has_plan:
        return True
    return False if result.status is Status.UNSOLVABLE else None


def broken(faults: Iterable[Fault], skills: int = 1) -> list[str]:
    """Return what none of its `skills` handlers can do, for good, as patterns of ground actions."""
    for_good = [fault for fault in faults if fault.is_for_good]
    return [each.at for each in for_good if not each.skill or _others_are_broken(each, for_good, skills)]


def left(simulation: Simulation, unused: Iterable[Atom | None]) -> Problem:
    """Return the problem of reaching the goal from the present state, without the ground actions of these patterns."""
    problem = simulation.problem
    domain = problem.domain
    for pattern in unused:
        domain = without(domain, pattern)
    return replace(problem, domain=domain, initial=tuple(simulation.world.state), ran=tuple(simulation.history))


def elsewhere(problem: Problem, step: Atom, facts: Collection[Atom]) -> Problem:
    """Return `problem` in which the ground action `step` is not possible where exactly `facts` hold."""
    action = problem.domain.actions[step.predicate]
    named = zip(action.parameters, step.args, strict=False)
    others: list[Formula] = [Not(Equals(each.name, value)) for each, value in named]
    for name in _changing(problem.domain):
        pattern = Atom(name, (OPEN,) * len(problem.domain.predicates[name].parameters))
        others += [Not(fact) if fact in facts else fact for fact in instances(problem, pattern)]
    changed = replace(action, requires=And((action.requires, Or(tuple(others)))))
    return replace(problem, domain=replace(problem.domain, actions={**problem.domain.actions, action.name: changed}))


def _changing(domain: DomainModel) -> list[str]:
    """Return the predicates whose facts some action changes."""
    written = {
        atom.predicate
        for action in domain.actions.values()
        for effect in action.effects
        for atom in (*added(effect.provides), *deleted(effect.provides), *effect.modifies)
    }
    return [name for name, each in domain.predicates.items() if name in written or each.stale_with]


def _others_are_broken(fault: Fault, for_good: list[Fault], skills: int) -> bool:
    return len({each.skill for each in for_good if each.skill and each.at == fault.at}) >= skills


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
