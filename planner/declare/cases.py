"""Cases of an action: what is likely where its arguments are certain objects."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from planner.declare.numbers import check_distribution, decimal, risk
from planner.declare.places import Place
from planner.declare.syntax import shown
from planner.declare.values import several
from planner.model import Case


def cases_of(value: Any, parameters: Collection[Any], outcomes: Collection[Any], place: Place) -> tuple[Case, ...]:
    """Return the cases of an action with these `parameters` and `outcomes`; raises an error at `place`."""
    return tuple(
        [
            _case(item, len(parameters), len(outcomes), place.within(index))
            for index, item in enumerate(several(value, "cases", place))
        ]
    )


def _case(item: Any, parameters: int, outcomes: int, place: Place) -> Case:
    if not isinstance(item, Case):
        raise place.error(f"{shown(item)} is no case", "write Case(arguments, risk), where '_' stands for any object")
    names: Any = item.arguments
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or len(names) != parameters:
        message = f"the arguments of a case are {parameters} names of objects, or '_' for any, not {shown(names)}"
        raise place.within("arguments").error(message)
    likely = tuple([decimal(each, "a probability", place.within("outcomes")) for each in item.outcomes])
    if likely and len(likely) != outcomes:
        message = f"a case has the probabilities of all {outcomes} outcomes, or none, not {len(likely)}"
        raise place.within("outcomes").error(message)
    check_distribution(likely, place.within("outcomes"))
    return Case(tuple(names), risk(item.risk, place.within("risk")), likely)
