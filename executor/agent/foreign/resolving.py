"""Names that others use, resolved: actions by name or simile, objects up to case and punctuation.

Arguments that are named otherwise than they are declared, and those that were left out, are told by their types where
these leave one way only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from executor.agent.foreign.shapes import Call
from planner.declare import resolve_action
from planner.declare.names import folded
from planner.errors import InputError, did_you_mean
from planner.model import OPEN, Action, Problem, TypeHierarchy, Variable
from planner.plan import Step
from planner.records import dataclass, field

MOST_WAYS: Final = 20
"""Ways in which arguments may be meant that are looked at."""


@dataclass(frozen=True, slots=True)
class Said:
    """A step as it was written (`text`), and what it means: `step`; `wrong` says why it means nothing, if so.

    `data` are the values for data parameters that came with it. Where arguments were left out, `ways` are those in
    which the others may be meant, with open arguments for those left out; `is_completed`: the state of the plan there
    has told them.
    """

    text: str
    step: Step
    wrong: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    ways: tuple[tuple[str, ...], ...] = ()
    is_completed: bool = False


def resolve(problem: Problem, calls: Iterable[Call]) -> list[Said]:
    """Return what each of `calls` means in `problem`."""
    names = _Names(problem)
    return [_resolved(problem, call, names) for call in calls]


class _Names:
    """The objects of a problem: by what others may call them, and of which types they are."""

    def __init__(self, problem: Problem) -> None:
        self.types = {each.name: each.types for each in problem.all_objects}
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._by_name: dict[str, list[str]] = {}
        for name in self.types:
            self._by_name.setdefault(folded(name), []).append(name)

    def meant(self, value: Any) -> str:
        """Return the name of an object that is given as a text, or as a mapping that has its name."""
        if isinstance(value, Mapping):
            value = next((value[key] for key in ("name", "id") if isinstance(value.get(key), str)), value)
        name = str(value)
        found = self._by_name.get(folded(name), [])
        return name if name in found or len(found) != 1 else found[0]

    def fits(self, name: str, parameter: Variable) -> bool:
        """Return whether the object `name` may stand for `parameter`."""
        return name in self.types and self._hierarchy.is_a(self.types[name], parameter.types)


def _resolved(problem: Problem, call: Call, names: _Names) -> Said:
    try:
        action = resolve_action(problem.domain, call.name)
    except InputError as error:
        return Said(call.text or call.name, Step(call.name, call.positional), str(error))
    if call.named is None:
        return _in_order(action, call, names)
    return _by_name(action, call, call.named, names)


def _in_order(action: Action, call: Call, names: _Names) -> Said:
    given, parameters = [names.meant(each) for each in call.positional], action.step_parameters
    step = Step(action.name, tuple(given))
    if len(given) == len(parameters):
        return Said(call.text, step, _unknown(action, given, names))
    wrong = f"{action.signature} takes {len(parameters)} arguments, not {len(given)}"
    ways = () if action.creates or len(given) > len(parameters) else tuple(_placed(given, parameters, names))
    return Said(call.text, step, _unknown(action, given, names) or wrong, ways=ways)


def _placed(given: Sequence[str], parameters: Sequence[Variable], names: _Names) -> Iterator[tuple[str, ...]]:
    """Yield the ways in which the objects `given` may stand for some of `parameters`, in their order."""
    ways = 0
    for places in combinations(range(len(parameters)), len(given)):
        if all(names.fits(each, parameters[place]) for each, place in zip(given, places, strict=True)):
            found = dict(zip(places, given, strict=True))
            yield tuple([found.get(place, OPEN) for place in range(len(parameters))])
            ways += 1
        if ways >= MOST_WAYS:
            return


def _by_name(action: Action, call: Call, named: Mapping[str, Any], names: _Names) -> Said:
    parameters = {folded(each.name.removeprefix("?")): each for each in action.step_parameters}
    data = {folded(each.name): each.name for each in action.data}
    by_name = {folded(key): value for key, value in named.items()}
    found = {key: names.meant(by_name[key]) for key in parameters if key in by_name}
    _by_type({key: names.meant(each) for key, each in by_name.items() if key not in data}, parameters, found, names)
    arguments = tuple([found.get(key, OPEN) for key in parameters])
    lacking = [each.name.removeprefix("?") for key, each in parameters.items() if key not in found]
    wrong = _unknown(action, list(found.values()), names)
    values = {data[key]: value for key, value in by_name.items() if key in data}
    if not lacking:
        return Said(call.text, Step(action.name, arguments), wrong, values)
    lacks = f"{action.signature} lacks {', '.join(lacking)}"
    ways = () if action.creates or wrong else (arguments,)
    return Said(call.text, Step(action.name, arguments), wrong or lacks, values, ways)


def _by_type(
    given: Mapping[str, str], parameters: Mapping[str, Variable], found: dict[str, str], names: _Names
) -> None:
    """Add to `found` what is named otherwise than it is declared, where only one parameter is left that it fits."""
    for key, name in given.items():
        if key not in parameters:
            left = [each for each, parameter in parameters.items() if each not in found and names.fits(name, parameter)]
            if len(left) == 1:
                found[left[0]] = name


def _unknown(action: Action, given: Iterable[str], names: _Names) -> str:
    """Return which of `given` is no object, if one is none, and the action creates nothing that it could be."""
    unknown = next((each for each in given if each not in names.types), None)
    if unknown is None or action.creates:
        return ""
    near = did_you_mean(unknown, names.types)
    return f"there is no object {unknown!r}{f'; {near}' if near else ''}"
