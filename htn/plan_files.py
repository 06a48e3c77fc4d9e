"""Plans of hierarchical problems in any format: the competition's, with or without decomposition, or JSON."""

from __future__ import annotations

from htn.model import HtnProblem
from htn.plan import Decomposition, Node
from htn.plans import has_decomposition, read_plan
from planner.annotations import Any
from planner.errors import Location, PlanError
from planner.model import Atom
from planner.pddl.plans import read_plan as read_steps
from planner.plan import Plan, Step
from planner.plan_json import is_json, read_json, steps_from
from planner.records import replace
from planner.validate.costs import cost_of
from planner.validate.simulation import bound


def plan_from_text(text: str, problem: HtnProblem, source: str = "<string>") -> Plan:
    """Return the plan for `problem` that `text` writes; it has a decomposition where the text has one.

    A plan in JSON has the costs that are written there; otherwise they are those of the actions. Raises `PlanError` for
    what is no plan, with the place of what is wrong; an empty text, as writing that failed leaves, is none.
    """
    if not text.strip():
        hint = "a plan without steps is the lines '==>', 'root' (with the numbers of its tasks) and '<=='"
        raise PlanError("found nothing, expected a plan", Location(source, 1, 1), hint)
    if is_json(text):
        return plan_from_data(read_json(text, source), problem, source)
    if has_decomposition(text):
        return read_plan(text, problem, source)
    return replace(read_steps(text, problem.classical, source), problem=problem)


def plan_from_data(data: Any, problem: HtnProblem, source: str = "<data>") -> Plan:
    """Return the plan that `data`, as `Plan.to_dict` or `Result.to_dict` gives it, stands for; raises `PlanError`."""
    plan, claimed = steps_from(data, problem.classical, source)
    steps = plan.steps if claimed is not None else tuple([_priced(step, problem) for step in plan.steps])
    while isinstance(data, dict) and isinstance(data.get("plan"), dict):
        data = data["plan"]
    written = data.get("decomposition") if isinstance(data, dict) else None
    return Plan(steps, problem, None if written is None else tree_from_data(written, Location(source)))


def _priced(step: Step, problem: HtnProblem) -> Step:
    action = problem.classical.domain.actions[step.action]
    return replace(step, cost=cost_of(problem.classical, action, bound(action, step)))


def tree_from_data(data: Any, place: Location) -> Decomposition:
    """Return the decomposition that `Decomposition.to_dict` gave `data` for; raises `PlanError` for anything else."""
    match data:
        case {"roots": list(roots), "nodes": list(nodes)} if _all(int, roots):
            binding = data.get("binding", [])
            if isinstance(binding, list) and _all(str, binding):
                found = [_node(each, number, place) for number, each in enumerate(nodes)]
                return Decomposition(tuple(found), tuple(roots), tuple(binding))
    expected = 'expected {"roots": [0, …], "binding": […], "nodes": […]}'
    raise PlanError(f"the decomposition is none; {expected}", place)


def _node(data: Any, number: int, place: Location) -> Node:
    match data:
        case {"task": str(task), "arguments": list(arguments), "step": int(step)} if _all(str, arguments):
            return Node(Atom(task, tuple(arguments)), step)
        case {"task": str(task), "arguments": list(arguments), "method": str(method), "children": list(children)}:
            binding = data.get("binding", [])
            if _all(str, arguments) and _all(int, children) and isinstance(binding, list) and _all(str, binding):
                return Node(Atom(task, tuple(arguments)), None, method, tuple(binding), tuple(children))
    forms = '{"task", "arguments", "step"} or {"task", "arguments", "method", "binding", "children"}'
    raise PlanError(f"node {number} of the decomposition is none; expected {forms}", place)


def _all(kind: type, items: list[Any]) -> bool:
    return all(isinstance(item, kind) for item in items)
