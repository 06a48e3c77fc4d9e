"""The forms in which frameworks and models write plans."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.foreign.mistakes import Line, Lines
from planner.declare import resolve_action
from planner.errors import InputError
from planner.model import Problem


def as_text(lines: Lines, _problem: Problem) -> str:
    """Return numbered lines of text."""
    return "\n".join(f"{number}. {name}({', '.join(args)})" for number, (name, args) in enumerate(lines, start=1))


def as_list(lines: Lines, _problem: Problem) -> str:
    """Return JSON, with arguments in their order."""
    return json.dumps({"plan": [{"action": name, "arguments": args} for name, args in lines]})


def as_tool_calls(lines: Lines, problem: Problem) -> dict[str, Any]:
    """Return calls of tools, with arguments by name where the tool is known."""
    calls = [{"name": line[0], "arguments": json.dumps(_arguments(line, problem))} for line in lines]
    return {"tool_calls": [{"type": "function", "function": call} for call in calls]}


def _arguments(line: Line, problem: Problem) -> dict[str, str] | list[str]:
    name, args = line
    try:
        parameters = resolve_action(problem.domain, name).parameters
    except InputError:
        return list(args)
    return {each.name.removeprefix("?"): arg for each, arg in zip(parameters, args, strict=False)}


FORMS: Final[Sequence[Callable[[Lines, Problem], Any]]] = (as_text, as_list, as_tool_calls)
