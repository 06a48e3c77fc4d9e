"""What a step costs, and what it uses of resources: numbers, static functions and Python functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from planner.declare.conditions import read_item
from planner.declare.numbers import number
from planner.declare.places import Place
from planner.declare.scope import Scope
from planner.declare.syntax import NotationError, cannot_name, is_name, parse_atom, shown
from planner.declare.values import mapping
from planner.errors import did_you_mean
from planner.model import COST, Atom, CostFunction, CostTerm
from planner.records import dataclass

_NUMERIC: Final = re.compile(r"\s*[-+.]?\d[^()]*\Z")
"""A text that is a number, or a mistake in one; `1()` is a function all the same."""
_TRUTHS: Final = frozenset({"yes", "no", "on", "off", "true", "false"})
"""Words that no function is named: who writes them means something else."""


TIME: Final = frozenset({"duration", "seconds"})
"""What answers call the time that a plan takes."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Reads the amounts of one action; `scope` has its parameters, and collects the functions that occur.

    `exact` where names without `?` never mean parameters, as in finished models.
    """

    scope: Scope
    resolution: Decimal | None
    exact: bool

    def resources(self, value: Any, place: Place) -> dict[str, tuple[CostTerm, ...]]:
        """Return how much is used of each resource."""
        found = {}
        for name, amount in mapping(value, "uses", place).items():
            here = place.within(name)
            if not is_name(name):
                raise here.error(*cannot_name(name, "a resource"))
            if name == COST:
                raise here.error("'cost' is no resource, but what a step costs", "say it with the field 'cost'")
            if name in TIME:
                hint = "say it with the field 'duration', or name the resource otherwise"
                raise here.error(f"{name!r} is no resource, but how long a step takes", hint)
            found[name] = self.terms(amount, f"the use of {name}", here)
        return found

    def terms(self, value: Any, what: str, place: Place) -> tuple[CostTerm, ...]:
        """Return the terms whose sum is `value`; `what` is the name of the amount in messages."""
        if isinstance(value, list | tuple):
            return tuple([self._term(item, what, place.within(index)) for index, item in enumerate(value)])
        return (self._term(value, what, place),)

    def _term(self, value: Any, what: str, place: Place) -> CostTerm:
        match value:
            case CostFunction():
                return value
            case Atom():
                return self.scope.atom(value, place, bare=not self.exact)
            case str() if value.strip().lower() in _TRUTHS:
                raise place.error(f"{what} is a number or a function, not {shown(value)}")
            case str() if not _NUMERIC.match(value):
                return self._function_term(value, what, place)
        if callable(value):
            return CostFunction(self._function(value, what, place), self.resolution)
        return number(value, what, place, self.resolution)

    def _function_term(self, text: str, what: str, place: Place) -> Atom:
        if text.lstrip().startswith("("):
            found, _ = read_item(text, place)
            if isinstance(found, Atom):
                return self.scope.atom(found, place, bare=False)
            raise place.error(f"{what} is a number or a function, not {shown(text)}")
        try:
            return self.scope.atom(parse_atom(text), place, bare=not self.exact)
        except NotationError as mistake:
            raise place.error(f"{what} {mistake.problem}", mistake.hint) from None

    def _function(self, function: Callable[..., Any], what: str, place: Place) -> Callable[..., Any]:
        """Return `function` as one of all planning parameters; it may name those that it needs, in any order."""
        try:
            wanted = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return function
        if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in wanted):
            return function
        mine = [name.removeprefix("?") for name in self.scope.variables]
        required = [each.name for each in wanted if each.name in mine or each.default is each.empty]
        for name in required:
            if name not in mine:
                near = did_you_mean(name, mine) or f"its parameters are {', '.join(mine) or 'none'}"
                raise place.error(
                    f"the function for {what} takes {name!r}, which is no parameter of {self.scope.owner}", near
                )
        if required == mine:
            return function
        positions = [mine.index(name) for name in required]
        return lambda *names: function(**{name: names[at] for name, at in zip(required, positions, strict=True)})
