"""Replays a plan with pyperplan: its parser, its grounding of one action at a time, its operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.validators import VALID, Verdict
from benchmarks.validators.plantext import plan_steps


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return whether pyperplan's operators lead from its initial state to its goal, at cost 1 each."""
    from pyperplan import grounding
    from pyperplan.pddl.parser import Parser

    parser = Parser(str(domain_path), str(problem_path))
    problem = parser.parse_problem(parser.parse_domain())
    state = grounding._get_partial_state(problem.initial_state)  # noqa: SLF001 - it has no public way to one operator
    goal = grounding._get_partial_state(problem.goal)  # noqa: SLF001 - as above
    steps = plan_steps(plan)
    for number, step in enumerate(steps, start=1):
        operator = _operator(grounding, problem, step)
        if operator is None:
            return Verdict(f"invalid: step {number}, {' '.join(step)}, names no action or unfitting objects")
        if not operator.applicable(state):
            unmet = ", ".join(sorted(operator.preconditions - state))
            return Verdict(f"invalid: step {number}, {' '.join(step)}, requires {unmet}")
        state = operator.apply(state)
    if not goal <= state:
        return Verdict(f"invalid: the goal lacks {', '.join(sorted(goal - state))}")
    return Verdict(VALID, len(steps))


def _operator(grounding: Any, problem: Any, step: tuple[str, ...]) -> Any:
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
