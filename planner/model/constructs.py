"""Constructs, which are what problems may have beyond facts, actions and a goal; and which service refuses which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType

from planner.errors import UnsupportedError
from planner.lightweight import Final
from planner.model.domain import creates_objects, declares_changes, uncertain_actions
from planner.model.problem import Problem
from planner.model.unknown_numbers import find_unread


class Construct(Enum):
    """A construct of problems, by the words with which a refusal names it."""

    CHANGES = "'modifies', 'stale_with' and 'after'"
    CREATION = "actions that create objects"
    OUTCOMES = "actions with several outcomes"
    UNKNOWN = "unknown facts"
    UNKNOWN_NUMBERS = "unknown numbers"
    SOFT_GOALS = "soft goals"
    SOFT_CONSTRAINTS = "soft constraints"
    CONSTRAINTS = "constraints"
    BUDGETS = "budgets"
    DEADLINE = "deadlines"


CONSTRAINED: Final = (Construct.CONSTRAINTS, Construct.SOFT_CONSTRAINTS)
"""Constraints of both kinds."""
WISHES: Final = (Construct.SOFT_GOALS, Construct.SOFT_CONSTRAINTS)
"""What plans may forgo."""
_TESTS: Final[Mapping[Construct, Callable[[Problem], bool]]] = MappingProxyType(
    {
        Construct.CHANGES: lambda problem: bool(problem.ran) or declares_changes(problem.domain),
        Construct.CREATION: lambda problem: creates_objects(problem.domain),
        Construct.OUTCOMES: lambda problem: bool(uncertain_actions(problem.domain)),
        Construct.UNKNOWN: lambda problem: bool(problem.unknown),
        Construct.UNKNOWN_NUMBERS: lambda problem: bool(find_unread(problem)),
        Construct.SOFT_GOALS: lambda problem: bool(problem.goal.soft),
        Construct.SOFT_CONSTRAINTS: lambda problem: any(each.utility is not None for each in problem.constraints),
        Construct.CONSTRAINTS: lambda problem: any(each.utility is None for each in problem.constraints),
        Construct.BUDGETS: lambda problem: bool(problem.budgets),
        Construct.DEADLINE: lambda problem: problem.deadline is not None,
    }
)


def has(problem: Problem, *constructs: Construct) -> bool:
    """Return whether `problem` has one of the `constructs`."""
    return any(_TESTS[each](problem) for each in constructs)


class Service(Enum):
    """Something that takes problems, by the words with which its refusals name it."""

    SEARCH = "search"
    PLAIN_SEARCH = "plain search"
    TIME = "plans in time"
    TASK_TIME = "plans of tasks in time"
    TASK_SEARCH = "search for decompositions"
    CANDIDATES = "candidates"
    POLICIES = "policies"
    QUESTIONS = "questions about all states"
    GROUND = "a ground problem"
    PATCHES = "patches"
    MENDING = "mending"
    UNDOING = "undoing"
    UNIFIED_PLANNING = "unified-planning"


_WHOLE: Final = frozenset(
    [Construct.UNKNOWN, Construct.SOFT_GOALS, Construct.SOFT_CONSTRAINTS, Construct.BUDGETS, Construct.DEADLINE]
)
"""What no search takes by itself: passes compile it away, or searches of their own keep it."""
REFUSED_BY: Final[Mapping[Service, frozenset[Construct]]] = MappingProxyType(
    {
        Service.SEARCH: _WHOLE.difference([Construct.BUDGETS, Construct.DEADLINE]),
        Service.PLAIN_SEARCH: frozenset(
            [Construct.CREATION, Construct.UNKNOWN, Construct.UNKNOWN_NUMBERS, Construct.BUDGETS, Construct.DEADLINE]
        ),
        Service.TIME: frozenset(),
        Service.TASK_TIME: frozenset([Construct.CREATION]),
        Service.TASK_SEARCH: _WHOLE.difference([Construct.UNKNOWN, Construct.BUDGETS]),
        Service.CANDIDATES: frozenset(),
        Service.POLICIES: frozenset([Construct.UNKNOWN_NUMBERS]),
        Service.QUESTIONS: frozenset(
            [Construct.CREATION, Construct.OUTCOMES, Construct.UNKNOWN, Construct.UNKNOWN_NUMBERS]
        ),
        Service.GROUND: _WHOLE.union([Construct.CREATION, Construct.UNKNOWN_NUMBERS]),
        Service.PATCHES: frozenset(),
        Service.MENDING: frozenset(),
        Service.UNDOING: frozenset([Construct.UNKNOWN]),
        Service.UNIFIED_PLANNING: frozenset(
            [
                Construct.CREATION,
                Construct.OUTCOMES,
                Construct.UNKNOWN,
                Construct.UNKNOWN_NUMBERS,
                Construct.DEADLINE,
            ]
        ),
    }
)
"""The constructs that each service refuses where nothing else makes them go away before."""


REFUSED_IN_TIME: Final[Mapping[Service, frozenset[Construct]]] = MappingProxyType(
    {Service.UNIFIED_PLANNING: frozenset([*WISHES, Construct.CONSTRAINTS])}
)
REFUSED_WITH_TASKS: Final[Mapping[Service, frozenset[Construct]]] = MappingProxyType(
    {Service.UNIFIED_PLANNING: frozenset(WISHES)}
)
"""The constructs that a service takes in sequences for a goal, and refuses in time, or with tasks."""


def find_refused(problem: Problem, service: Service) -> list[Construct]:
    """Return the constructs of `problem` that `service` refuses, in the order of `Construct`."""
    return [each for each in Construct if each in REFUSED_BY[service] and has(problem, each)]


def name_refused(problem: Problem, service: Service) -> list[str]:
    """Return the words for what `find_refused` returns."""
    return [each.value for each in find_refused(problem, service)]


_WAYS: Final[Mapping[Service, str]] = MappingProxyType(
    {
        Service.QUESTIONS: "'applicable' and 'progress' take them; a `state` (what holds) settles the unknown",
        Service.TASK_TIME: "declare the objects, each with a fact such as 'unused(t)' that its step requires and ends",
        Service.GROUND: "solve(…) takes them, one by one",
        Service.UNIFIED_PLANNING: "solve(…) takes it, and YAML and JSON documents say it (--to yaml)",
    }
)
"""Ways round what services refuse."""


def way_round(service: Service) -> str:
    """Return what takes what `service` refuses; "" where nothing is known to."""
    return _WAYS.get(service, "")


def refuse(problem: Problem, service: Service) -> None:
    """Raise `UnsupportedError`, with a way round, if `problem` has constructs that `service` does not take."""
    named = name_refused(problem, service)
    if named:
        raise UnsupportedError(f"{', '.join(named)} in {service.value}", way_round(service))
