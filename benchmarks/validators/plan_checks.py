"""Check a plan with our validators or with those of others.

`python -m benchmarks.validators.plan_checks NAME DOMAIN PROBLEM PLAN` prints the verdict as JSON in its last line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from benchmarks.pddltext import read_plan_steps
from benchmarks.planners.base import parse_number
from benchmarks.suite import HDDL
from benchmarks.timed_plans import find_least_gap, read_timed_steps
from benchmarks.validators import VALID, Verdict
from htn.language.hddl import read as read_hierarchical
from htn.language.plan_text import plan_from_text
from htn.verification.chart_parsing import verify
from planner.errors import PlanError, UnsupportedError
from planner.language.pddl import read
from planner.language.pddl.plan_files import read_plan
from planner.limits import Limits
from planner.plan import json_number
from planner.semantics.durations import SEPARATION
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
    """Validate steps with `planner.validate`; raises `PlanError` and `UnsupportedError`.

    A plan of those who keep less time between happenings than our rule wants is not for us to refuse.
    """
    problem = read(domain_path, problem_path)
    found = read_plan(plan, problem, "plan")
    verdict = validate(problem, found if found.times else found.steps)
    gap = find_least_gap(plan, [Fraction(effect.time) for effect in problem.timed]) if found.times else None
    if not verdict.valid and gap is not None and gap < Fraction(SEPARATION):
        raise UnsupportedError(f"less than {SEPARATION} s lie between moments ({verdict.reason})")
    return verdict


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
    from unified_planning.engines.plan_validator import TimeTriggeredPlanValidator
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
    timed = bool(read_timed_steps(plan))
    validator = TimeTriggeredPlanValidator() if timed else SequentialPlanValidator()
    _start_costs_at_zero(problem)
    lacking = problem.kind.features - validator.supported_kind().features - HARMLESS
    if lacking:
        return Verdict(f"unsupported: {', '.join(sorted(lacking))}")
    validator.skip_checks = True
    if timed and not _lasts_exactly(problem, steps):
        return Verdict("unsupported: durations are rounded")
    result = validator.validate(problem, steps)
    if result.status is ValidationResultStatus.VALID:
        if timed:
            return Verdict(VALID)
        costs = list((result.metric_evaluations or {}).values())  # one of the metric, none where steps count
        return Verdict(VALID, parse_number(str(float(costs[0] if costs else len(steps.actions)))))
    return Verdict(f"invalid: {result.reason}, step {result.inapplicable_action}")


def _lasts_exactly(problem: Any, plan: Any) -> bool:
    """Return whether no step of `plan` lasts a little more or less than it should in the initial state of `problem`.

    The validator of unified-planning knows no tolerance, and plans have three decimals.
    """
    from unified_planning.exceptions import UPException
    from unified_planning.model import UPState
    from unified_planning.model.walkers.state_evaluator import StateEvaluator

    evaluator, state = StateEvaluator(problem), UPState(problem.explicit_initial_values, problem)
    for _, step, duration in plan.timed_actions:
        if duration is not None:
            values = dict(zip(step.action.parameters, step.actual_parameters, strict=True))
            try:
                bounds = [
                    evaluator.evaluate(bound.substitute(values), state=state).constant_value()
                    for bound in (step.action.duration.lower, step.action.duration.upper)
                ]
            except (UPException, AssertionError, KeyError):
                continue
            if any(0 < abs(Fraction(bound) - duration) <= Fraction(SEPARATION) for bound in bounds):
                return False
    return True


def _start_costs_at_zero(problem: Any) -> None:
    """Give `total-cost` the value 0 where a task without a metric leaves it undefined, as planners and VAL take it."""
    if problem.has_fluent("total-cost"):
        cost = problem.fluent("total-cost")()
        if cost not in problem.explicit_initial_values:
            problem.set_initial_value(cost, 0)


def _check_by_fast_downward(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    from benchmarks.validators.fast_downward import check

    return check(domain_path, problem_path, plan)


def _check_by_val(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    from benchmarks.validators.val import check

    return check(domain_path, problem_path, plan)


CHECKS: Final = {
    "forethought": check_by_forethought,
    "pyperplan": check_by_pyperplan,
    "unified-planning": check_by_unified_planning,
    "fast-downward": _check_by_fast_downward,
    "val": _check_by_val,
}
"""The function of each of `VALIDATORS`."""


def main() -> None:
    """Judge the plan of the command line."""
    name, domain, problem, plan = sys.argv[1:5]
    verdict = CHECKS[name](Path(domain), Path(problem), Path(plan).read_text(encoding="utf-8"))
    sys.stdout.write("\n" + json.dumps(asdict(verdict)) + "\n")


if __name__ == "__main__":
    main()
