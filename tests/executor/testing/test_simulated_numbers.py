"""Simulated worlds with numbers: true values, their observers, faults of amounts, and what outlives a process."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from executor import ExecutionPolicy, Executor, StepStatus
from executor.testing import Fault, FaultKind, Observe, SimulatedWorld, run_virtual
from planner import Domain, InputError
from planner.lightweight import replace
from planner.model import Atom, NumericMetric, Problem
from planner.model.object_names import term_of
from planner.plan import Plan
from planner.solve import solve

FUEL = Atom("fuel")


def make_problem(*goal: str) -> Problem:
    tank = Domain("tank")
    tank.function("fuel", low=0, high=100)
    tank.action("fill", {}, modifies="fuel += 10")
    tank.action("drive", {}, requires=["fuel >= 15"], provides=["there"], modifies=["fuel -= 15"])
    return tank.problem(initial=["fuel = 5"], goal=list(goal) or ["there", "fuel >= 5"])


def test_a_simulated_world_has_numbers() -> None:
    problem = make_problem()
    simulated = SimulatedWorld(problem)
    outcome = run_virtual(Executor(simulated.world).run(problem))
    assert outcome.succeeded
    assert simulated.values == {FUEL: 10}
    assert sorted(each.numbers[0].after - each.numbers[0].before for each in simulated.acts) == [-15, 10, 10]
    assert simulated.truth.at(float("-inf")).values == {FUEL: 5}


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (FaultKind.NUMBER_DRIFTS, 11),
        (FaultKind.NUMBER_HALVES, 5),
        (FaultKind.NUMBER_STAYS, 0),
        (FaultKind.NUMBER_JUMPS, 10),
        (FaultKind.TWICE, 10),
        (FaultKind.RAISES_DONE, 10),
        (FaultKind.OBSERVER_CANNOT_SAY, 10),
    ],
)
@pytest.mark.parametrize("careless", [False, True])
def test_the_goal_is_reached_whatever_happens_to_an_amount(kind: FaultKind, most: int, careless: bool) -> None:
    problem = make_problem()
    at = "fuel" if kind.is_of_observers else "fill"
    simulated = SimulatedWorld(problem, faults=[Fault(kind, at)], careless=careless)
    outcome = run_virtual(Executor(simulated.world).run(problem))
    assert outcome.succeeded
    assert simulated.holds("there")
    assert simulated.values[FUEL] >= 5
    first = next((each for each in simulated.acts if each.step == Atom("fill")), None)
    assert first is not None
    if kind is not FaultKind.NUMBER_STAYS:
        assert first.numbers[0].after - 5 <= most
    assert all(each.after >= 0 for act in simulated.acts for each in act.numbers)


def test_numbers_outlive_the_process(tmp_path: Path) -> None:
    problem, ledger = make_problem(), tmp_path / "world"
    faults = [Fault(FaultKind.NUMBER_DRIFTS, "fill", times=None)]
    simulated = SimulatedWorld(problem, faults=faults, ledger=ledger, seed=4)
    run_virtual(Executor(simulated.world).run(problem))
    again = SimulatedWorld(problem, faults=faults, ledger=ledger, seed=4)
    assert again.values == simulated.values
    assert [each.numbers for each in again.acts] == [each.numbers for each in simulated.acts]


def test_somebody_else_sets_a_number() -> None:
    simulated = SimulatedWorld(make_problem())
    simulated.truth.change(["fuel = 7.5", "there"])
    assert simulated.values == {FUEL: Fraction(15, 2)}
    assert simulated.holds("there")


@pytest.mark.parametrize("name", ["r 3", "r = 3", 'a "b"'])
def test_somebody_else_sets_a_number_of_any_name(name: str) -> None:
    domain = Domain("x", types=["receipt"])
    domain.function("amount", "receipt")
    domain.action("book", {"r": "receipt"}, provides=["booked(r)"], modifies=["amount(r) -= 1"])
    term = term_of(name)
    simulated = SimulatedWorld(domain.problem(objects={name: "receipt"}, initial=[f"amount({term}) = 70"]))
    simulated.truth.change([f"amount({term}) = 60", f"booked({term})"])
    assert simulated.values == {Atom("amount", (term,)): 60}
    assert simulated.holds(f"booked({term})")
    with pytest.raises(InputError) as refused:
        simulated.truth.change([f"amount({term}) = much"])
    assert "'much' is no number" in str(refused.value)


def test_nobody_looks_at_numbers_that_are_not_chosen() -> None:
    problem = make_problem("fuel >= 20")
    simulated = SimulatedWorld(problem, observe=Observe(["there"]))
    outcome = run_virtual(Executor(simulated.world).run(problem))
    assert [each.status for each in outcome.steps] == [StepStatus.UNVERIFIED] * 2


def test_numbers_are_looked_at_before_each_step_that_changes_them() -> None:
    problem = make_problem()
    jump = Fault(FaultKind.CHANGE_AFTER, "fill", seconds=0.5, facts=("fuel = 1",))
    simulated = SimulatedWorld(problem, faults=[jump], careless=True, seconds=1)
    outcome = run_virtual(Executor(simulated.world).run(problem))
    assert outcome.succeeded
    assert min(simulated.truth.at(each.at).values[FUEL] for each in simulated.acts) >= 0


def test_a_failed_step_is_not_tried_again_for_a_number_that_it_has_nothing_to_do_with() -> None:
    store = Domain("store")
    store.function("stock", low=0)
    store.action("take", {}, provides=["taken"], modifies=["stock -= 2"])
    store.action("sell", {}, requires=["taken"], provides=["sold"])
    problem = store.problem(initial=["stock = 9"], goal=["sold"])
    simulated = SimulatedWorld(problem, faults=[Fault(FaultKind.FAILS, "sell", times=None)])
    simulated.world.policy("sell", ExecutionPolicy(retries=0))
    run_virtual(Executor(simulated.world).run(problem))
    assert simulated.values == {Atom("stock"): 7}


def test_a_run_is_taken_up_with_its_metric(tmp_path: Path) -> None:
    steps = solve(make_problem()).expect_plan().steps
    problem = replace(make_problem(), metric=NumericMetric(FUEL, maximize=True))
    simulated = SimulatedWorld(problem)
    executor = Executor(simulated.world, journal=tmp_path / "runs.db")
    assert run_virtual(executor.run(Plan(steps, problem), run="r")).succeeded
    assert executor.state_of("r").source.metric == problem.metric
