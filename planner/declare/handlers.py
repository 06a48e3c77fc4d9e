"""Whether a Python function can do a declared action: its parameters must be those of the action."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from planner.declare.entity import Entity
from planner.declare.parameters import is_context, signature
from planner.declare.places import Place
from planner.declare.types import Types
from planner.declare.words import either
from planner.errors import did_you_mean
from planner.model import Action


def check_handler(action: Action, handler: Callable[..., Any], types: Types, place: Place) -> None:
    """Raise an error unless `handler` takes exactly the parameters of `action` (and, if it likes, a context)."""
    planning = {variable.name.removeprefix("?"): variable for variable in action.parameters}
    wanted = [*planning, *[parameter.name for parameter in action.data]]
    taken = list(signature(handler, place).parameters.values())
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken)
    named = {each.name: each for each in taken if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
    what = f"the function bound to {action.signature}"
    for parameter in named.values():
        _check_parameter(parameter, wanted, what, place)
        variable = planning.get(parameter.name)
        annotation = parameter.annotation
        if variable and isinstance(annotation, type) and issubclass(annotation, Entity):
            given = (annotation.type_name,)
            if annotation is not Entity and not types.overlap(given, variable.types):
                raise place.error(
                    f"{what} takes {parameter.name!r} as {given[0]!r}, but it is {either(variable.types)}"
                )
    for each in wanted:
        if each not in named and not anything:
            raise place.error(f"{what} does not take the parameter {each!r}", did_you_mean(each, named))


def check_takes_some(action: Action, function: Callable[..., Any], place: Place) -> None:
    """Raise an error unless `function` takes only a context, and parameters of `action`: all or some of them."""
    wanted = [variable.name.removeprefix("?") for variable in action.parameters]
    wanted += [parameter.name for parameter in action.data]
    what = f"the check of {action.signature}"
    for parameter in signature(function, place).parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise place.error(f"{what} takes {parameter.name!r} by position only; checks are called by name")
        anything = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if parameter.default is parameter.empty and not (anything or parameter.name in wanted or is_context(parameter)):
            near = did_you_mean(parameter.name, wanted) or f"the parameters are {', '.join(wanted) or 'none'}"
            raise place.error(f"{what} takes {parameter.name!r}, which the action does not have", near)


def _check_parameter(parameter: inspect.Parameter, wanted: list[str], what: str, place: Place) -> None:
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise place.error(f"{what} takes {parameter.name!r} by position only; handlers are called by name")
    if parameter.name not in wanted and not is_context(parameter) and parameter.default is parameter.empty:
        near = did_you_mean(parameter.name, wanted) or f"the parameters are {', '.join(wanted) or 'none'}"
        raise place.error(f"{what} takes {parameter.name!r}, which the action does not have", near)
