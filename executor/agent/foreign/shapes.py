"""The forms in which frameworks and models write steps: lists of calls, tool calls, lines of text.

Read are mappings that name an action (`action`, `name`, `tool`, …) and its arguments (`arguments`, `args`, `input`, …,
as a list, a mapping, or JSON text), as OpenAI, LangChain, MCP and others write tool calls; texts such as
`move(r2, lab)`, `move(robot=r2, target=lab)`, `(move r2 lab)` or `3. move r2 lab`; and lists of these, also below a key
such as `steps` or `plan`. Of a text with a fence (three backquotes), what is inside is read; headings are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.errors import PlanError
from planner.plan import Plan, Step
from planner.records import dataclass

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
_MARK: Final = re.compile(r"^\s*(?:[-*•]\s+|(?:step\s*)?\d+\s*[.):]\s*)*", re.IGNORECASE)
"""Bullets and numbers before a step."""
_CALL: Final = re.compile(r"^([^()]*[^()\s])\s*\((.*)\)\s*;?$", re.DOTALL)
"""A name, which may have spaces, and arguments."""
_LISP: Final = re.compile(r"^\(\s*([^()]*?)\s*\)$")
_FENCE: Final = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_NAMED: Final = re.compile(r"\w+\s*=(?!=)")
MOST: Final = 10_000
"""Steps of one plan."""
DEEPEST: Final = 20


@dataclass(frozen=True, slots=True)
class Call:
    """A step as it was written: its name, its arguments in order and by name, and its text."""

    name: str
    positional: tuple[str, ...] = ()
    named: Mapping[str, Any] | None = None
    text: str = ""


def calls_in(given: Any) -> list[Call]:
    """Return the steps that `given` writes; raises `PlanError` for what is none of the forms."""
    found: list[Call] = []
    for call in _calls(given, 0):
        found.append(call)
        if len(found) > MOST:
            raise PlanError(f"a plan of more than {MOST:,} steps")
    return found


def _calls(given: Any, depth: int) -> Iterator[Call]:
    if depth > DEEPEST:
        raise PlanError("a plan that is nested too deeply")
    match given:
        case Plan():
            yield from _calls(given.steps, depth)
        case Step():
            yield Call(given.action, given.arguments, text=str(given))
        case str():
            yield from _from_text(given, depth)
        case Mapping():
            yield from _from_mapping(given, depth)
        case Sequence():
            for each in given:
                yield from _calls(each, depth + 1)
        case _:
            hint = "such as 'move(r2, lab)' or {'action': …, 'arguments': …}"
            raise PlanError(f"{_shown(given)} is no step", hint=hint)


def _from_text(text: str, depth: int) -> Iterator[Call]:
    fenced = _FENCE.search(text)
    stripped = (fenced[1] if fenced else text).strip()
    if stripped[:1] in ("{", "["):
        try:
            data = json.loads(stripped)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"no plan in JSON: {error}") from None
        yield from _calls(data, depth + 1)
        return
    for line in stripped.splitlines():
        said = line.partition(";")[0] if line.lstrip().startswith((";", "(")) else line
        bare = _MARK.sub("", said.strip().strip("`")).strip()
        if bare and not bare.startswith("#") and not bare.endswith(":"):
            yield _from_line(bare)


def _from_line(line: str) -> Call:
    found = _CALL.match(line)
    if found:
        given = [each.strip() for each in found[2].split(",") if each.strip()]
        if given and all(map(_NAMED.match, given)):
            named = dict(each.split("=", 1) for each in given)
            return Call(found[1], named={key.strip(): _bare(value) for key, value in named.items()}, text=line)
        return Call(found[1], tuple(filter(None, map(_bare, given))), text=line)
    found = _LISP.match(line)
    words = (found[1] if found else line.replace(",", " ").replace(":", " ", 1)).split()
    return Call(words[0], tuple(words[1:]), text=line) if words else Call(line, text=line)


def _bare(argument: str) -> str:
    """Return an argument without quotes, and without the name that it may be given by."""
    return argument.rpartition("=")[2].strip().strip("'\"")


def _from_mapping(given: Mapping[Any, Any], depth: int) -> Iterator[Call]:
    name = next((given[key] for key in _NAMES if isinstance(given.get(key), str)), None)
    if name is None:
        inner = next((given[key] for key in (*_LISTS, "function", "params") if given.get(key) is not None), None)
        if inner is None:
            hint = f"name it by {', '.join(_NAMES[:3])}, its arguments by {', '.join(_ARGUMENTS[:3])}"
            raise PlanError(f"{_shown(dict(given))} names no action", hint=hint)
        yield from _calls(inner, depth + 1)
        return
    arguments = next((given[key] for key in _ARGUMENTS if given.get(key) is not None), None)
    if arguments is None and "(" in name:
        yield from _from_text(name, depth)
        return
    yield _with_arguments(name, _read(arguments), _shown(dict(given)))


def _read(arguments: Any) -> Any:
    """Return arguments that may be JSON as text."""
    if isinstance(arguments, str) and arguments.strip()[:1] in ("{", "["):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def _with_arguments(name: str, arguments: Any, text: str) -> Call:
    match arguments:
        case None:
            return Call(name, text=text)
        case Mapping():
            return Call(name, named={str(key): value for key, value in arguments.items()}, text=text)
        case str():
            return Call(name, tuple(filter(None, map(_bare, arguments.split(",")))), text=text)
        case Sequence():
            return Call(name, tuple(map(str, arguments)), text=text)
    return Call(name, (str(arguments),), text=text)


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:120]}…"
