"""Check a plan with our validators, with pyperplan or with unified-planning.

`python -m benchmarks.validators.plan_checks NAME DOMAIN PROBLEM PLAN` prints the verdict as JSON in its last line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.pddltext import read_plan_steps
from benchmarks.planners.base import parse_number
from benchmarks.suite import HDDL
from benchmarks.validators import VALID, Verdict
from htn.language.hddl import read as read_hierarchical
from htn.language.plan_text import plan_from_text
from htn.verification.chart_parsing import verify
from planner.errors import PlanError, UnsupportedError
from planner.language.pddl import read
from planner.language.pddl.plan_files import read_plan
from planner.limits import Limits
from planner.plan import json_number
from planner.validation.validate import validate
from planner.validation.verdict import Verdict as Judgement

HARMLESS = frozenset({"UNDEFINED_INITIAL_NUMERIC"})
"""Costs that are never stated: its check refuses them, while simulation fails only where one is used."""


def check_by_forethought(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return the verdict of `planner.validate`, or for a hierarchical problem of `htn.verification`."""
    judge = _check_decomposition if problem_path.suffix == HDDL else _check_steps
    try:
        verdict = judge(domain_path, problem_path, plan)
    except PlanError as error:
        return Verdict(f"invalid: {error}")
    except UnsupportedError as error:
        return Verdict(str(error))
    return Verdict(VALID, json_number(verdict.cost)) if verdict.valid else Verdict(f"invalid: {verdict.reason}")


def _check_steps(domain_path: Path, problem_path: Path, plan: str) -> Judgement:
    """Validate steps with `planner.validate`; raises `PlanError` and `UnsupportedError`."""
    problem = read(domain_path, problem_path)
    return validate(problem, read_plan(plan, problem, "plan").steps)


def _check_decomposition(domain_path: Path, problem_path: Path, plan: str) -> Judgement:
    """Return the verdict of `htn.verification`; without a decomposition it searches for one, without limits."""
    problem = read_hierarchical(domain_path, problem_path)
    return verify(problem, plan_from_text(plan, problem, "plan"), Limits())


def check_by_pyperplan(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return whether pyperplan's operators lead from its initial state to its goal, at cost 1 each."""
    from pyperplan import grounding
    from pyperplan.pddl.parser import Parser

    parser = Parser(str(domain_path), str(problem_path))
    problem = parser.parse_problem(parser.parse_domain())
    state = grounding._get_partial_state(problem.initial_state)  # noqa: SLF001 - it has no public way to one operator
    goal = grounding._get_partial_state(problem.goal)  # noqa: SLF001 - as above
    steps = read_plan_steps(plan)
    for place, step in enumerate(steps, start=1):
        operator = _make_operator(grounding, problem, step)
        if operator is None:
            return Verdict(f"invalid: step {place}, {' '.join(step)}, names no action or unfitting objects")
        if not operator.applicable(state):
            unmet = ", ".join(sorted(operator.preconditions - state))
            return Verdict(f"invalid: step {place}, {' '.join(step)}, requires {unmet}")
        state = operator.apply(state)
    if not goal <= state:
        return Verdict(f"invalid: the goal lacks {', '.join(sorted(goal - state))}")
    return Verdict(VALID, len(steps))


def _make_operator(grounding: Any, problem: Any, step: tuple[str, ...]) -> Any:
    action = problem.domain.actions.get(step[0])
    if action is None or len(action.signature) != len(step) - 1:
        return None
    objects = {**problem.domain.constants, **problem.objects}
    members = grounding._create_type_map(objects)  # noqa: SLF001 - as above
    assignment = {}
    for (parameter, types), name in zip(action.signature, step[1:], strict=True):
        if not any(name in members[kind] for kind in types):
            return None
        assignment[parameter] = name
    return grounding._create_operator(action, assignment, [], frozenset())  # noqa: SLF001 - as above


def check_by_unified_planning(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Validate with unified-planning; tasks that its reader or its validator refuses are unsupported."""
    with _allow_shared_names():
        return _check_in_unified_planning(domain_path, problem_path, plan)


@contextmanager
def _allow_shared_names() -> Iterator[None]:
    """Let a predicate and an action have one name, as PDDL does; the reader knows no environment but the global one."""
    from unified_planning.environment import get_environment

    environment = get_environment()
    before = environment.error_used_name
    environment.error_used_name = False
    try:
        yield
    finally:
        environment.error_used_name = before


def _check_in_unified_planning(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
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
        return Verdict(VALID, parse_number(str(float(costs[0] if costs else len(steps.actions)))))
    return Verdict(f"invalid: {result.reason}, step {result.inapplicable_action}")


def _check_by_fast_downward(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    from benchmarks.validators.fast_downward import check

    return check(domain_path, problem_path, plan)


CHECKS: Final = {
    "forethought": check_by_forethought,
    "pyperplan": check_by_pyperplan,
    "unified-planning": check_by_unified_planning,
    "fast-downward": _check_by_fast_downward,
}
"""The function of each of `VALIDATORS`."""


def main() -> None:
    """Judge the plan of the command line."""
    name, domain, problem, plan = sys.argv[1:5]
    verdict = CHECKS[name](Path(domain), Path(problem), Path(plan).read_text(encoding="utf-8"))
    sys.stdout.write("\n" + json.dumps(asdict(verdict)) + "\n")


if __name__ == "__main__":
    main()
