"""What the command line asks to carry out: a problem, or the plan of a file, which may state its problem itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from executor.checks import errors_in, read_plan
from executor.checks.importing import NOT_IMPORTED
from executor.checks.sources import is_action_plan
from executor.planning import Planned
from executor.plans.action_plan import ActionPlan
from executor.recovery.hierarchy import Hierarchy
from executor.world.world import actions_of
from planner.cli.plans import plan_from, text_of
from planner.errors import Location, PlanError
from planner.kinds import AnyDomain, AnyProblem, is_other_domain, is_other_problem
from planner.load import load_from
from planner.loading.source import Source
from planner.model import Problem
from planner.plan import Plan


@dataclass(frozen=True, slots=True)
class Todo:
    """What is to be carried out: a problem, or a `plan` for it; `entities` are the Python values of objects."""

    problem: AnyProblem
    plan: ActionPlan | Planned | None = None
    entities: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What is not taken over from the plan of another framework."""

    def given(self, seconds: float | None) -> tuple[Any, dict[str, Any]]:
        """Return what an executor is given, with options; None: a search takes as long as it likes."""
        if self.plan is None:
            return self.problem, {"time_limit": seconds}
        return self.plan, {"entities": self.entities} if isinstance(self.plan, ActionPlan) else {}


def todo(source: Source, problem: str | None, plan: Path | None) -> Todo:
    """Return what the command line asks for; raises `InputError`, with all that is wrong with a plan."""
    if plan is None:
        found = load_from(source, problem)
        return Todo(found, None, classical(found).entities)
    if not is_action_plan(plan):
        found = load_from(source, problem)
        return Todo(found, ActionPlan.of(_written(plan, found)), classical(found).entities)
    domain = source.domain()
    named = load_from(source, problem) if problem is not None else next(iter(source.problems().values()), None)
    read, warnings = _read(plan, domain, classical(named) if problem is not None and named is not None else None)
    entities = {} if named is None else classical(named).entities
    return Todo(_problem(read, domain, entities), read, entities, tuple(warnings))


def _written(path: Path, problem: AnyProblem) -> Plan:
    """Return the plan for `problem` that a planner has written."""
    if is_other_problem(problem):
        return problem.read_plan(text_of(path), str(path))
    return plan_from(path, problem)[0]  # type: ignore[arg-type]  # the kind that is left


def _read(path: Path, domain: AnyDomain, problem: Problem | None) -> tuple[ActionPlan, list[str]]:
    """Return the plan of a file, for `problem` where that is given, and what is not imported; raises `PlanError`."""
    plan, findings = read_plan(path, domain, problem=problem)
    errors = errors_in(findings)
    if plan is None or errors:
        raise PlanError("this plan cannot be run:\n" + "\n".join(map(str, errors)), Location(str(path)))
    return plan, [str(each) for each in findings if each.rule in NOT_IMPORTED]


def _problem(plan: ActionPlan, domain: AnyDomain, entities: Mapping[str, object]) -> AnyProblem:
    """Return the problem that `plan` states, with its tasks where it came of some."""
    if not is_other_domain(domain):
        return plan.problem(domain, entities)  # type: ignore[arg-type]  # the kind that is left
    problem = plan.problem(actions_of(domain), entities)
    found = Hierarchy.of(plan, problem, domain)  # type: ignore[arg-type]  # the only other kind there is
    return problem if found is None else found.problem


def classical(problem: AnyProblem) -> Problem:
    """Return `problem` without its tasks."""
    return problem.classical if is_other_problem(problem) else problem  # type: ignore[return-value]  # one of two kinds
