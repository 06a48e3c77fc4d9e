"""All of lint, in one list."""

from __future__ import annotations

from collections.abc import Iterable

from planner.budget import Budget
from planner.check.actions import check_action
from planner.check.arguments import check_arguments
from planner.check.demands import check_constraints, check_demands
from planner.check.findings import Finding, Level
from planner.check.possible import possible
from planner.check.reach import check_reach
from planner.check.single import check_single_values
from planner.check.usage import usage
from planner.check.vocabulary import check_predicates, check_types, check_undeclared, check_unmentioned
from planner.classical import check_classical
from planner.creation.reach import with_enough
from planner.model import DomainModel, Problem


def check_domain(domain: DomainModel) -> list[Finding]:
    """Return what can be said about `domain` without objects, the worst first."""
    return worst_first(
        [
            *check_arguments(domain),
            *_single_actions(domain),
            *check_predicates(domain, usage(domain), None),
            *check_types(domain),
            *check_undeclared(domain),
        ]
    )


def check_problem(problem: Problem, budget: Budget | None = None) -> list[Finding]:
    """Return what can be said about `problem` and its domain, the worst first.

    Raises `LimitReached`, and `InputError` for what is no classical problem.
    """
    check_classical(problem, "check_problem", "problem.check(budget) checks it")
    domain, budget = problem.domain, budget or Budget()
    found = [
        *check_arguments(domain),
        *_single_actions(domain),
        *check_predicates(domain, usage(domain), problem),
        *check_types(domain),
    ]
    found += [*check_unmentioned(problem), *check_demands(problem)]
    enough = with_enough(problem)
    if enough is not None:
        reach = possible(enough, budget)
        found += [*check_reach(enough, reach), *check_constraints(problem, reach)]
        found += check_single_values(enough, budget)
    return worst_first(found)


def _single_actions(domain: DomainModel) -> Iterable[Finding]:
    return (finding for action in domain.actions.values() for finding in check_action(action, domain))


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Return `findings` by their levels, otherwise in the order in which they are."""
    order = list(Level)
    return sorted(findings, key=lambda finding: order.index(finding.level))
