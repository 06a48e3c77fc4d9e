"""Lint of hierarchies: what is odd about tasks and methods, besides what is odd about the actions below them."""

from __future__ import annotations

from collections.abc import Iterator

from htn.conditions import check_conditions
from htn.explain.impossible import impossible
from htn.explain.names import INITIAL_TASKS
from htn.explain.why_not import relaxed_world
from htn.model import HtnDomain, HtnProblem, Method
from htn.rounds import with_enough
from planner.annotations import Final
from planner.budget import Budget
from planner.check import Finding, Level, check_domain, check_problem
from planner.check.actions import contradiction
from planner.model.formulas import atoms_in, conjunction, free_variables

_MEANT: Final = {"no-effect", "unused-parameter"}
"""Rules that say nothing here: a task leads to an action with its arguments, and may do so for the plan's sake only."""
_OF_USE: Final = {"unused-predicate", "never-required", "unused-type"}
"""Rules about what nothing uses: methods and tasks may."""


def check_hierarchy(domain: HtnDomain) -> list[Finding]:
    """Return what can be said about `domain` without objects, the worst first."""
    classical = _classical(domain, check_domain(domain.classical))
    return _sorted([*classical, *_structure(domain), *check_conditions(domain, None)])


def check_htn_problem(problem: HtnProblem, budget: Budget) -> list[Finding]:
    """Return what can be said about `problem` and its domain, the worst first; raises `LimitReached`."""
    domain = problem.domain
    classical = _classical(domain, check_problem(problem.classical, budget))
    conditions = check_conditions(domain, problem.classical)
    return _sorted([*classical, *_structure(domain), *conditions, *_reach(problem, budget)])


def _sorted(findings: list[Finding]) -> list[Finding]:
    order = list(Level)
    return sorted(findings, key=lambda finding: order.index(finding.level))


def _classical(domain: HtnDomain, findings: list[Finding]) -> Iterator[Finding]:
    """Yield those `findings` about the classical part that hold with methods above it."""
    used = {f"predicate {atom.predicate}" for each in domain.methods.values() for atom in atoms_in(each.precondition)}
    scopes = [each.parameters for each in domain.tasks.values()] + [each.parameters for each in domain.methods.values()]
    used |= {f"type {name}" for parameters in scopes for each in parameters for name in each.types}
    for finding in findings:
        if finding.rule not in _MEANT and not (finding.rule in _OF_USE and finding.place in used):
            yield finding


def _structure(domain: HtnDomain) -> Iterator[Finding]:
    for method in domain.methods.values():
        yield from _method(method)
    users: dict[str, list[str]] = {}
    for method in domain.methods.values():
        for name in dict.fromkeys(each.task.predicate for each in method.network.subtasks):
            users.setdefault(name, []).append(method.name)
    ending = _ending(domain)
    for name in domain.tasks:
        place = f"task {name}"
        if not domain.methods_for(name):
            cannot = f", so method {users[name][0]} can never be used" if name in users else ""
            yield Finding(Level.WARNING, "no-method", place, f"no method is for it{cannot}")
        elif name not in ending:
            yield Finding(Level.WARNING, "endless-task", place, "no choice of methods comes to an end")
    for name in domain.classical.actions:
        if name not in users:
            message = "no method leads to it"
            yield Finding(Level.NOTE, "unused-action", f"action {name}", message, "it may be a task of some problem")


def _method(method: Method) -> Iterator[Finding]:
    place = f"method {method.name}"
    condition = conjunction([method.precondition, method.network.constraints])
    clash = contradiction(condition)
    if clash is not None:
        message = f"it can never apply: what it requires contradicts itself ({clash})"
        yield Finding(Level.ERROR, "contradicting-requires", place, message)
    used = free_variables(condition).union(method.task.args, *(each.task.args for each in method.network.subtasks))
    for parameter in method.parameters:
        if parameter.name not in used:
            message = f"the parameter '{parameter.name.removeprefix('?')}' is used nowhere"
            yield Finding(Level.WARNING, "unused-parameter", place, message, "leave it out")


def _ending(domain: HtnDomain) -> set[str]:
    """Return what comes to an end for some choice of methods; what has no method is taken to."""
    found = {*domain.classical.actions, *(name for name in domain.tasks if not domain.methods_for(name))}
    size = -1
    while size < len(found):
        size = len(found)
        for method in domain.methods.values():
            if all(each.task.predicate in found for each in method.network.subtasks):
                found.add(method.task.predicate)
    return found


def _reach(problem: HtnProblem, budget: Budget) -> Iterator[Finding]:
    """Yield the tasks that can never be done: deletes are ignored, so that it is certain."""
    for failure in impossible(relaxed_world(with_enough(problem), budget)):
        tried = str(failure.attempts[0]) if failure.attempts else "no method is for it"
        initial = failure.task == INITIAL_TASKS
        place, they = (failure.task, "they") if initial else (f"task {failure.task}", "it")
        yield Finding(Level.ERROR, "impossible-task", place, f"{they} can never be done: {tried}")
