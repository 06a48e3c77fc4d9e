"""Policies for tasks: their executions are decompositions."""

from __future__ import annotations

from random import Random

import pytest

from htn.compilations.methods_from_actions import as_htn
from htn.language.declare import Methods
from planner import Domain, Outcome, Status, decide, evaluate, executions, solve, validate
from planner.model import Atom
from planner.plan import Plan
from planner.policies.evaluation import world_of
from planner.policies.policy import Policy


def make_trip(**more):
    """Return a trip by car, which may not start, or on foot."""
    trips = Domain("trips")
    trips.action("drive", requires="here", provides=["there", "not here"], risk="0.5", cost=2)
    trips.action("walk", requires="here", provides=["there", "not here"], cost=5)
    trips.action("pack", provides="packed")
    how = Methods(trips)
    how.task("go")
    how.method("by_car", task="go", subtasks=["drive"])
    how.method("on_foot", task="go", requires="here", subtasks=["walk"])
    return how.problem(**{"initial": ["here"], "tasks": ["go", "pack"], **more})


@pytest.mark.parametrize("search", [None, "lao", "vi", "mcts"])
@pytest.mark.parametrize("ordered", [True, False])
def test_the_cheapest_decomposition_is_found(search, ordered) -> None:
    problem = make_trip(ordered=ordered)
    found = decide(problem, search=search)
    assert found.status is Status.OPTIMAL
    assert found.validated
    policy = found.policy
    assert (policy.success, policy.cost) == (1, 5)  # two tries to drive, on average, and packing
    assert evaluate(problem, policy).cost == 5
    assert Policy.from_dict(policy.to_dict(), problem) == policy
    assert all(each.success for each in executions(problem, policy, 20))


def test_policies_are_followed_by_the_tasks_that_are_left() -> None:
    policy = decide(make_trip(tasks=["go"])).expect_policy()
    assert policy.nodes[0].tasks == ("go",)
    assert str(policy.next_step([Atom("here")], tasks=["go"])) == "by_car()"
    assert str(policy.next_step([Atom("here")], tasks=["drive"])) == "drive()"
    assert policy.next_step([Atom("there")], tasks=[]) is None


def test_what_happened_decomposes_the_tasks() -> None:
    problem = make_trip(ordered=False)
    policy, rng = decide(problem).expect_policy(), Random(5)
    for _ in range(20):
        world, happened = world_of(problem, policy), []
        state = world.declared.initial
        while (step := world.ask_for_step(policy, state, ())) is not None:
            found = [*world.declared.outcomes(state, step)]
            (after,) = rng.choices([each for _, each in found], [share for share, _ in found])
            if step.action in problem.domain.actions and len(after.remaining) < len(state.remaining):
                happened.append(step)
            state = after
        assert validate(problem, Plan(tuple(happened), problem)).valid


def test_an_outcome_that_spoils_a_task_has_done_it() -> None:
    domain = Domain("kitchen")
    ways = [Outcome("0.75", ["cake"]), Outcome("0.25", ["burnt"])]
    domain.action("bake", requires="not burnt", provides="cake", outcomes=ways)
    how = Methods(domain)
    how.task("dessert")
    how.method("cake", task="dessert", subtasks=["bake"])
    found = decide(how.problem(tasks=["dessert"], goal="cake"))
    assert found.status is Status.OPTIMAL
    assert found.policy.success == 0.75


def test_derived_tasks_find_what_actions_find() -> None:
    domain = Domain("bridge")
    ways = [Outcome("0.75", ["there", "not here"]), Outcome("0.25", ["not bridge"])]
    domain.action("cross", requires=["here", "bridge"], provides=["there", "not here"], outcomes=ways)
    domain.action("mend", requires="here", provides="bridge", risk="0.5", cost=2)
    problem = domain.problem(initial=["here", "bridge"], goal=["there"])
    found = decide(as_htn(problem))
    assert found.status is Status.OPTIMAL
    assert found.policy.cost == pytest.approx(decide(problem).policy.cost)


def test_tasks_that_cannot_be_done_are_unsolvable() -> None:
    assert decide(make_trip(initial=[])).status is Status.UNSOLVABLE
    assert solve(make_trip(initial=[])).status is Status.UNSOLVABLE


def test_the_search_by_plans_takes_no_tasks() -> None:
    assert "tasks" in decide(make_trip(), search="plans").reason
