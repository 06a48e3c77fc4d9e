"""Asks unified-planning: its PDDL reader and its `SequentialPlanValidator`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.validators import VALID, Verdict

HARMLESS = frozenset({"UNDEFINED_INITIAL_NUMERIC"})
"""Costs that are never stated: its check refuses them, while simulation fails only where one is used."""


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return what unified-planning says; what its reader or its validator refuses is unsupported."""
    from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus  # noqa: PLC0415 - heavy
    from unified_planning.environment import Environment  # noqa: PLC0415 - loaded only where it judges
    from unified_planning.exceptions import UPException  # noqa: PLC0415 - heavy
    from unified_planning.io import PDDLReader  # noqa: PLC0415 - heavy

    environment = Environment()
    environment.error_used_name = False  # PDDL lets a predicate and an action share a name
    reader = PDDLReader(environment)
    try:
        problem = reader.parse_problem(str(domain_path), str(problem_path))
    except (UPException, NotImplementedError, SyntaxError) as error:
        return Verdict(f"unsupported: {error}")
    try:
        steps = reader.parse_plan_string(problem, plan.lower())
    except (UPException, AssertionError) as error:  # it asserts the number of arguments
        return Verdict(f"invalid: {error or 'a step has the wrong number of arguments'}")
    validator = SequentialPlanValidator(environment=environment)
    lacking = problem.kind.features - validator.supported_kind().features - HARMLESS
    if lacking:
        return Verdict(f"unsupported: {', '.join(sorted(lacking))}")
    validator.skip_checks = True
    result = validator.validate(problem, steps)
    if result.status is ValidationResultStatus.VALID:
        return Verdict(VALID)
    return Verdict(f"invalid: {result.reason}, step {result.inapplicable_action}")
