"""What authors write inside an action's declaration: `When`, `Outcome`, `From`, `FIXED`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from planner.declare.entity import Entity
from planner.model import Atom, Case, Formula, Number
from planner.model import Outcome as ModelOutcome
from planner.model import When as ModelWhen

Condition = str | Formula | Iterable[str | Formula]
"""An atom or another condition as text or value, or several that must all hold."""
Patterns = str | Atom | Iterable[str | Atom]
TypeLike = str | type[Entity] | Iterable[str | type[Entity]]
"""A planning type: its name or class; several mean either."""


@dataclass(frozen=True, slots=True)
class When:
    """An effect under a condition; `variables` (name → type) makes it one for all objects of these types."""

    requires: Condition = ()
    provides: Condition = ()
    modifies: Patterns = ()
    variables: Mapping[str, TypeLike] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of the results that an action may have, and its probability (0 < probability ≤ 1)."""

    probability: Number | float | str
    provides: Condition = ()
    modifies: Patterns = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """What `From` makes: the result of the step that provides `fact`, at `path`."""

    fact: str | Atom
    path: str = ""
    approved: bool = False


def From(fact: str | Atom, path: str = "", *, approved: bool = False) -> Any:  # noqa: N802 - reads as the marker that it is, as pydantic's Field
    """Return a marker for a data parameter filled from the result of the step that provides the required `fact`.

    `path` leads to a field of that result. It stands as the parameter's default or inside `Annotated`. An agent has
    somebody approve an irreversible step that gets text from there, unless that is `approved` by this declaration.
    """
    return Source(fact, path, approved)


class Fixed:
    """The type of `FIXED`."""

    def __repr__(self) -> str:
        return "FIXED"


FIXED: Final = Fixed()
"""Marks a data parameter, inside `Annotated`, that no language model may fill."""


class ActionFields(TypedDict, total=False):
    """What can be said about an action besides its name and parameters."""

    requires: Condition
    provides: Condition
    modifies: Patterns
    when: When | ModelWhen | Iterable[When | ModelWhen]
    cost: Any
    uses: Mapping[str, Any]
    resolution: Number | float | str | None
    after: Patterns
    creates: Mapping[str, str | type[Entity]]
    duration: Number | float | str | None
    risk: Number | float | str
    outcomes: Iterable[Outcome | ModelOutcome]
    cases: Iterable[Case]
    senses: Patterns
    tags: str | Iterable[str]
    description: str
    similes: str | Iterable[str]
    examples: str | Iterable[str]
