"""Which service refuses which construct: the table of `planner.model.constructs` against what happens, and the docs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from htn.language.declare import Methods
from htn.model import HtnProblem
from planner import Domain, Outcome, Status, at_most, candidates, decide, done, lab, solve
from planner.errors import UnsupportedError
from planner.model.constructs import REFUSED_BY, REFUSED_IN_TIME, REFUSED_WITH_TASKS, Construct, Service, has
from planner.model.problem import NumericMetric, Problem
from planner.model.timing import TOTAL_TIME
from planner.problem_kinds import with_sealed_classical
from planner.questions.notation import start_whole_in
from planner.repair.mending import mend
from planner.repair.patching import patch
from planner.repair.undoing import undo
from planner.unified_planning.conversion import to_unified_planning
from planner.unified_planning.problem_writer import refuse

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "what-takes-what.md"


def make_door(**more: Any) -> Problem:
    """Return a problem of two steps, with `more` in it."""
    domain = Domain("door")
    domain.action("open", provides=["is_open"])
    domain.action("enter", requires=["is_open"], provides=["inside"])
    return domain.problem(**{"goal": ["inside"], **more})


def make_changes() -> Problem:
    domain = Domain("hall", types=["room"])
    domain.action("go", {"to": "room"}, requires=["lit(to)"], provides=["at(to)"], modifies=["at(_)"])
    return domain.problem(objects={"lab": "room"}, initial=["lit(lab)"], goal=["at(lab)"])


def make_budgets() -> Problem:
    domain = Domain("door")
    domain.action("open", provides=["is_open"], uses={"ink": 1})
    return domain.problem(goal=["is_open"], budgets={"ink": 5})


def make_creation() -> Problem:
    domain = Domain("office", types=["ticket"])
    domain.action("file", creates={"t": "ticket"}, provides=["filed(t)"])
    return domain.problem(goal=["(exists (?t - ticket) (filed ?t))"])


def make_outcomes() -> Problem:
    domain = Domain("door")
    domain.action("open", provides=["is_open"], outcomes=[Outcome("0.9", ["is_open"]), Outcome("0.1", ["stuck"])])
    return domain.problem(goal=["is_open"])


def make_unknown_numbers() -> Problem:
    domain = Domain("till")
    domain.function("amount")
    domain.action("read", senses=["amount"])
    domain.action("pay", requires=["amount <= 5"], provides=["paid"])
    return domain.problem(goal=["paid"], unknown=["amount"], values={"amount": 3})


def make_lasting() -> Problem:
    domain = Domain("door")
    domain.action("open", provides=["is_open"], duration=2)
    return domain.problem(goal=["is_open"], deadline=9)


PROBLEMS: dict[Construct, Callable[[], Problem]] = {
    Construct.CHANGES: make_changes,
    Construct.CREATION: make_creation,
    Construct.OUTCOMES: make_outcomes,
    Construct.UNKNOWN: lambda: make_door(unknown=["is_open"]),
    Construct.UNKNOWN_NUMBERS: make_unknown_numbers,
    Construct.SOFT_GOALS: lambda: make_door(goal={"hard": "inside", "soft": {"is_open": 2}}),
    Construct.SOFT_CONSTRAINTS: lambda: make_door(constraints=[replace(at_most(1, done("open")), utility=2)]),
    Construct.CONSTRAINTS: lambda: make_door(constraints=[at_most(1, done("open"))]),
    Construct.BUDGETS: make_budgets,
    Construct.DEADLINE: make_lasting,
}


SERVICES: dict[Service, Callable[[Problem], Any]] = {
    Service.PLAIN_SEARCH: lambda problem: solve(problem, search="astar", plain=True),
    Service.TIME: lambda problem: solve(replace(problem, metric=NumericMetric(TOTAL_TIME)), time_limit=20),
    Service.CANDIDATES: candidates,
    Service.POLICIES: decide,
    Service.QUESTIONS: lambda problem: start_whole_in(problem, None, "simplify"),
    Service.GROUND: lab.ground,
    Service.PATCHES: lambda problem: patch(problem, []),
    Service.MENDING: lambda problem: mend(problem, []),
    Service.UNDOING: lambda problem: undo(problem, (), ()),
    Service.UNIFIED_PLANNING: refuse,
}
WITHIN = {Service.SEARCH, Service.TASK_TIME, Service.TASK_SEARCH}
"""Services that get problems from which constructs were compiled away before, or tasks."""


def is_refused(service: Service, problem: Problem) -> bool:
    """Return whether `service` refuses `problem` by name."""
    try:
        found = SERVICES[service](problem)
    except UnsupportedError as error:
        return bool(error.construct)
    return getattr(found, "status", None) is Status.UNSUPPORTED


def test_every_construct_and_service_is_here() -> None:
    assert set(PROBLEMS) == set(Construct)
    assert set(SERVICES) | WITHIN == set(Service) == set(REFUSED_BY)


@pytest.mark.parametrize("construct", Construct)
def test_problems_have_their_construct(construct: Construct) -> None:
    assert has(PROBLEMS[construct](), construct)


@pytest.mark.parametrize("construct", Construct)
def test_solving_takes_every_construct(construct: Construct) -> None:
    assert solve(PROBLEMS[construct](), time_limit=20).has_plan


@pytest.mark.parametrize("construct", Construct)
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_refuses_what_the_table_says(service: Service, construct: Construct) -> None:
    problem = PROBLEMS[construct]()
    others = [each for each in Construct if each in REFUSED_BY[service] and has(problem, each)]
    assert is_refused(service, problem) == bool(others)


def add_time(problem: Problem) -> Problem:
    return replace(problem, metric=NumericMetric(TOTAL_TIME))


def add_tasks(problem: Problem) -> HtnProblem:
    return with_sealed_classical(Methods(problem.domain).problem(tasks=[]), problem)


@pytest.mark.parametrize(("add", "table"), [(add_time, REFUSED_IN_TIME), (add_tasks, REFUSED_WITH_TASKS)])
@pytest.mark.parametrize("construct", [each for each in Construct if each not in REFUSED_BY[Service.UNIFIED_PLANNING]])
def test_unified_planning_in_time_and_with_tasks(construct: Construct, add: Any, table: Any) -> None:
    problem = PROBLEMS[construct]()
    to_unified_planning(problem)
    refused = construct in table[Service.UNIFIED_PLANNING]
    with pytest.raises(UnsupportedError, match=r"documents say it") if refused else nullcontext():
        to_unified_planning(add(problem))


def mark(service: Service, construct: Construct) -> str:
    if construct in REFUSED_BY[service]:
        return "refused"
    beside = {"in time": REFUSED_IN_TIME, "with tasks": REFUSED_WITH_TASKS}
    refused = [words for words, table in beside.items() if construct in table.get(service, ())]
    return f"taken, but not {' or '.join(refused)}" if refused else "taken"


def make_table() -> str:
    """Return the table of the page."""
    lines = ["| | " + " | ".join(each.value for each in SERVICES) + " |", "|---|" + "---|" * len(SERVICES)]
    for construct in Construct:
        marks = [mark(service, construct) for service in SERVICES]
        lines.append(f"| {construct.value} | {' | '.join(marks)} |")
    return "\n".join(lines)


def test_the_page_has_the_table() -> None:
    assert make_table() in PAGE.read_text(encoding="utf-8")
