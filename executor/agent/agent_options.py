"""Checks of the options of agents and rooms."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from executor.agent.goal_reading.confirmed_readings import Readings
from executor.agent.proposals import Proposal
from executor.arguments import Kinds, check_kinds
from executor.language_model.protocol import Allowance, LanguageModel, Part
from executor.run import RunOutcome
from planner.model import Problem
from planner.reuse.plan_cache import PlanCache
from planner.reuse.templates import Template


def _is_model(value: Any) -> bool:
    return value is None or (isinstance(value, LanguageModel) and not isinstance(value, type))


def _is_file_or(*kinds: type[Any]) -> Callable[[Any], bool]:
    return lambda value: value is None or (isinstance(value, (str, Path, *kinds)) and value != "")


def _are(kind: type[Any]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(each, kind) for each in value)
    )


def _are_templates(value: Any) -> bool:
    return value is not None and (_is_file_or()(value) or _are(Template)(value))


_KINDS: Final[Kinds] = {
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
    "open_types": (_are(str), "several names of types", "such as open_types=['Topic']"),
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
        "a whole number",
        "such as priority=5; a higher number is more urgent",
    ),
    "waived": (lambda value: isinstance(value, bool), "True or False", "True: nobody is asked whether goals are meant"),
    "context": (_are(Part), "several parts of a request", "such as context=[Part('What the user is like', text)]"),
    "tell": (callable, "a function of an event", "such as tell=print"),
    "proposal": (lambda value: isinstance(value, Proposal), "a proposal", "such as await agent.plan(request)"),
    "outcome": (lambda value: isinstance(value, RunOutcome), "the outcome of a run", "such as achieved.outcome"),
}


def check_given(**given: Any) -> None:
    """Raise `InputError` for an invalid option."""
    check_kinds(_KINDS, given)
