"""What agents and rooms are given: refused where it is given, if it means nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from executor.agent.reading import Readings
from executor.handle import Outcome
from executor.language.allowance import Allowance
from executor.language.protocol import LanguageModel
from planner.errors import InputError
from planner.model import Problem
from planner.reuse import PlanCache, Template


def _is_model(value: Any) -> bool:
    return value is None or (isinstance(value, LanguageModel) and not isinstance(value, type))


def _is_file_or(*kinds: type[Any]) -> Callable[[Any], bool]:
    return lambda value: value is None or (isinstance(value, (str, Path, *kinds)) and value != "")


def _are_templates(value: Any) -> bool:
    if isinstance(value, str | Path):
        return value != ""
    return isinstance(value, list | tuple) and all(isinstance(each, Template) for each in value)


_PARTS: Final[Mapping[str, tuple[Callable[[Any], bool], str, str]]] = {
    "problem": (
        lambda value: value is None or isinstance(value, Problem),
        "a classical Problem",
        "such as load('assistant', 'one-page'); of a hierarchical one, problem.classical",
    ),
    "model": (_is_model, "a language model, or None", "such as model_of('openai:gpt-5')"),
    "confirm": (
        lambda value: value is None or callable(value),
        "a function of the proposal, or None",
        "lambda _: True confirms everything; waived=True needs nobody",
    ),
    "open_types": (
        lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes),
        "several names of types",
        "such as open_types=['Topic']",
    ),
    "allowance": (
        lambda value: value is None or isinstance(value, Allowance),
        "an Allowance, or None",
        "such as Allowance(tokens=50_000)",
    ),
    "cache": (_is_file_or(PlanCache), "a file, a PlanCache, or None", "such as cache='plans.db'"),
    "templates": (_are_templates, "a file, or several templates", "such as templates='templates.yaml'"),
    "readings": (_is_file_or(Readings), "a file, Readings, or None", "such as readings='plans.db'"),
    "name": (lambda value: isinstance(value, str), "a text", "such as agent.room('hall')"),
    "priority": (
        lambda value: isinstance(value, int) and not isinstance(value, bool),
        "a whole number; the more, the more urgent",
        "such as priority=5",
    ),
    "outcome": (lambda value: isinstance(value, Outcome), "the outcome of a run", "such as achieved.outcome"),
}
"""What may be given under which name, in a function and in words, and a hint."""


def check_given(**given: Any) -> None:
    """Raise `InputError` for what an agent cannot work with."""
    for name, value in given.items():
        fits, what, hint = _PARTS[name]
        if not fits(value):
            raise InputError(f"{name} is {what}, not {value!r}", hint=hint)
