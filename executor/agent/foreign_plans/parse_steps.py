"""Read steps in the forms that agent frameworks and language models write, and resolve their names in a problem.

A step may be a mapping that names an action (`action`, `name`, `tool`, …) and its arguments (`arguments`, `args`,
`input`, …, as a list, a mapping, or JSON text), as in tool calls of OpenAI, LangChain, MCP and others. It may also be a
text such as `move(r2, lab)`, `move(robot=r2, target=lab)`, `(move r2 lab)` or `3. move r2 lab`. Lists of these may
stand below a key such as `steps` or `plan`. Of a text with a fence (three backquotes), only the inside is read;
headings are skipped.

Actions are found by name or simile, objects up to case and punctuation. Arguments with other names, or without a value,
are matched by type if only one way is left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from planner.errors import InputError, PlanError, did_you_mean
from planner.language.declare import resolve_action
from planner.language.declare.declared_names import fold_name
from planner.lightweight import dataclass, field, replace
from planner.model import OPEN, Action, Problem, TypeHierarchy, Variable
from planner.model.object_names import find_term, object_name, protect_quoted
from planner.plan import Plan, Step

_NAMES: Final = (
    "action",
    "actionName",
    "action_name",
    "name",
    "tool",
    "tool_name",
    "function",
    "step",
    "operator",
    "task",
)
_ARGUMENTS: Final = ("arguments", "args", "parameters", "params", "input", "inputs", "tool_input", "kwargs", "objects")
_LISTS: Final = ("steps", "plan", "actions", "tool_calls", "calls", "tasks")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]\s+|(?:step\s*)?\d+\s*[.):]\s*)*", re.IGNORECASE)
"""Bullets and numbers before a step."""
_CALL: Final = re.compile(r"^([^()]*[^()\s])\s*\((.*)\)\s*;?$", re.DOTALL)
"""A name, which may have spaces, and arguments."""
_LISP: Final = re.compile(r"^\(\s*([^()]*?)\s*\)$")
_FENCE: Final = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_TIMED: Final = re.compile(r"^\s*\d+(?:\.\d+)?\s*:\s*(\(.*\))\s*(?:\[[^\]]*\]\s*)?$")
"""A step between its start and its duration."""
_TREE: Final = "==>"
"""The line before the numbered steps of a decomposition, which end at the line of its root."""
_NAMED: Final = re.compile(r"\w+\s*=(?!=)")
MOST: Final = 10_000
"""Most steps of one plan."""
DEEPEST: Final = 20


@dataclass(frozen=True, slots=True)
class Call:
    """A step as written: its name, its arguments in order and by name, and its text."""

    name: str
    positional: tuple[str, ...] = ()
    named: Mapping[str, Any] | None = None
    text: str = ""


def read_calls(given: Any) -> list[Call]:
    """Read the steps in `given`; raises `PlanError` for any other form."""
    found: list[Call] = []
    for call in _read_calls(given, 0):
        found.append(call)
        if len(found) > MOST:
            raise PlanError(f"a plan of more than {MOST:,} steps")
    return found


def _read_calls(given: Any, depth: int) -> Iterator[Call]:
    if depth > DEEPEST:
        raise PlanError("a plan that is nested too deeply")
    match given:
        case Plan():
            yield from _read_calls(given.steps, depth)
        case Step():
            yield Call(given.action, given.arguments, text=str(given))
        case str():
            yield from _read_text(given, depth)
        case Mapping():
            yield from _read_mapping(given, depth)
        case Sequence():
            for each in given:
                yield from _read_calls(each, depth + 1)
        case _:
            hint = "such as 'move(r2, lab)' or {'action': …, 'arguments': …}"
            raise PlanError(f"{_shorten(given)} is no step", hint=hint)


def _read_text(text: str, depth: int) -> Iterator[Call]:
    fenced = _FENCE.search(text)
    stripped = (fenced[1] if fenced else text).strip()
    if stripped[:1] in ("{", "["):
        try:
            data = json.loads(stripped)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"no plan in JSON: {error}") from None
        yield from _read_calls(data, depth + 1)
        return
    for line in _list_plain_lines(stripped):
        said = line.partition(";")[0] if line.lstrip().startswith((";", "(")) else line
        bare = _BULLET.sub("", said.strip().strip("`")).strip()
        if bare and not bare.startswith("#") and not bare.endswith(":"):
            yield _read_line(bare)


def has_times_or_tree(text: str) -> bool:
    """Return whether `text` writes steps with their times, or a decomposition."""
    return any(_TIMED.match(line) or line.strip() == _TREE for line in text.splitlines())


def _list_plain_lines(text: str) -> Iterator[str]:
    """Yield the lines of `text` that may be steps, without times, and without the numbers of a decomposition."""
    lines = text.splitlines()
    begin = next((place for place, line in enumerate(lines, start=1) if line.strip() == _TREE), None)
    if begin is None:
        yield from [_TIMED.sub(r"\1", line) for line in lines]
        return
    for line in lines[begin:]:
        number, _, step = line.strip().partition(" ")
        if number == "root":
            return
        if number.isdigit():
            yield step


def _read_line(line: str) -> Call:
    """Read the call on `line`; names in quotes are whole, whatever signs they have."""
    plain, terms = protect_quoted(line)
    call = _read_plain_line(plain)
    if not terms:
        return call
    named = None if call.named is None else {key: terms.get(each, each) for key, each in call.named.items()}
    return replace(call, positional=tuple([terms.get(each, each) for each in call.positional]), named=named, text=line)


def _read_plain_line(line: str) -> Call:
    found = _CALL.match(line)
    if found:
        given = [each.strip() for each in found[2].split(",") if each.strip()]
        if given and all(map(_NAMED.match, given)):
            named = dict(each.split("=", 1) for each in given)
            return Call(
                found[1], named={key.strip(): _strip_argument(value) for key, value in named.items()}, text=line
            )
        return Call(found[1], tuple(filter(None, map(_strip_argument, given))), text=line)
    found = _LISP.match(line)
    words = (found[1] if found else line.replace(",", " ").replace(":", " ", 1)).split()
    return Call(words[0], tuple(words[1:]), text=line) if words else Call(line, text=line)


def _strip_argument(argument: str) -> str:
    """Strip quotes and a parameter name from an argument."""
    return argument.rpartition("=")[2].strip().strip("'\"")


def _read_mapping(given: Mapping[Any, Any], depth: int) -> Iterator[Call]:
    name = next((given[key] for key in _NAMES if isinstance(given.get(key), str)), None)
    if name is None:
        inner = next((given[key] for key in (*_LISTS, "function", "params") if given.get(key) is not None), None)
        if inner is None:
            hint = f"name it by {', '.join(_NAMES[:3])}, its arguments by {', '.join(_ARGUMENTS[:3])}"
            raise PlanError(f"{_shorten(dict(given))} names no action", hint=hint)
        yield from _read_calls(inner, depth + 1)
        return
    arguments = next((given[key] for key in _ARGUMENTS if given.get(key) is not None), None)
    if arguments is None and "(" in name:
        yield from _read_text(name, depth)
        return
    yield _make_call(name, _decode_arguments(arguments), _shorten(dict(given)))


def _decode_arguments(arguments: Any) -> Any:
    """Parse arguments that are JSON as text."""
    if isinstance(arguments, str) and arguments.strip()[:1] in ("{", "["):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def _make_call(name: str, arguments: Any, text: str) -> Call:
    match arguments:
        case None:
            return Call(name, text=text)
        case Mapping():
            return Call(name, named={str(key): value for key, value in arguments.items()}, text=text)
        case str():
            return Call(name, tuple(filter(None, map(_strip_argument, arguments.split(",")))), text=text)
        case Sequence():
            return Call(name, tuple(map(str, arguments)), text=text)
    return Call(name, (str(arguments),), text=text)


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:120]}…"


MOST_WAYS: Final = 20
"""Most ways to match arguments by type that are considered."""


@dataclass(frozen=True, slots=True)
class ForeignStep:
    """A step as written (`text`), and the resolved `step`; `wrong` says why it cannot be resolved.

    `data` are its values for data parameters. If arguments are missing, `ways` are the possible matches of the given
    ones, with open arguments in place of the missing ones; `is_completed`: the state of the plan has determined these.
    """

    text: str
    step: Step
    wrong: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    ways: tuple[tuple[str, ...], ...] = ()
    is_completed: bool = False


def resolve_calls(problem: Problem, calls: Iterable[Call]) -> list[ForeignStep]:
    """Resolve the actions and objects of `calls` in `problem`; what a step creates is known to those after it."""
    names, found = _Names(problem), list[ForeignStep]()
    for call in calls:
        found.append(_resolve_call(problem, call, names))
        names.add_created(problem, found[-1].step)
    return found


class _Names:
    """The objects of a problem, by folded name, with their types."""

    def __init__(self, problem: Problem) -> None:
        self.types = {each.name: each.types for each in problem.all_objects}
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._by_name: dict[str, list[str]] = {}
        for name in self.types:
            self._add(name)

    def _add(self, name: str) -> None:
        self._by_name.setdefault(fold_name(object_name(name)), []).append(name)

    def add_created(self, problem: Problem, step: Step) -> None:
        """Add the objects that `step` creates, where it names them."""
        action = problem.domain.actions.get(step.action)
        if action is not None and action.creates and len(step.arguments) == len(action.step_parameters):
            for name, kind in zip(action.created_arguments(step.arguments), action.creates.values(), strict=True):
                if name not in self.types and name != OPEN:
                    self.types[name] = (kind,)
                    self._add(name)

    def find_name(self, value: Any, types: Sequence[str] = ()) -> str:
        """Return the term of the object of `types` that a text, or a mapping with a name, names."""
        if isinstance(value, Mapping):
            value = next((value[key] for key in ("name", "id") if isinstance(value.get(key), str)), value)
        name = find_term(str(value), self.types, types)
        if name in self.types:
            return name
        found = self._by_name.get(fold_name(name), [])
        return name if len(found) != 1 else found[0]

    def fits(self, name: str, parameter: Variable) -> bool:
        """Return whether the object `name` fits the type of `parameter`."""
        return name in self.types and self._hierarchy.is_a(self.types[name], parameter.types)


def _resolve_call(problem: Problem, call: Call, names: _Names) -> ForeignStep:
    try:
        action = resolve_action(problem.domain, call.name)
    except InputError as error:
        return ForeignStep(call.text or call.name, Step(call.name, call.positional), str(error))
    if call.named is None:
        return _resolve_positional(action, call, names)
    return _resolve_named(action, call, call.named, names)


def _resolve_positional(action: Action, call: Call, names: _Names) -> ForeignStep:
    parameters = action.step_parameters
    places = [*[each.types for each in parameters], *[()] * len(call.positional)]
    is_whole = len(call.positional) == len(parameters)
    pairs = zip(call.positional, places, strict=False)
    given = [names.find_name(each, types if is_whole else ()) for each, types in pairs]
    step = Step(action.name, tuple(given))
    if len(given) == len(parameters):
        return ForeignStep(call.text, step, _find_unknown(action, given, names))
    wrong = f"{action.signature} takes {len(parameters)} arguments, not {len(given)}"
    ways = () if action.creates or len(given) > len(parameters) else tuple(_match_in_order(given, parameters, names))
    return ForeignStep(call.text, step, _find_unknown(action, given, names) or wrong, ways=ways)


def _match_in_order(given: Sequence[str], parameters: Sequence[Variable], names: _Names) -> Iterator[tuple[str, ...]]:
    """Yield the ways to match the objects `given`, in order, with some of `parameters`."""
    ways = 0
    for places in combinations(range(len(parameters)), len(given)):
        if all(names.fits(each, parameters[place]) for each, place in zip(given, places, strict=True)):
            found = dict(zip(places, given, strict=True))
            yield tuple([found.get(place, OPEN) for place in range(len(parameters))])
            ways += 1
        if ways >= MOST_WAYS:
            return


def _resolve_named(action: Action, call: Call, named: Mapping[str, Any], names: _Names) -> ForeignStep:
    parameters = {fold_name(each.name.removeprefix("?")): each for each in action.step_parameters}
    data = {fold_name(each.name): each.name for each in action.data}
    by_name = {fold_name(key): value for key, value in named.items()}
    found = {key: names.find_name(by_name[key], each.types) for key, each in parameters.items() if key in by_name}
    _match_by_type(
        {key: names.find_name(each) for key, each in by_name.items() if key not in data}, parameters, found, names
    )
    arguments = tuple([found.get(key, OPEN) for key in parameters])
    lacking = [each.name.removeprefix("?") for key, each in parameters.items() if key not in found]
    wrong = _find_unknown(action, list(found.values()), names)
    values = {data[key]: value for key, value in by_name.items() if key in data}
    if not lacking:
        return ForeignStep(call.text, Step(action.name, arguments), wrong, values)
    lacks = f"{action.signature} lacks {', '.join(lacking)}"
    ways = () if action.creates or wrong else (arguments,)
    return ForeignStep(call.text, Step(action.name, arguments), wrong or lacks, values, ways)


def _match_by_type(
    given: Mapping[str, str], parameters: Mapping[str, Variable], found: dict[str, str], names: _Names
) -> None:
    """Add arguments with undeclared names to `found`, where only one remaining parameter fits."""
    for key, name in given.items():
        if key not in parameters:
            left = [each for each, parameter in parameters.items() if each not in found and names.fits(name, parameter)]
            if len(left) == 1:
                found[left[0]] = name


def _find_unknown(action: Action, given: Iterable[str], names: _Names) -> str:
    """Describe the first of `given` that is no object; "" if there is none or the action creates objects."""
    unknown = next((each for each in given if each not in names.types), None)
    if unknown is None or action.creates:
        return ""
    near = did_you_mean(unknown, names.types)
    return f"there is no object {unknown!r}{f'; {near}' if near else ''}"
