"""Fields of an imported document: their places, notes of mistakes, and keys that an `ActionPlan` does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from executor.plan_check.plan_findings import Path, PlanFinding, Where
from planner.errors import did_you_mean, kind_of
from planner.language.declare.declared_names import fold_name

UNUSED: Final = frozenset(
    {
        "thought",
        "reasoning",
        "rationale",
        "expectedoutput",
        "tags",
        "label",
        "title",
        "createdat",
        "updatedat",
        "version",
    }
    | {
        "estimatedduration",
        "totalsteps",
        "currentstep",
        "status",
        "state",
        "type",
        "description",
        "stepnumber",
        "order",
    }
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
class Here:
    """A place in the document, in the step with the id `step` if there is one; mistakes there go to `notes`."""

    notes: list[PlanFinding]
    path: Path = ()
    step: str = ""

    def at(self, *path: str | int) -> Here:
        """Return the place at `path` below this one."""
        return Here(self.notes, (*self.path, *path), self.step)

    @property
    def key(self) -> str:
        """The key at the end of the path."""
        return str(self.path[-1])

    def refuse(self, rule: str, message: str, hint: str = "") -> None:
        """Note an error."""
        self.notes.append(Where(self.step, self.path).error(rule, message, hint=hint))

    def warn(self, rule: str, message: str, hint: str = "") -> None:
        """Note a warning."""
        self.notes.append(Where(self.step, self.path).warning(rule, message, hint=hint))

    def seconds(self, value: Any) -> float:
        """Convert milliseconds to seconds."""
        if is_number(value):
            return float(value) / 1000
        self.refuse("form", f"{self.key} are milliseconds, not {kind_of(value)}")
        return 0.0

    def word(self, known: Mapping[str, str], value: Any, what: str) -> str | None:
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
class Part:
    """A part of an `ActionPlan` as data; `places` maps paths in `data` to paths in the document."""

    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, Path] = field(default_factory=dict)

    def put(self, here: Here, value: Any, *path: str) -> None:
        """Put `value`, found `here`, at `path`, and create the mappings on the way."""
        inner = self.data
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
        self.places[path] = here.path
