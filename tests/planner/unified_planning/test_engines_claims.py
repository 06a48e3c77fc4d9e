"""What an engine says is taken no further than it holds."""

from __future__ import annotations

import pytest

from planner.errors import EngineError
from planner.model import Action, Atom, DomainModel, Goal, Metric, Predicate, Problem
from planner.plan import Statistics, Status, Step, StoppedBy
from planner.unified_planning.foreign_engines import check_answer, unknown_engine_error
from planner.unified_planning.jobs import Answer, EngineOutcome

PLAN = (Step("dear"),)


def problem(*, cheap: int = 1, dear: int = 5, metric: Metric = Metric.COST) -> Problem:
    """Two ways to the goal."""
    actions = {
        name: Action(name, provides=(Atom("done"),), cost=(cost,)) for name, cost in (("cheap", cheap), ("dear", dear))
    }
    domain = DomainModel("d", predicates={"done": Predicate("done")}, actions=actions)
    return Problem("p", domain, goal=Goal(Atom("done")), metric=metric)


def answer(status: str, steps: tuple[Step, ...] | None = None, **traits: bool) -> Answer:
    return Answer(EngineOutcome.FINISHED, status, steps, **traits)


@pytest.mark.parametrize(
    ("source", "traits", "status"),
    [
        (problem(), {"proves": True, "sees_costs": True}, Status.OPTIMAL),
        (problem(), {"proves": True, "sees_costs": False}, Status.SOLVED),
        (problem(), {"proves": False, "sees_costs": True}, Status.SOLVED),
        (problem(cheap=5), {"proves": True, "sees_costs": False}, Status.OPTIMAL),
        (problem(metric=Metric.LENGTH), {"proves": True, "sees_costs": False}, Status.OPTIMAL),
        (problem(dear=0), {"proves": False, "sees_costs": False}, Status.OPTIMAL),
    ],
)
def test_optimal_needs_a_guarantee_and_the_costs(source: Problem, traits: dict[str, bool], status: Status) -> None:
    result = check_answer(source, "somebody", answer("SOLVED_OPTIMALLY", PLAN, **traits), Statistics())
    assert result.status is status
    assert result.cost == (1 if source.metric is Metric.LENGTH else source.domain.actions["dear"].cost[0])
    assert result.lower_bound == (result.cost if status is Status.OPTIMAL else None)
    assert result.stopped_by is (StoppedBy.EXHAUSTED if status is Status.OPTIMAL else StoppedBy.FIRST_PLAN)


def test_a_satisficing_plan_is_no_more() -> None:
    result = check_answer(
        problem(), "x", answer("SOLVED_SATISFICING", PLAN, proves=True, sees_costs=True), Statistics()
    )
    assert (result.status, result.lower_bound) == (Status.SOLVED, None)


@pytest.mark.parametrize(
    ("engine", "status", "expected", "stopped_by"),
    [
        ("fast-downward", "UNSOLVABLE_PROVEN", Status.UNSOLVABLE, StoppedBy.EXHAUSTED),
        ("fast-downward", "UNSOLVABLE_INCOMPLETELY", Status.UNKNOWN, StoppedBy.INCOMPLETE),
        ("somebody", "UNSOLVABLE_PROVEN", Status.UNKNOWN, StoppedBy.INCOMPLETE),
        ("somebody", "TIMEOUT", Status.UNKNOWN, StoppedBy.TIME),
        ("somebody", "MEMOUT", Status.UNKNOWN, StoppedBy.MEMORY),
        ("somebody", "UNSUPPORTED_PROBLEM", Status.UNSUPPORTED, StoppedBy.INCOMPLETE),
    ],
)
def test_no_plan(engine: str, status: str, expected: Status, stopped_by: StoppedBy) -> None:
    result = check_answer(problem(), engine, answer(status), Statistics())
    assert (result.status, result.stopped_by, result.plan) == (expected, stopped_by, None)


def test_a_plan_that_a_limit_left_over_counts() -> None:
    result = check_answer(problem(), "x", answer("TIMEOUT", PLAN, proves=True, sees_costs=True), Statistics())
    assert (result.status, result.stopped_by, result.cost) == (Status.SOLVED, StoppedBy.TIME, 5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (answer("SOLVED_OPTIMALLY", ()), "liar gave an invalid plan: at the end, the goal requires done"),
        (answer("SOLVED_OPTIMALLY", (Step("deer"),)), "no action is called 'deer'; did you mean 'dear'"),
        (answer("INTERNAL_ERROR"), r"liar failed \(internal error\)"),
        (answer("SOLVED_SATISFICING"), r"liar failed \(solved satisficing\)"),
    ],
)
def test_what_cannot_be_is_an_error(given: Answer, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        check_answer(problem(), "liar", given, Statistics())


def test_unknown_names() -> None:
    assert str(unknown_engine_error("symk", (), "up-symk")) == "the engine 'symk' is not installed; pip install up-symk"
    assert str(unknown_engine_error("xyz", ("b", "a"), "")) == "there is no engine 'xyz'; installed are: b, a"
    assert str(unknown_engine_error("xyz", (), "")) == "there is no engine 'xyz'; installed are: none"
