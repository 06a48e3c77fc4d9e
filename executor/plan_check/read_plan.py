"""Read plans from files and texts in JSON or YAML, foreign ones too, and report mistakes with their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from executor.plan_check.check_plan import check_plan
from executor.plan_check.import_plan import import_plan, is_foreign
from executor.plan_check.plan_findings import PLAN, PlanFinding
from executor.plans.action_plan import ActionPlan, statement_of
from executor.tools.world import World, domain_model_of
from planner.errors import DocumentError, Location, kind_of
from planner.language.declare import Domain
from planner.language.documents.schema import locate_mistake
from planner.language.documents.text_formats import Document, json_positions, parse_json, parse_yaml, yaml_positions
from planner.model import Problem
from planner.problem_kinds import AnyDomain

_FORM: Final = 'write {"goal": […], "steps": [{"id": "s1", "action": …, "arguments": {…}}, …]}'
_EXPECTED: Final = {
    "tuple_type": "expected a list",
    "string_type": "expected a text",
    "string_pattern_mismatch": "expected a name without spaces, dots and braces",
}


def read_plan(
    source: str | Path | Mapping[str, Any],
    world: World | Domain | AnyDomain,
    *,
    problem: Problem | None = None,
    **options: Any,
) -> tuple[ActionPlan | None, list[PlanFinding]]:
    """Read a plan from a file, a text or data; return it (None if it is no plan) and all its mistakes.

    A source with a line break or a brace is a text, any other a path. A plan in the form of another framework is
    imported. With `problem`, the plan is one for that, and must not state another. The other options are those of
    `check_plan`. Mistakes in a plan never raise.
    """
    try:
        document = _read_document(source)
    except DocumentError as error:
        return None, [replace(PLAN.from_error("no-plan", error), location=error.location)]
    if is_foreign(document.data):
        return _import_document(document, world, problem, options, is_text=not isinstance(source, Mapping))
    try:
        plan = ActionPlan.model_validate(_with_float_parameters(document.data))
    except ValidationError as error:
        return None, [_finding_of(each, document) for each in error.errors(include_url=False)]
    plan, findings = _state_problem(plan, problem)
    found = check_plan(plan, world, document=None if isinstance(source, Mapping) else document, **options)
    return plan, [*findings, *found]


def _import_document(
    document: Document,
    world: World | Domain | AnyDomain,
    problem: Problem | None,
    options: Mapping[str, Any],
    *,
    is_text: bool,
) -> tuple[ActionPlan | None, list[PlanFinding]]:
    """Import a plan of another framework; return it and its mistakes, with paths in the original."""
    domain = world.model if isinstance(world, World) else domain_model_of(world)
    objects = [] if problem is None else [each.name for each in problem.objects]
    made = import_plan(document.data, domain, objects, has_problem=problem is not None)
    plan, found = None, []
    try:
        plan = ActionPlan.model_validate(_with_float_parameters(made.data))
    except ValidationError as error:
        whole = Document(made.data, document.source, 0, dict)
        found = [_finding_of(each, whole) for each in error.errors(include_url=False)]
    else:
        plan, found = _state_problem(plan, problem)
        found += check_plan(plan, world, **options)
    known = {each.path for each in made.notes if each.is_error}
    found = [*made.notes, *[each for each in map(made.trace, found) if each.path not in known]]
    return plan, [replace(each, location=document.location(each.path)) for each in found] if is_text else found


def _state_problem(plan: ActionPlan, problem: Problem | None) -> tuple[ActionPlan, list[PlanFinding]]:
    """Add the statement of `problem` to `plan`; return the plan, and an error if it states a problem itself."""
    if problem is None:
        return plan, []
    stated_twice = sorted(statement_of(problem).keys() & plan.model_fields_set - {"name", "metric"})
    if stated_twice:
        hint = "leave the problem out, or take this out of the plan"
        message = f"the plan states its problem itself: {', '.join(stated_twice)}"
        return plan, [PLAN.error("statement", message, stated_twice[0], hint=hint)]
    return plan.model_copy(update=statement_of(problem)), []


def is_action_plan(path: Path) -> bool:
    """Return whether the file at `path` holds an action plan, not a plan in a planner's format."""
    try:
        data = _read_document(path).data
    except DocumentError:
        return path.suffix.lower() in (".json", ".yaml", ".yml")  # one with a mistake, then
    if is_foreign(data):
        return True
    steps = data.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    return "plan" not in data and not (isinstance(first, dict) and isinstance(first.get("arguments"), list))


def _read_document(source: str | Path | Mapping[str, Any]) -> Document:
    """Parse `source`; raises `DocumentError`."""
    if isinstance(source, Mapping):
        return Document(dict(source), "<data>", 0, dict)
    if not isinstance(source, str | Path):
        raise DocumentError(f"{kind_of(source)} is no plan", Location("<data>"), _FORM)
    if not str(source).strip():
        raise DocumentError("the text is empty", Location("<text>"), _FORM)
    name, text, is_json = "<text>", str(source), str(source).lstrip()[:1] in ("{", "[")
    if isinstance(source, Path) or ("\n" not in source and "{" not in source):
        from planner.language.pddl.syntax import read_text

        name, is_json = str(source), Path(source).suffix.lower() == ".json"
        text = read_text(Path(source), DocumentError)
    found = parse_json(text, name) if is_json else parse_yaml(text, name)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise DocumentError("a plan is one mapping", Location(name), _FORM)
    return Document(found[0], name, 0, lambda: json_positions(text) if is_json else yaml_positions(text, name))


def _with_float_parameters(data: dict[str, Any]) -> dict[str, Any]:
    """Convert decimals in the parameters of steps to floats, as usual JSON readers do."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        return data
    converted = [
        {**each, "parameters": _to_floats(each["parameters"])}
        if isinstance(each, dict) and "parameters" in each
        else each
        for each in steps
    ]
    return {**data, "steps": converted}


def _to_floats(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {key: _to_floats(each) for key, each in value.items()}
        case list():
            return [_to_floats(each) for each in value]
        case _:
            return value


def _finding_of(mistake: Any, document: Document) -> PlanFinding:
    """Convert an error of pydantic to a finding about its step."""
    reason = _EXPECTED.get(mistake["type"], f"{mistake['msg'][:1].lower()}{mistake['msg'][1:]}")
    mistake["msg"] = reason
    path, error = locate_mistake(mistake, document, ActionPlan)
    id_ = ""
    if path[:1] == ("steps",) and len(path) > 1:
        step = document.data["steps"][path[1]]
        id_ = str(step.get("id", "")) if isinstance(step, dict) else ""
    return replace(PLAN.from_error("form", error, *path), step=id_, location=error.location)
