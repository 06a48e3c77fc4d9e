"""Plans in files: the competition's format, or JSON as `solve --json` prints it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from planner.declare.words import count
from planner.errors import Location, PlanError, did_you_mean
from planner.model import Number, Problem
from planner.plan import Plan, Step


def plan_from(path: Path, problem: Problem) -> tuple[Plan, Number | None]:
    """Return the plan for `problem` in the file at `path`, and the cost that the file claims for it, if it does.

    Raises `PlanError` with the place of what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f"the file is no UTF-8 text: {error.reason} at offset {error.start}", _place(path)) from None
    if text.lstrip()[:1] in ("{", "["):
        items = _steps(_json(text, path), path)
        objects = {each.name for each in problem.all_objects}
        steps = [_step(item, number, path) for number, item in enumerate(items, start=1)]
        for number, step in enumerate(steps, start=1):
            _check_names(step, f"step {number}", problem, objects, _place(path))
        plan = Plan(tuple(steps), problem)
        return plan, plan.cost if all("cost" in item for item in items) else None
    from planner.pddl.plans import read_plan  # noqa: PLC0415 - loaded only for this format

    return read_plan(text, problem, str(path)), None


def _place(path: Path) -> Location:
    return Location(str(path))


def _json(text: str, path: Path) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise PlanError(f"no JSON: {error.msg}", Location(str(path), error.lineno, error.colno)) from None
    except (RecursionError, ValueError) as error:
        raise PlanError(f"no plan in JSON: {error}", _place(path)) from None


def _steps(data: Any, path: Path) -> list[Any]:
    """Return the items for steps in a result, in a plan, or in a list of them."""
    match data:
        case {"plan": dict() as plan}:
            return _steps(plan, path)
        case {"steps": list() as steps}:
            return _steps(steps, path)
        case list():
            return data
        case {"plan": None}:
            raise PlanError("the result holds no plan", _place(path))
        case _:
            expected = 'expected {"steps": [{"action": "move", "arguments": ["r1", "a", "b"]}, …]}'
            raise PlanError(f"found no steps in it; {expected}", _place(path))


def _step(item: Any, number: int, path: Path) -> Step:
    match item:
        case {"action": str(action), "arguments": list(arguments)} if all(isinstance(word, str) for word in arguments):
            cost = item.get("cost", 0)
            if isinstance(cost, int | Decimal):
                return Step(action, tuple(arguments), cost)
    expected = 'expected {"action": "move", "arguments": ["r1", "a", "b"]}'
    raise PlanError(f"step {number} is no step; {expected}", _place(path))


def _check_names(step: Step, where: str, problem: Problem, objects: set[str], place: Location) -> None:
    """Refuse what the problem does not have, as in plans of the other format."""
    action = problem.domain.actions.get(step.action)
    if action is None:
        raise PlanError(
            f"{where}: the problem has no action {step.action!r}", place, _near(step.action, problem.domain.actions)
        )
    if len(step.arguments) != len(action.parameters):
        message = f"{where}: {step.action!r} is given {count(len(step.arguments))}, not {len(action.parameters)}"
        raise PlanError(message, place, f"it is declared as {action.signature}")
    for name in step.arguments:
        if name not in objects:
            raise PlanError(f"{where}: the problem has no object {name!r}", place, _near(name, objects))


def _near(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or "check that the plan belongs to this problem"
