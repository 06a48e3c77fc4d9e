"""Other candidates as patches: what fits is taken without a search, and nothing that has failed here."""

from __future__ import annotations

import pytest

from executor import ActionPlan, ExecutionPolicy, Executor, Journal, Recovery, Rung, RunStatus
from executor.recovery import replanning
from executor.testing import Crash, Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Domain, InputError, PlanError, k_best, solve
from planner.lightweight import replace
from planner.plan import Plan, Step


def trip(**prices):
    """Return a problem: to the city by train or bus, for which one needs a ticket, or on foot; then to the hotel."""
    domain = Domain("trip", types=["kind"])
    domain.action("buy", {"kind": "kind"}, requires=["home"], provides=["ticket(kind)"], cost="price(kind)")
    domain.action(
        "ride",
        {"kind": "kind"},
        requires=["ticket(kind)", "home"],
        provides=["city", "not home", "not ticket(kind)"],
        cost="time(kind)",
    )
    domain.action("walk", {}, requires=["home"], provides=["city", "not home"], cost=9)
    domain.action("check_in", {}, requires=["city"], provides=["room"], cost=1)
    values = {"price(train)": 2, "time(train)": 3, "price(bus)": 1, "time(bus)": 6, **prices}
    return domain.problem(objects={"train": "kind", "bus": "kind"}, initial=["home"], goal=["room"], values=values)


def plan(problem, *texts):
    words = [text.split() for text in texts]
    return Plan(tuple(Step(name, tuple(args)) for name, *args in words), problem)


def train(problem):
    return plan(problem, "buy train", "ride train", "check_in")


def bus(problem):
    return plan(problem, "buy bus", "ride bus", "check_in")


def walk(problem):
    return plan(problem, "walk", "check_in")


def world(problem, *faults, initial=None, **more):
    now = problem if initial is None else replace(problem, initial=initial)
    simulated = SimulatedWorld(now, faults=faults, **more)
    for name in problem.domain.actions:
        simulated.world.policy(name, ExecutionPolicy(retries=0))
    return simulated


def done(outcome):
    steps = [outcome.state.steps[name] for name in outcome.state.finished]
    return [str(each.step) for each in steps if each.status.is_done]


NO_TRAIN = Fault(FaultKind.FAILS, "ride(train)", times=None)


@pytest.fixture
def no_search(monkeypatch):
    def search(*_, **__):
        raise AssertionError("nothing is to be searched")

    monkeypatch.setattr(replanning, "patch", search)


@pytest.mark.usefixtures("no_search")
def test_the_cheapest_candidate_that_fits_is_taken_without_a_search():
    problem = trip()
    simulated = world(problem, NO_TRAIN)
    outcome = run_virtual(Executor(simulated.world).run(train(problem), alternatives=[walk(problem), bus(problem)]))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done(outcome) == ["buy(train)", "buy(bus)", "ride(bus)", "check_in()"]
    (rung,) = outcome.state.rungs
    assert (rung.rung, rung.cost, rung.found) == (Rung.CANDIDATE, 7, True)
    assert outcome.state.finished[-1] == "s3", "the last step is that of the plan"


@pytest.mark.usefixtures("no_search")
def test_only_the_end_that_is_still_needed_is_taken():
    problem = trip(**{"time(bus)": 4})
    change = Fault(FaultKind.CHANGE_BEFORE, "ride(train)", facts=("not ticket(train)", "ticket(bus)"))
    simulated = world(problem, change)
    outcome = run_virtual(Executor(simulated.world).run(train(problem), alternatives=[bus(problem)]))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done(outcome) == ["buy(train)", "ride(bus)", "check_in()"]


@pytest.mark.usefixtures("no_search")
def test_the_plan_itself_is_a_candidate():
    """A ticket that is lost is bought again."""
    problem = trip()
    change = Fault(FaultKind.CHANGE_BEFORE, "ride(train)", facts=("not ticket(train)",))
    simulated = world(problem, change)
    outcome = run_virtual(Executor(simulated.world).run(train(problem), alternatives=[walk(problem)]))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done(outcome) == ["buy(train)", "buy(train)", "ride(train)", "check_in()"]


def test_where_none_fits_the_plan_is_patched():
    problem = trip()
    simulated = world(problem, NO_TRAIN, Fault(FaultKind.FAILS, "ride(bus)", times=None))
    outcome = run_virtual(Executor(simulated.world).run(train(problem), alternatives=[bus(problem)]))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done(outcome)[-2:] == ["walk()", "check_in()"]
    assert [each.rung for each in outcome.state.rungs if each.found] == [Rung.CANDIDATE, Rung.CANDIDATE, Rung.PATCH]
    failed = [str(each.step) for each in outcome.steps if each.attempts and not each.status.is_done]
    assert failed == ["ride(train)", "ride(bus)", "ride(train)"], "with the other ticket, too, it is another state"


@pytest.mark.parametrize(("compares", "way"), [(False, "walk()"), (True, "ride(bus)")])
def test_a_candidate_may_be_compared_with_a_patch(compares, way):
    problem = trip()
    simulated = world(problem, NO_TRAIN)
    executor = Executor(simulated.world, recovery=Recovery(compares=compares))
    outcome = run_virtual(executor.run(train(problem), alternatives=[walk(problem)]))
    assert outcome.status is RunStatus.SUCCEEDED
    assert way in done(outcome)
    first, *others = outcome.state.rungs
    assert first.rung is Rung.CANDIDATE
    assert first.found is not compares
    assert bool(others) is compares


def test_of_two_that_cost_the_same_the_candidate_is_taken():
    problem = trip(**{"time(bus)": 8})
    simulated = world(problem, NO_TRAIN)
    executor = Executor(simulated.world, recovery=Recovery(compares=True))
    outcome = run_virtual(executor.run(train(problem), alternatives=[walk(problem)]))
    assert done(outcome)[-2:] == ["walk()", "check_in()"]
    assert [each.rung for each in outcome.state.rungs] == [Rung.CANDIDATE]


def test_dropping_steps_counts_as_in_patches():
    """The bus costs 7 and keeps the last step; the end at another hotel costs 6, and drops it."""
    problem = trip()
    domain = Domain("other", types=["kind"])
    domain.action("stay_home", {}, requires=["home"], provides=["room"], cost=6)
    actions = {**problem.domain.actions, **domain.model.actions}
    problem = replace(problem, domain=replace(problem.domain, actions=actions))
    stay = plan(problem, "stay_home")
    for weight, last in ((0, "stay_home()"), (5, "check_in()")):
        simulated = world(problem, NO_TRAIN)
        executor = Executor(simulated.world, recovery=Recovery(weight=weight))
        outcome = run_virtual(executor.run(train(problem), alternatives=[stay, bus(problem)]))
        assert done(outcome)[-1] == last


@pytest.mark.usefixtures("no_search")
def test_a_set_of_candidates_is_run():
    problem = trip()
    found = k_best(problem, 3)
    simulated = world(problem, NO_TRAIN)
    outcome = run_virtual(Executor(simulated.world).run(found))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done(outcome) == ["buy(train)", "buy(bus)", "ride(bus)", "check_in()"]
    assert ActionPlan.model_validate_json(ActionPlan.of(found).model_dump_json()).alternatives[1][0] == "buy(bus)"


@pytest.mark.usefixtures("no_search")
def test_candidates_survive_the_process(tmp_path):
    problem = trip()
    faults = [NO_TRAIN, Fault(FaultKind.CRASH_BEFORE, "buy(train)")]
    with Journal(tmp_path / "runs.db") as journal:
        simulated = world(problem, *faults, ledger=tmp_path / "world")
        with pytest.raises(Crash) as crash:
            run_virtual(
                Executor(simulated.world, journal=journal).run(train(problem), run="r", alternatives=[bus(problem)])
            )
        crash.value.bury()
    with Journal(tmp_path / "runs.db") as journal:
        simulated = world(problem, *faults, ledger=tmp_path / "world")
        outcome = run_virtual(Executor(simulated.world, journal=journal).resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert "ride(bus)" in done(outcome)


def test_rungs_are_taken_in_the_order_that_is_said():
    problem = trip()
    simulated = world(problem, NO_TRAIN)
    executor = Executor(simulated.world, recovery=Recovery(rungs=(Rung.PATCH,)))
    outcome = run_virtual(executor.run(train(problem), alternatives=[walk(problem)]))
    assert [each.rung for each in outcome.state.rungs] == [Rung.PATCH]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ("walk", InputError, "alternatives are several plans"),
        (bus, InputError, "alternatives are several plans"),
        (lambda _: [7], InputError, "alternative 1 is no plan"),
        (
            lambda problem: [walk(problem), plan(problem, "ride tram")],
            PlanError,
            "alternative 2: ride.tram. does not fit",
        ),
    ],
)
def test_what_is_no_alternative_is_refused(given, error, said):
    problem = trip()
    alternatives = given(problem) if callable(given) else given
    with pytest.raises(error, match=said):
        run_virtual(Executor(world(problem).world).run(train(problem), alternatives=alternatives))


def test_alternatives_in_plans_as_data_are_checked():
    problem = trip()
    made = ActionPlan.of(solve(problem), alternatives=[["walk()", "check_in()"], ["ride(tram)", "walk("]])
    with pytest.raises(PlanError) as error:
        run_virtual(Executor(world(problem).world).run(made))
    assert "no object is called 'tram'" in str(error.value)
    assert "'walk(' is no ground action" in str(error.value)
