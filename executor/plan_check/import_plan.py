"""Import plans that agent frameworks write as JSON: `actionName`, `parameters`, `dependencies`, `executionModel`.

Keys may be in camel case or snake case; numbers under keys in `Ms` are milliseconds, as are the times of a whole plan.
A key that restricts when a step is done (conditions, loops, branches) is an error, since a step must not be done
because its restriction was not understood. Any other unused key is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from executor.loop.dispatch import linearise
from executor.plan_check.import_step import ForeignPlace, PlanData, PlanNames, ids_of, import_step, is_number
from executor.plan_check.plan_findings import Path, PlanFinding, path_text
from executor.plans.action_plan import references
from planner.errors import kind_of
from planner.language.declare.declared_names import fold_name
from planner.model import DomainModel
from planner.model.object_names import is_name

MODELS: Final = {
    "sequential": "sequential",
    "sequence": "sequential",
    "parallel": "parallel",
    "dag": "dag",
    "graph": "dag",
    "dependency": "dag",
    "dependencies": "dag",
    "reactive": "reactive",
}
"""Foreign names of execution models, in the form of `fold_name`, with ours."""
LIMITS: Final = {"cost": "cost", "budget": "cost", "tokens": "tokens", "time": "duration", "duration": "duration"}
"""Foreign types of limits, with the fields of our `Constraints`."""
LATEST: Final = 10**14
"""The latest time that is imported, in milliseconds since 1970: in the year 5138."""
_WRAPPERS: Final = ("plan", "actionPlan", "action_plan")
_STEPS: Final = ("steps", "actions")
_MARKS: Final = frozenset({"actionName", "action_name", "dependencies", "dependsOn"})
"""Keys of steps that our own plans do not have."""
_OURS: Final = frozenset(
    {"objects", "initial", "values", "unknown", "likely", "constraints", "budgets", "deadline", "ran", "metric"}
    | {"timed", "due", "capacity", "starts_at"}
)
"""Keys that state a problem, as in our own plans."""
_CONDITION: Final = re.compile(
    r"\s*(\(.*\)|(not\s+)?[^\s()]+\s*(\(.*\))?|[^\s()]+\s*\([^()]*\)\s*([<>]=?|[!=]=).+)\s*", re.DOTALL
)
"""The notation of conditions; all other texts are sentences."""


@dataclass(slots=True)
class ImportedPlan(PlanData):
    """A plan of another framework; `notes` are findings with paths in its document."""

    notes: list[PlanFinding] = field(default_factory=list)

    def trace(self, finding: PlanFinding) -> PlanFinding:
        """Replace the path of `finding`, which is one in our data, by its path in the document."""
        path = finding.path
        source = next((each for at in range(len(path), 0, -1) if (each := self._source(path, at)) is not None), path)
        return replace(finding, path=source, message=finding.message.replace(path_text(path), path_text(source), 1))

    def _source(self, path: Path, length: int) -> Path | None:
        found = self.places.get(path[:length])
        return None if found is None else (*found, *path[length:])


def is_foreign(data: Any) -> bool:
    """Return whether `data` is a plan in the form of another framework."""
    _, plan = _unwrap(data)
    if any(isinstance(key, str) and fold_name(key) == "executionmodel" for key in plan):
        return True
    return any(isinstance(each, dict) and not _MARKS.isdisjoint(each) for each in _steps_in(plan)[1])


def import_plan(
    data: Mapping[str, Any], domain: DomainModel, objects: Collection[str] = (), *, has_problem: bool = False
) -> ImportedPlan:
    """Import the plan in `data`; `objects` are known in addition to those it names.

    With `has_problem`, the goal comes from a problem and not from the plan.
    """
    path, given = _unwrap(data)
    found = ImportedPlan()
    top = ForeignPlace(found.notes, path)
    stated = given.get("objects")
    own = [each for each in stated if isinstance(each, str)] if isinstance(stated, Mapping) else []
    names = PlanNames(domain, {*objects, *own, *(each.name for each in domain.constants)})
    key, steps = _steps_in(given)
    if not steps:
        top.refuse("form", "the plan has no list of steps", 'write "steps": [{"id": "s1", "actionName": "…"}]')
    models = {name for name in given if fold_name(str(name)) == "executionmodel"}
    for name, value in given.items():
        if name != key and not (models and name == "model"):
            _import_field(value, top.at(name), found, domain, has_problem=has_problem)
    places = [ForeignPlace(found.notes, (*path, key, place), id_) for place, id_ in enumerate(ids_of(steps))]
    for here, each in zip(places, steps, strict=True):
        names.name_created(here.step, each)
    made = [import_step(each, here, names) for each, here in zip(steps, places, strict=True)]
    ordered = made if found.data.get("model") in ("sequential", "reactive") else _sort_steps(made, names)
    for place, each in enumerate(ordered):
        found.places |= {("steps", place, *inner): source for inner, source in each.places.items()}
    found.data["steps"] = [each.data for each in ordered]
    return found


def _unwrap(data: Any) -> tuple[Path, Mapping[str, Any]]:
    """Return the path to the plan in `data`, which may stand under a key of its own, and the plan."""
    if not isinstance(data, Mapping):
        return (), {}
    key = next((each for each in _WRAPPERS if isinstance(data.get(each), Mapping)), None)
    return ((), data) if key is None or _steps_in(data)[1] else ((key,), data[key])


def _steps_in(plan: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the key under which `plan` lists its steps, and the list."""
    key = next((each for each in _STEPS if isinstance(plan.get(each), list)), _STEPS[0])
    steps = plan.get(key)
    return key, steps if isinstance(steps, list) else []


def _import_field(
    value: Any, here: ForeignPlace, found: ImportedPlan, domain: DomainModel, *, has_problem: bool
) -> None:
    """Import a field of the whole plan."""
    key, word = here.key, fold_name(here.key)
    here.check_status(value)
    if word in ("executionmodel", "model"):
        if value is not None:
            found.put(here, here.translate(MODELS, value, "execution model") or "dag", "model")
    elif word == "goal":
        _import_goal(value, here, found, domain, has_problem=has_problem)
    elif word in ("id", "planid") and isinstance(value, str):
        found.put(here, value, "id")
    elif key == "name" and is_name(value):
        found.put(here, value, "name")
    elif word == "metadata" and isinstance(value, Mapping):
        for name, each in value.items():
            _import_metadata(each, here.at(name), found)
    elif key in _OURS and not (key == "constraints" and _is_limits(value)):
        found.put(here, value, key)
    else:
        _import_metadata(value, here, found)


def _import_goal(
    value: Any, here: ForeignPlace, found: ImportedPlan, domain: DomainModel, *, has_problem: bool
) -> None:
    """Import a goal: conditions, and sentences, which no observer can confirm."""
    texts = [value] if isinstance(value, str) and value else value
    if isinstance(texts, Mapping):
        found.put(here, texts, "goal")
        return
    if texts and not (isinstance(texts, list) and all(isinstance(each, str) for each in texts)):
        here.refuse("form", f"the goal is {kind_of(value)}, neither a sentence nor conditions")
        return
    sentences = [each for each in texts or () if not _is_condition(each, domain)]
    conditions = [each for each in texts or () if each not in sentences]
    if conditions:
        found.data["goal"] = conditions
        found.places["goal", "hard"] = here.path
    if sentences:
        unverified = {} if has_problem else dict.fromkeys(sentences, ())
        found.data["basis"] = {"request": "; ".join(sentences), "drawn": "imported", "unverified": unverified}
    if sentences and not has_problem:
        message = f"the goal {'; '.join(sentences)!r} is a sentence: no run of this plan is more than UNVERIFIED"
        here.warn("goal-in-words", message, "state conditions as the goal, or give a problem")


def _is_condition(text: str, domain: DomainModel) -> bool:
    """Return whether `text` is a condition; a single word is one if it names a predicate."""
    is_word = "(" not in text and not text.startswith("not ")
    return text.strip() in domain.predicates if is_word else _CONDITION.fullmatch(text) is not None


def _import_metadata(value: Any, here: ForeignPlace, found: ImportedPlan) -> None:
    """Import the priority, the time of creation, the estimated duration, and the limits."""
    word = fold_name(here.key)
    if word == "constraints" and isinstance(value, list):
        for number, each in enumerate(value):
            _import_limit(each, here.at(number), found)
    elif word == "priority" and isinstance(value, int):
        found.put(here, value, "metadata", "priority")
    elif word == "createdat" and is_number(value) and 0 <= value <= LATEST:
        found.put(here, datetime.fromtimestamp(here.seconds(value), UTC).isoformat(), "metadata", "created")
    elif word == "estimatedduration" and is_number(value):
        found.put(here, here.seconds(value), "metadata", "estimated_duration")
    else:
        here.check_unused(value)


def _is_limits(value: Any) -> bool:
    """Return whether constraints are limits such as `{"type": "cost", "value": 20}`, and not those of a problem."""
    return isinstance(value, list) and any(isinstance(each, Mapping) and "type" in each for each in value)


def _import_limit(given: Any, here: ForeignPlace, found: ImportedPlan) -> None:
    """Import a limit of a run."""
    kind, value = (given.get("type"), given.get("value")) if isinstance(given, Mapping) else (None, None)
    name = LIMITS.get(fold_name(kind)) if isinstance(kind, str) else None
    if name is None or not is_number(value):
        hint = 'the types are cost, tokens and time (in milliseconds), with a number as the "value"'
        here.refuse("constraint", "this is no limit that a run keeps", hint)
        return
    limit = here.seconds(value) if name == "duration" else value
    found.put(here.at("value"), limit, "metadata", "constraints", name)


def _sort_steps(steps: list[PlanData], names: PlanNames) -> list[PlanData]:
    """Sort `steps` topologically; return them as they are if there is a cycle."""
    by_id = {each.data["id"]: each for each in steps}
    before = {
        id_: {
            *each.data["depends_on"],
            *references(each.data["parameters"]),
            *names.creators(each.data["arguments"].values()),
        }
        for id_, each in by_id.items()
    }
    line = linearise(list(by_id), {id_: list(those) for id_, those in before.items()})
    return [by_id[each] for each in line] if len(line) == len(steps) else steps
