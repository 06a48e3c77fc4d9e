"""Problems with numbers as classical tasks: what is bounded, split and refused, and how the proof comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner import Domain, Problem, When, candidates
from planner.errors import UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.limits import Limits
from planner.plan import Plan
from planner.portfolio import classical_beside_numeric
from planner.search import Ending, Run
from planner.semantics.simulation import price_steps
from planner.task import numbers_as_facts
from planner.task.numbers_as_facts import NumberEnumeration
from planner.task.numeric_invariants import bound_variables
from planner.task.numeric_pricing import price_by_state
from planner.validation.validate import check_steps

LIMITS = Limits(None)


def ferry(guests: int = 2) -> Problem:
    """Return a problem whose number of guests on board is bounded only by the facts who is where."""
    domain = Domain("ferry", types=["guest"])
    domain.function("aboard")
    board, land = ["on(g)", "not ashore(g)"], ["over(g)", "not on(g)"]
    domain.action("board", {"g": "guest"}, requires="ashore(g)", provides=board, modifies="aboard += 1")
    domain.action("land", {"g": "guest"}, requires="on(g)", provides=land, modifies="aboard -= 1")
    domain.action("whistle", requires=f"aboard >= {guests}", provides="whistled")
    names = [f"g{number}" for number in range(guests)]
    return domain.problem(
        objects=dict.fromkeys(names, "guest"),
        initial=["aboard = 0", *[f"ashore({name})" for name in names]],
        goal=["whistled", *[f"over({name})" for name in names]],
    )


def enumerate_numbers(problem: Problem) -> NumberEnumeration:
    numbers = NumberEnumeration(ground_numeric(problem, LIMITS))
    for _ in numbers.steps():
        pass
    return numbers


def prove(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Solve `problem` beside a numeric search that never ends."""

    def wait() -> Iterator[None]:
        while True:
            yield

    monkeypatch.setattr(classical_beside_numeric, "PATIENCE", 0)
    source, run, pricing = ground_numeric(problem, LIMITS), Run(), None
    if not source.is_priced:
        pricing = price_by_state(ground_numeric(problem, LIMITS, with_metric=True))
        assert pricing is not None
        source = pricing.source
    steps = classical_beside_numeric.run_classical_beside(wait(), source, pricing, run, LIMITS)
    endings = []

    def search() -> Iterator[None]:
        endings.append((yield from steps))

    for _ in search():
        pass
    assert endings == [Ending.EXHAUSTED]
    if run.plan is not None:
        plan = Plan(price_steps(problem, [source.task.actions[action].step for action in run.plan]), problem)
        assert check_steps(problem, plan).valid
        assert sum([step.cost for step in plan.steps]) * source.task.resolution == run.limit == run.lower_bound
    return run


def test_facts_bound_a_number_that_no_interval_bounds():
    source = ground_numeric(ferry(), LIMITS)
    (aboard,) = source.variables
    assert (aboard.low, aboard.high) == (None, None)
    (aboard,) = bound_variables(source, [0]).variables
    assert (aboard.low, aboard.high) == (0, 2)


def test_stock_bounds_what_is_taken_from_it():
    domain = Domain("stock")
    for name in ("stock", "tray", "sold"):
        domain.function(name)
    domain.action("take", requires="stock >= 1", modifies=["stock -= 1", "tray += 2"])
    domain.action("sell", requires="tray >= 1", modifies=["tray -= 1", "sold += 1"])
    domain.action("drop", modifies="sold -= 1")
    problem = domain.problem(initial=["stock = 3", "tray = 1", "sold = 0"], goal="sold >= 7")
    source = bound_variables(ground_numeric(problem, LIMITS), range(3))
    found = {each.fluent.predicate: (each.low, each.high) for each in source.variables}
    assert found == {"stock": (0, 3), "tray": (0, 7), "sold": (None, 7)}


def test_each_value_is_a_fact_and_actions_are_split_by_what_they_read():
    numbers = enumerate_numbers(ferry())
    assert numbers.result is not None
    task = numbers.result.task
    assert sorted(str(fact) for fact in task.facts if fact.predicate == "@value") == [
        f"@value(aboard, {count})" for count in range(3)
    ]
    steps = [str(action.step) for action in task.actions]
    assert steps.count("board(g0)") == steps.count("land(g0)") == 2
    assert steps.count("whistle()") == 1


def test_the_proof_comes_back_as_one_of_the_numeric_task(monkeypatch: pytest.MonkeyPatch):
    assert prove(ferry(), monkeypatch).limit == 5


def test_an_unsolvable_problem_is_proved_so(monkeypatch: pytest.MonkeyPatch):
    domain = Domain("parity")
    domain.function("level", low=0, high=9)
    domain.action("raise", modifies="level += 2")
    run = prove(domain.problem(initial=["level = 0"], goal="level == 5"), monkeypatch)
    assert run.plan is None


def test_costs_that_depend_on_numbers_become_costs_of_the_split_actions(monkeypatch: pytest.MonkeyPatch):
    domain = Domain("haul")
    domain.function("load", low=0, high=3)
    domain.function("spent")
    domain.action("load", requires="not away", modifies="load += 1")
    domain.action("drive", provides="away", modifies=["spent += 2 * load + 1"])
    problem = domain.problem(initial=["load = 0", "spent = 0"], goal=["away", "load >= 2"], metric="minimize spent")
    assert prove(problem, monkeypatch).limit == 5


def test_comparisons_of_two_fluents_in_the_goal_are_tested_at_the_end(monkeypatch: pytest.MonkeyPatch):
    domain = Domain("counters")
    for name in ("x", "y", "z"):
        domain.function(name, low=0, high=4)
        domain.action(f"raise-{name}", modifies=f"{name} += 1")
    initial = ["x = 0", "y = 0", "z = 0"]
    problem = domain.problem(initial=initial, goal=["x >= y + 1", "y == 2 * z + 1", "x + z >= 5"])
    run = prove(problem, monkeypatch)
    assert run.limit == 4 + 1 + 0 + 3  # x = 4, y = 3, z = 1
    plan = next(candidates(problem, within=1))
    assert len(plan.steps) == run.limit


def test_a_change_under_a_condition_keeps_the_bounds(monkeypatch: pytest.MonkeyPatch):
    domain = Domain("tank")
    domain.function("water", low=0, high=2)
    domain.action("open", provides="open")
    domain.action("shut", provides="not open")
    domain.action("fill", modifies="water += 1")
    domain.action("ring", provides="rung", when=[When("open", modifies="water -= 1")])
    initial = ["open", "water = 0"]
    assert prove(domain.problem(initial=initial, goal="rung"), monkeypatch).limit == 2
    assert prove(domain.problem(initial=initial, goal=["rung", "water >= 2"]), monkeypatch).limit == 4


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("MOST_VALUES", 2, "aboard takes too many values"),
        ("MOST_ACTIONS", 3, "there are too many combinations of values"),
        ("MOST_COMBINATIONS", 3, "there are too many combinations of values"),
    ],
)
def test_limits_are_named(name: str, value: int, reason: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numbers_as_facts, name, value)
    numbers = enumerate_numbers(ferry())
    assert (numbers.result, numbers.reason) == (None, reason)


def test_a_side_without_few_values_leaves_the_time_to_numeric_search(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(classical_beside_numeric, "PATIENCE", 0)
    domain = Domain("endless")
    domain.function("level")
    domain.action("raise", modifies="level += 1")
    source = ground_numeric(domain.problem(initial=["level = 0"], goal="level >= 5"), LIMITS)

    def count_to_ten() -> Iterator[None]:
        yield from [None] * 10
        return Ending.EXHAUSTED

    steps = classical_beside_numeric.run_classical_beside(count_to_ten(), source, None, Run(), LIMITS)
    assert 10 <= len([*steps]) <= 12


def test_candidates_come_through_the_classical_task():
    found = candidates(ferry())
    plans = [[str(step) for step in plan.steps] for plan in found]
    assert found.complete
    assert sorted(map(tuple, plans)) == [
        ("board(g0)", "board(g1)", "whistle()", "land(g0)", "land(g1)"),
        ("board(g0)", "board(g1)", "whistle()", "land(g1)", "land(g0)"),
        ("board(g1)", "board(g0)", "whistle()", "land(g0)", "land(g1)"),
        ("board(g1)", "board(g0)", "whistle()", "land(g1)", "land(g0)"),
    ]


def test_candidates_without_few_values_are_found_one_after_another():
    domain = Domain("endless")
    domain.function("level")
    domain.action("raise", modifies="level += 1")
    problem = domain.problem(initial=["level = 0"], goal="level >= 5")
    assert [str(step) for step in next(candidates(problem)).steps] == ["raise()"] * 5
    with pytest.raises(UnsupportedError, match="candidates with `wasteful`"):
        next(candidates(problem, wasteful=True))
