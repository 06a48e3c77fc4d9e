"""Plans out of files and texts, in JSON or YAML, with the places of all that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from executor.checks.findings import PLAN, PlanFinding
from executor.checks.run import check_plan
from executor.plans.action_plan import ActionPlan
from executor.world.world import World
from planner.declare import Domain
from planner.documents.json_text import json_positions, parse_json
from planner.documents.mistakes import told
from planner.documents.places import Document
from planner.documents.yaml_text import parse_yaml, yaml_positions
from planner.errors import DocumentError, Location, kind_of
from planner.kinds import AnyDomain

_FORM: Final = 'write {"goal": […], "steps": [{"id": "s1", "action": …, "arguments": {…}}, …]}'
_EXPECTED: Final = {
    "tuple_type": "expected a list",
    "string_type": "expected a text",
    "string_pattern_mismatch": "expected a name without spaces, dots and braces",
}


def read_plan(
    source: str | Path | Mapping[str, Any], world: World | Domain | AnyDomain, **options: Any
) -> tuple[ActionPlan | None, list[PlanFinding]]:
    """Return the plan of a file, a text or data, and all that is wrong with it; no plan where it is none.

    A text is told from a path by a line break or a brace. The options are those of `check_plan`. Raises nothing for
    what is wrong with a plan.
    """
    try:
        document = _document(source)
    except DocumentError as error:
        return None, [replace(PLAN.told("no-plan", error), location=error.location)]
    try:
        plan = ActionPlan.model_validate(_as_read(document.data))
    except ValidationError as error:
        return None, [_finding(each, document) for each in error.errors(include_url=False)]
    return plan, check_plan(plan, world, document=None if isinstance(source, Mapping) else document, **options)


def is_action_plan(path: Path) -> bool:
    """Return whether the file at `path` holds a plan as data, and not one in a format of planners."""
    try:
        data = _document(path).data
    except DocumentError:
        return path.suffix.lower() in (".json", ".yaml", ".yml")  # one with a mistake, then
    steps = data.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    return "plan" not in data and not (isinstance(first, dict) and isinstance(first.get("arguments"), list))


def _document(source: str | Path | Mapping[str, Any]) -> Document:
    """Return what `source` holds; raises `DocumentError`."""
    if isinstance(source, Mapping):
        return Document(dict(source), "<data>", 0, dict)
    if not isinstance(source, str | Path):
        raise DocumentError(f"{kind_of(source)} is no plan", Location("<data>"), _FORM)
    if not str(source).strip():
        raise DocumentError("the text is empty", Location("<text>"), _FORM)
    name, text, is_json = "<text>", str(source), str(source).lstrip()[:1] in ("{", "[")
    if isinstance(source, Path) or ("\n" not in source and "{" not in source):
        from planner.pddl.text import read_text  # noqa: PLC0415 - a text needs no file

        name, is_json = str(source), Path(source).suffix.lower() == ".json"
        text = read_text(Path(source), DocumentError)
    found = parse_json(text, name) if is_json else parse_yaml(text, name)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise DocumentError("a plan is one mapping", Location(name), _FORM)
    return Document(found[0], name, 0, lambda: json_positions(text) if is_json else yaml_positions(text, name))


def _as_read(data: dict[str, Any]) -> dict[str, Any]:
    """Return `data` with the parameters of steps as any reader of JSON gives them: the planner reads exact decimals."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        return data
    return {**data, "steps": [_step(each) for each in steps]}


def _step(data: Any) -> Any:
    if not isinstance(data, dict) or "parameters" not in data:
        return data
    return {**data, "parameters": _floats(data["parameters"])}


def _floats(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {key: _floats(each) for key, each in value.items()}
        case list():
            return [_floats(each) for each in value]
        case _:
            return value


def _finding(mistake: Any, document: Document) -> PlanFinding:
    """Return what pydantic found wrong as a finding about the step that it is in."""
    reason = _EXPECTED.get(mistake["type"], f"{mistake['msg'][:1].lower()}{mistake['msg'][1:]}")
    mistake["msg"] = reason
    path, error = told(mistake, document, ActionPlan)
    id_ = ""
    if path[:1] == ("steps",) and len(path) > 1:
        step = document.data["steps"][path[1]]
        id_ = str(step.get("id", "")) if isinstance(step, dict) else ""
    return replace(PLAN.told("form", error, *path), step=id_, location=error.location)
