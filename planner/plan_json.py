"""Plans in JSON, as `solve --json` prints them, and plans in any form that commands write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from planner.compilations.object_creation import for_steps
from planner.errors import Location, PlanError, did_you_mean
from planner.language.declare.fields import format_count
from planner.lightweight import replace
from planner.model import Number, Problem
from planner.model.problem import is_temporal
from planner.plan import Plan, Step, StepTime, exact, name_objects
from planner.problem_kinds import AnyProblem, service_of
from planner.validation.timed_replay import make_timed_plan
from planner.validation.validate import choose_versions


def is_json(text: str) -> bool:
    """Return whether `text` begins as JSON does."""
    return text.lstrip()[:1] in ("{", "[")


def read_written_plan(text: str, problem: AnyProblem, source: str) -> tuple[Plan, Number | None]:
    """Read a plan for `problem` in the competition's format, with times or a decomposition, or in JSON.

    Return it with the cost that the text claims; None where it claims none. Raises `PlanError` with the place of a
    mistake.
    """
    if not isinstance(problem, Problem):
        return service_of(problem).read_plan(problem, text, source), None
    if is_json(text):
        return read_json_plan(text, problem, source)
    from planner.language.pddl.plan_files import read_plan

    return read_plan(text, problem, source), None


def read_json_plan(text: str, problem: Problem, source: str) -> tuple[Plan, Number | None]:
    """Return the plan for `problem` in `text`, and the cost that the text claims, if any.

    Raises `PlanError` with what is wrong.
    """
    return read_json_data(read_json(text, source), problem, source)


def read_json_data(data: Any, problem: Problem, source: str) -> tuple[Plan, Number | None]:
    """Return the same for JSON data: a result, a plan, or a list of steps."""
    place = Location(source)
    items = _find_steps(data, place)
    steps = [name_objects(_read_step(item, number, place), problem) for number, item in enumerate(items, start=1)]
    expanded = for_steps(problem, steps)
    objects = {each.name for each in expanded.all_objects}
    for number, step in enumerate(steps, start=1):
        _check_names(step, f"step {number}", expanded, objects, place)
    claimed = all("cost" in item for item in items)
    if is_temporal(problem):
        times = [_read_time(item, number, place) for number, item in enumerate(items, start=1)]
        plan = make_timed_plan(steps, times, problem, place)
        return plan, plan.cost if claimed else None
    chosen = choose_versions(steps, expanded)
    plan = Plan(tuple([replace(each, cost=step.cost) for each, step in zip(chosen, steps, strict=True)]), problem)
    return plan, plan.cost if claimed else None


def read_json(text: str, source: str) -> Any:
    """Parse `text`. Raises `PlanError` where it is no JSON."""
    try:
        return json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise PlanError(f"no JSON: {error.msg}", Location(source, error.lineno, error.colno)) from None
    except RecursionError:
        hint = "a plan is an object with 'steps', as `forethought solve --json` prints it"
        raise PlanError("no plan in JSON: brackets nest too deeply", Location(source, 1, 1), hint) from None
    except ValueError as error:
        raise PlanError(f"no plan in JSON: {error}", Location(source)) from None


def _find_steps(data: Any, place: Location) -> list[Any]:
    """Return the items of steps in a result, a plan, or a list."""
    match data:
        case {"plan": dict() as plan}:
            return _find_steps(plan, place)
        case {"steps": list() as steps}:
            return _find_steps(steps, place)
        case list():
            return data
        case {"plan": None}:
            raise PlanError("the result holds no plan", place)
        case _:
            expected = 'expected {"steps": [{"action": "move", "arguments": ["r1", "a", "b"]}, …]}'
            raise PlanError(f"found no steps in it; {expected}", place)


def _read_step(item: Any, number: int, place: Location) -> Step:
    match item:
        case {"action": str(action), "arguments": list(arguments)} if all(isinstance(word, str) for word in arguments):
            cost = item.get("cost", 0)
            if isinstance(cost, int | Decimal):
                return Step(action, tuple(arguments), cost)
    expected = 'expected {"action": "move", "arguments": ["r1", "a", "b"]}'
    raise PlanError(f"step {number} is no step; {expected}", place)


def _read_time(item: Any, number: int, place: Location) -> StepTime | None:
    """Return the time of a step of a plan in time; None where the item states none."""
    start, duration = item.get("start"), item.get("duration", 0)
    if start is None:
        return None
    for name, value in (("start", start), ("duration", duration)):
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value < 0:
            raise PlanError(f"the {name} of step {number} is {value!r}, expected seconds, 0 or more", place)
    return StepTime(exact(start), exact(duration))


def _check_names(step: Step, where: str, problem: Problem, objects: set[str], place: Location) -> None:
    """Raise `PlanError` for actions and objects that the problem does not have."""
    action = problem.domain.actions.get(step.action)
    if action is None:
        raise PlanError(
            f"{where}: the problem has no action {step.action!r}", place, _hint_at(step.action, problem.domain.actions)
        )
    if len(step.arguments) != len(action.parameters):
        message = f"{where}: {step.action!r} is given {format_count(len(step.arguments))}, not {len(action.parameters)}"
        raise PlanError(message, place, f"it is declared as {action.signature}")
    for name in step.arguments:
        if name not in objects:
            raise PlanError(f"{where}: the problem has no object {name!r}", place, _hint_at(name, objects))


def _hint_at(name: str, known: Iterable[str]) -> str:
    return did_you_mean(name, known) or "check that the plan belongs to this problem"
