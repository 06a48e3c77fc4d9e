"""Import one step of a foreign plan: its action, its parameters by name, its dependencies, and its policy.

`ForeignPlace` is a place in the document, which notes mistakes and keys that an `ActionPlan` does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from typing import Any, Final

from executor.plan_check.plan_findings import Path, PlanFinding, PlanPlace
from executor.plans.action_plan import REFERENCE, PlanStep, StepPolicy
from planner.errors import InputError, did_you_mean, kind_of
from planner.language.declare import resolve_action
from planner.language.declare.declared_names import fold_name
from planner.model import Action, DomainModel

UNUSED: Final = frozenset(
    {"thought", "reasoning", "rationale", "expectedoutput", "tags", "label", "title", "createdat"}
    | {"updatedat", "version", "estimatedduration", "totalsteps", "currentstep", "status", "state", "type"}
    | {"description", "stepnumber", "order"}
)
"""Keys, in the form of `fold_name`, that do not change what a run does."""
RESTRICTIVE: Final = frozenset(
    {"condition", "conditions", "precondition", "preconditions", "when", "if", "unless", "guard", "then", "else"}
    | {"foreach", "loop", "repeat", "while", "until", "branches", "next", "onsuccess", "onfailure", "fallback"}
    | {"rollback", "compensation", "steps", "substeps", "subplan", "children", "timeout"}
)
"""Keys that make a step conditional, repeat it, or replace it by other steps."""
FRESH: Final = frozenset({"", "pending", "proposed", "planned", "ready", "created", "notstarted", "queued", "draft"})
"""Statuses of plans and steps that have not begun."""
NOT_IMPORTED: Final = ("not-imported", "goal-in-words")
"""The rules about parts of a plan that are not imported."""


@dataclass(frozen=True, slots=True)
class ForeignPlace:
    """A place in the document, in the step with the id `step` if there is one; mistakes there go to `notes`."""

    notes: list[PlanFinding]
    path: Path = ()
    step: str = ""

    def at(self, *path: str | int) -> ForeignPlace:
        """Return the place at `path` below this one."""
        return ForeignPlace(self.notes, (*self.path, *path), self.step)

    @property
    def key(self) -> str:
        """The key at the end of the path."""
        return str(self.path[-1])

    def refuse(self, rule: str, message: str, hint: str = "") -> None:
        """Note an error."""
        self.notes.append(PlanPlace(self.step, self.path).error(rule, message, hint=hint))

    def warn(self, rule: str, message: str, hint: str = "") -> None:
        """Note a warning."""
        self.notes.append(PlanPlace(self.step, self.path).warning(rule, message, hint=hint))

    def seconds(self, value: Any) -> float:
        """Convert milliseconds to seconds."""
        if is_number(value):
            return float(value) / 1000
        self.refuse("form", f"{self.key} are milliseconds, not {kind_of(value)}")
        return 0.0

    def translate(self, known: Mapping[str, str], value: Any, what: str) -> str | None:
        """Translate the word `value` by `known`; note an error and return None if it is unknown."""
        word = fold_name(value) if isinstance(value, str) else ""
        if word not in known:
            said = f"{value!r}" if isinstance(value, str) else kind_of(value)
            near = did_you_mean(word, known) or f"there are {', '.join(dict.fromkeys(known.values()))}"
            self.refuse("form", f"{said} is no {what}", near)
        return known.get(word)

    def check_unused(self, value: Any) -> None:
        """Note that this key is not imported: an error if the plan may mean something else without it."""
        word = fold_name(self.key)
        if word in UNUSED or value in (None, "", [], {}):
            return
        if word in RESTRICTIVE:
            hint = "write timeoutMs, for milliseconds" if word == "timeout" else "take it out if nothing depends on it"
            self.refuse("not-imported", f"{self.key!r} cannot be imported", hint)
        else:
            self.warn("not-imported", f"{self.key!r} is not imported")

    def check_status(self, value: Any) -> None:
        """Note an error if the plan or step has begun already: a run would begin it once more."""
        word, status = fold_name(self.key), value
        if word == "state" and isinstance(value, Mapping):
            status = value.get("status", "")
        if word in ("status", "state") and isinstance(status, str) and fold_name(status) not in FRESH:
            self.refuse(
                "begun", f"{self.key!r} is {status!r}, and a run begins anew", 'write "pending" to do all of it'
            )
        elif word == "currentstep" and status:
            self.refuse("begun", f"{self.key!r} is {status!r}, and a run begins anew", "write 0 to do all of it")


def is_number(value: Any) -> bool:
    """Return whether a value of a document is a number."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


@dataclass(slots=True)
class PlanData:
    """A part of an `ActionPlan` as data; `places` maps paths in `data` to paths in the document."""

    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, Path] = field(default_factory=dict)

    def put(self, here: ForeignPlace, value: Any, *path: str) -> None:
        """Put `value`, found `here`, at `path`, and create the mappings on the way."""
        inner = self.data
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
        self.places[path] = here.path


IDS: Final = frozenset({"id", "stepid"})
ACTIONS: Final = ("actionname", "action", "toolname", "tool", "name")
"""Keys that name the action, in the form of `fold_name`; the first that a step has counts."""
PARAMETERS: Final = frozenset({"parameters", "params", "arguments", "args", "inputs", "input"})
NEEDS: Final = frozenset({"dependencies", "dependson"})
ON_ERROR: Final = {
    "abort": "abort",
    "fail": "abort",
    "stop": "abort",
    "continue": "continue",
    "skip": "continue",
    "ignore": "continue",
    "replan": "patch",
    "patch": "patch",
}
"""Foreign words for error handling, with the values of our `on_error`."""
MILLISECONDS: Final = {"timeoutms": "timeout", "backoffms": "backoff", "maxbackoffms": "longest"}
DOUBLING: Final = 2
"""The factor between our pauses between attempts."""
_OURS: Final = frozenset(PlanStep.model_fields) - {"id", "action", "arguments", "parameters", "depends_on", "creates"}
_GIVEN: Final = (("arguments",), ("parameters",))
"""The paths of our fields for foreign parameters."""
_OUR_POLICY: Final = frozenset(StepPolicy.model_fields) - {"on_error"}


@dataclass(slots=True)
class PlanNames:
    """The objects that steps may name: known ones, and placeholders of created objects, by step and parameter."""

    domain: DomainModel
    known: set[str]
    created: dict[str, dict[str, str]] = field(default_factory=dict)
    _alike: dict[str, list[str]] = field(init=False, default_factory=dict)
    _creators: dict[str, str] = field(init=False, default_factory=dict)
    _numbers: Iterator[int] = field(init=False, default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        for name in self.known:
            self._alike.setdefault(fold_name(name), []).append(name)

    def find_name(self, text: str) -> str:
        """Return the known name that equals `text` up to case and punctuation, else `text`."""
        alike = self._alike.get(fold_name(text), [])
        return alike[0] if text not in self.known and len(alike) == 1 else text

    def action(self, name: Any) -> Action | None:
        """Return the action called `name`, if there is one."""
        try:
            return resolve_action(self.domain, name) if isinstance(name, str) else None
        except InputError:
            return None

    def name_created(self, id_: str, step: Any) -> None:
        """Give a placeholder to each object that `step` creates and does not name itself."""
        stated, action = step.get("creates") if _is_mapping(step) else None, self.action(_action_of(step)[1])
        found = self.created[id_] = dict(stated) if isinstance(stated, Mapping) else {}
        for name in [each.removeprefix("?") for each in (action.creates if action else ())]:
            if name not in found:
                found[name] = next(each for at in self._numbers if (each := f"new-{name}-{at}") not in self.known)
        placeholders = [each for each in found.values() if isinstance(each, str)]
        self.known.update(placeholders)
        self._creators.update(dict.fromkeys(placeholders, id_))

    def creators(self, names: Iterable[str]) -> set[str]:
        """Return the steps that create the objects with these placeholders."""
        return {self._creators[each] for each in names if each in self._creators}


def ids_of(steps: Sequence[Any]) -> list[str]:
    """Return the ids of `steps`: the stated ones, and s1, s2, … for the others."""
    stated = [_stated_id(each) for each in steps]
    taken = set(stated)
    free = (name for number in count(1) if (name := f"s{number}") not in taken)
    return [next(free) if each is None else each for each in stated]


def _stated_id(given: Any) -> str | None:
    found = (
        next((each for key, each in given.items() if fold_name(str(key)) in IDS), None) if _is_mapping(given) else None
    )
    return str(found) if isinstance(found, str | int) else None


def _action_of(given: Any) -> tuple[str | None, Any]:
    """Return the key under which a step names its action, and the name; a step may be just that name."""
    if not _is_mapping(given):
        return None, given
    keys = {fold_name(str(key)): key for key in reversed(given)}
    key = next((keys[each] for each in ACTIONS if each in keys), None)
    return key, None if key is None else given[key]


def import_step(given: Any, here: ForeignPlace, names: PlanNames) -> PlanData:
    """Convert the step `given` to the data of a `PlanStep`."""
    part = PlanData({"id": here.step, "arguments": {}, "parameters": {}, "depends_on": []}, {(): here.path})
    part.places |= dict.fromkeys(_GIVEN, here.at("parameters").path)
    key, name = _action_of(given)
    if not isinstance(name, str):
        there = here if key is None else here.at(key)
        there.refuse("form", f"the step names no action, but {kind_of(name)}", 'write "actionName": "…"')
    part.put(here if key is None else here.at(key), name if isinstance(name, str) else "", "action")
    if names.created.get(here.step):
        part.data["creates"] = names.created[here.step]
    for each, value in given.items() if _is_mapping(given) else ():
        word, there = fold_name(str(each)), here.at(each)
        there.check_status(value)
        if word in PARAMETERS:
            _import_parameters(value, there, part, names)
        elif word in NEEDS:
            _import_needs(value, there, part)
        elif each in _OURS and each != "policy":
            part.put(there, value, each)
        elif word not in (*IDS, *ACTIONS, "creates"):
            _import_policy(value, there, part)
    return part


def _is_mapping(given: Any) -> bool:
    return isinstance(given, Mapping)


def _import_parameters(value: Any, here: ForeignPlace, part: PlanData, names: PlanNames) -> None:
    """Import values by parameter name: objects to `arguments`, data to `parameters`."""
    part.places |= dict.fromkeys(_GIVEN, here.path)
    if value is None:
        return
    if not isinstance(value, Mapping):
        here.refuse("form", f"{here.key} are {kind_of(value)}, and are given by name", '{"name of the parameter": …}')
        return
    action = names.action(part.data["action"])
    own = [each.name.removeprefix("?") for each in (action.parameters if action else ())]
    objects = {fold_name(each): each for each in own}
    data = {fold_name(each.name): each.name for each in (action.data if action else ())}
    for key, each in value.items():
        word, there = fold_name(str(key)), here.at(key)
        kind = "arguments" if word in objects else "parameters"
        known = objects.get(word) or data.get(word) or str(key)
        if known in part.data[kind]:
            there.refuse("form", f"the parameter {known!r} is given twice")
        part.put(there, _find_object(each, there, names) if word in objects else each, kind, known)


def _find_object(value: Any, here: ForeignPlace, names: PlanNames) -> str:
    """Return the object name in `value`: a name, a mapping that has one, or `{{step.created.name}}`."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("name", "id") if isinstance(value.get(key), str)), value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        here.refuse("form", f"the parameter {here.key!r} takes the name of an object, not {kind_of(value)}")
        return str(value)
    reference = REFERENCE.fullmatch(str(value).strip())
    return names.find_name(str(value)) if reference is None else _find_created(reference, here, names)


def _find_created(reference: re.Match[str], here: ForeignPlace, names: PlanNames) -> str:
    """Return the placeholder of the object that a `reference` names."""
    found = names.created.get(reference[1], {})
    first, _, name = (reference[2] or "").partition(".")
    if first == "created" and (name or len(found) == 1):
        name = name or next(iter(found))
        if name in found:
            return found[name]
    ways = " or ".join(f"{{{{{reference[1]}.created.{each}}}}}" for each in found)
    hint = f"write {ways}" if ways else "name an object, or one that a step creates"
    here.refuse("reference", f"{reference[0]} is no object", hint)
    return reference[0]


def _import_needs(value: Any, here: ForeignPlace, part: PlanData) -> None:
    """Import the ids of the steps before a step."""
    given = [value] if isinstance(value, str | int) else value or []
    if not isinstance(given, list):
        here.refuse("form", f"{here.key} are {kind_of(value)}, not a list of the ids of steps")
        return
    for number, each in enumerate(given):
        if isinstance(each, bool) or not isinstance(each, str | int):
            here.at(number).refuse("form", f"a dependency is the id of a step, not {kind_of(each)}")
    part.put(here, [*part.data["depends_on"], *map(str, given)], "depends_on")


def _import_policy(value: Any, here: ForeignPlace, part: PlanData) -> None:
    """Import retries, timeouts and error handling."""
    word = fold_name(here.key)
    if word in ("retrypolicy", "policy") and isinstance(value, Mapping):
        part.places["policy",] = here.path
        for key, each in value.items():
            if word == "policy" and key in _OUR_POLICY:
                part.put(here.at(key), each, "policy", key)
            else:
                _import_policy(each, here.at(key), part)
    elif word == "onerror":
        part.put(here, here.translate(ON_ERROR, value, "way to go on after an error") or "abort", "policy", "on_error")
    elif word in MILLISECONDS:
        part.put(here, here.seconds(value), "policy", MILLISECONDS[word])
    elif word in ("maxretries", "retries"):
        part.put(here, value, "policy", "retries")
    elif word != "backoffmultiplier" or value != DOUBLING:
        here.check_unused(value)
