"""How the steps of a plan name each other: ids, dependencies, references to results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import Any, Final

from executor.checks.findings import PLAN, Hints, PlanFinding, Where
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.references import REFERENCE, texts_in
from executor.world.results import ActionResult

FIELDS: Final = frozenset(each.name for each in fields(ActionResult))


def check_structure(plan: ActionPlan) -> Iterator[PlanFinding]:
    """Yield what is wrong with ids, dependencies, references, and what the plan says that it came of."""
    if not (plan.steps or plan.tasks or plan.goal.hard or plan.goal.soft):
        yield PLAN.error("empty", "the plan has neither steps nor a goal, so that nothing can come of it", "steps")
    places: dict[str, int] = {}
    for number, step in enumerate(plan.steps):
        if step.id in places:
            message = f"two steps have the id {step.id!r}: it is that of step {places[step.id] + 1}, too"
            yield Where.of(number, step).error("same-id", message, "id")
        places.setdefault(step.id, number)
    circular = _circular(plan, places)
    for cycle in circular:
        first = plan.steps[places[cycle[0]]]
        message = f"{' → '.join(map(repr, [*cycle, cycle[0]]))}: each of these waits for the next, so that none begins"
        yield Where.of(places[first.id], first).error("cycle", message, "depends_on")
    hints = Hints()
    waiting = {id_ for cycle in circular for id_ in cycle}
    for number, step in enumerate(plan.steps):
        yield from _dependencies(number, step, places, waiting, hints)
        yield from _references(number, step, places, hints)
    yield from _decomposition(plan)


def _circular(plan: ActionPlan, places: Mapping[str, int]) -> list[list[str]]:
    """Return circles of dependencies, disjoint ones."""
    needs = {each.id: [id_ for id_ in each.depends_on if id_ in places and id_ != each.id] for each in plan.steps}
    found: list[list[str]] = []
    done: set[str] = set()
    for start in needs:
        path: dict[str, Iterator[str]] = {}
        stack = [start] if start not in done else []
        while stack:
            top = stack[-1]
            following = next(path.setdefault(top, iter(needs[top])), None)
            if following is None or top in done:
                done.add(stack.pop())
            elif following in path and following not in done:
                circle = stack[stack.index(following) :]
                found.append(circle)
                done.update(circle)
            elif following not in done:
                stack.append(following)
    return found


def _dependencies(
    number: int, step: PlanStep, places: Mapping[str, int], waiting: set[str], hints: Hints
) -> Iterator[PlanFinding]:
    where = Where.of(number, step)
    for index, id_ in enumerate(step.depends_on):
        here = "depends_on", index
        if id_ == step.id:
            yield where.error("cycle", "it depends on itself", *here)
        elif id_ not in places:
            hint = hints.near(id_, places, f"the steps are {', '.join(islice(places, 8))}")
            yield where.error("unknown-step", f"it depends on {id_!r}, which is no step", *here, hint=hint)
        elif places[id_] > number and not {id_, step.id} <= waiting:
            hint = "list the steps in an order in which they can run"
            yield where.error("later-step", f"it depends on {id_!r}, which comes after it", *here, hint=hint)


def _references(number: int, step: PlanStep, places: Mapping[str, int], hints: Hints) -> Iterator[PlanFinding]:
    where = Where.of(number, step)
    for name, value in step.parameters.items():
        here = "parameters", name
        for text in texts_in(value):
            if "{{" in REFERENCE.sub("", text):
                yield where.error("reference", f"{text!r} holds no reference", *here, hint="write {{step.data.field}}")
            for match in REFERENCE.finditer(text):
                found = _reference(match, places, number, hints)
                if found is not None:
                    rule, message, hint = found
                    yield where.error(rule, message, *here, hint=hint)


def _reference(
    match: re.Match[str], places: Mapping[str, int], number: int, hints: Hints
) -> tuple[str, str, str] | None:
    """Return the rule, the message and the hint for what is wrong with a reference in the step at place `number`."""
    what, id_, path = match[0], match[1], match[2] or ""
    first = path.split(".", maxsplit=1)[0]
    if id_ not in places:
        return "unknown-step", f"{what} refers to {id_!r}, which is no step", hints.near(id_, places)
    if places[id_] >= number:
        which = "this step itself" if places[id_] == number else f"{id_!r}, which comes after it"
        return "later-step", f"{what} refers to the result of {which}", ""
    if first and first not in FIELDS:
        hint = hints.near(first, FIELDS, f"write {{{{{id_}.data.{path}}}}} for what its handler returned")
        return "reference", f"{what}: a result has no {first!r}", hint
    return None


def _decomposition(plan: ActionPlan) -> Iterator[PlanFinding]:
    if plan.model == "policy" and plan.policy is None:
        message = "the execution model is policy, but the plan does not say what it follows"
        yield PLAN.error("policy", message, "model", hint="choose another model, or give its policy")
    if plan.decomposition is None:
        if plan.model == "hierarchical":
            message = "the execution model is hierarchical, but the plan does not say what it came of"
            yield PLAN.error("decomposition", message, "model", hint="choose another model, or give its decomposition")
        return
    nodes: Any = plan.decomposition.get("nodes")
    leaves = [each for each in nodes if isinstance(each, dict) and "step" in each] if isinstance(nodes, list) else []
    said = [(each["step"], each.get("task"), each.get("arguments")) for each in leaves]
    given = [[*each.arguments.values(), *each.creates.values()] for each in plan.steps]
    steps = [(place, each.action, given[place]) for place, each in enumerate(plan.steps)]
    if sorted(said, key=str) != sorted(steps, key=str):
        message = "the decomposition does not lead to the steps of the plan"
        yield PLAN.error("decomposition", message, "decomposition", hint="leave it out, with another execution model")
