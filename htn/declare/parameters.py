"""Parameters of tasks and methods."""

from __future__ import annotations

from planner.declare.parameters import Parameters
from planner.declare.places import Place
from planner.model import Variable


def planning_of(read: Parameters, owner: str, place: Place) -> tuple[Variable, ...]:
    """Return the parameters that search binds; an error where there are others."""
    if read.data:
        name = read.data[0].name
        raise place.error(
            f"parameter {name!r} of {owner} is data, which search does not bind",
            "its parameters are of planning types: a class derived from Entity, or the name of a type",
        )
    return read.planning
