"""Asks unified-planning: its PDDL reader and its `SequentialPlanValidator`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.planners.base import number
from benchmarks.validators import VALID, Verdict

HARMLESS = frozenset({"UNDEFINED_INITIAL_NUMERIC"})
"""Costs that are never stated: its check refuses them, while simulation fails only where one is used."""


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return what unified-planning says; what its reader or its validator refuses is unsupported."""
    with names_shared():
        return _check(domain_path, problem_path, plan)


@contextmanager
def names_shared() -> Iterator[None]:
    """Let a predicate and an action have one name, as PDDL does; the reader knows no environment but the global one."""
    from unified_planning.environment import get_environment

    environment = get_environment()
    before = environment.error_used_name
    environment.error_used_name = False
    try:
        yield
    finally:
        environment.error_used_name = before


def _check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
    from unified_planning.exceptions import UPException
    from unified_planning.io import PDDLReader

    reader = PDDLReader()
    try:
        problem = reader.parse_problem(str(domain_path), str(problem_path))
    except (UPException, NotImplementedError, SyntaxError) as error:
        return Verdict(f"unsupported: {error}")
    try:
        steps = reader.parse_plan_string(problem, plan.lower())
    except (UPException, AssertionError) as error:  # it asserts the number of arguments
        return Verdict(f"invalid: {error or 'a step has the wrong number of arguments'}")
    validator = SequentialPlanValidator()
    lacking = problem.kind.features - validator.supported_kind().features - HARMLESS
    if lacking:
        return Verdict(f"unsupported: {', '.join(sorted(lacking))}")
    validator.skip_checks = True
    result = validator.validate(problem, steps)
    if result.status is ValidationResultStatus.VALID:
        costs = list((result.metric_evaluations or {}).values())  # one of the metric, none where steps count
        return Verdict(VALID, number(str(float(costs[0] if costs else len(steps.actions)))))
    return Verdict(f"invalid: {result.reason}, step {result.inapplicable_action}")
