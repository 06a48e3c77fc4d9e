"""Steps that end as expected are noted in the temporal network, which would be the same if it was built anew."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.parallel_calls import draw_calls, make_problem, make_world
from executor import Executor, RunOutcome, RunStatus
from executor.dispatching.dispatch_network import DispatchNetwork, Lasts, Node
from executor.dispatching.dispatcher import Dispatcher
from executor.testing import VirtualClock, run_virtual
from planner import Plan, solve


def count_networks(patch: pytest.MonkeyPatch) -> list[DispatchNetwork]:
    """Return a list to which each network that is built is added."""
    built: list[DispatchNetwork] = []
    build = Dispatcher.build

    def note(self: Dispatcher, left: Any) -> DispatchNetwork:
        built.append(build(self, left))
        return built[-1]

    patch.setattr(Dispatcher, "build", note)
    return built


def run(plan: Plan, seed: int) -> RunOutcome:
    calls = draw_calls(random.Random(seed), 12)
    world = make_world(plan.problem, calls)
    outcome: RunOutcome = run_virtual(Executor(world, clock=VirtualClock()).run(plan))
    return outcome


def starts(outcome: RunOutcome) -> dict[str, float]:
    begun = {str(each.step): each.started for each in outcome.steps if each.started is not None}
    return {name: round(at - min(begun.values()), 2) for name, at in begun.items()}


@pytest.mark.parametrize("seed", range(4))
def test_runs_are_those_of_networks_built_anew(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = solve(make_problem(draw_calls(random.Random(seed), 12)), mode="first", time_limit=20).expect_plan()
    with monkeypatch.context() as patch:
        few = count_networks(patch)
        noted = run(plan, seed)
    with monkeypatch.context() as patch:
        many = count_networks(patch)
        patch.setattr(Dispatcher, "_note_ends", lambda _: False)
        anew = run(plan, seed)
    assert noted.status is anew.status is RunStatus.SUCCEEDED
    assert starts(noted) == starts(anew)
    assert len(few) == 1
    assert len(many) > 3


def test_an_end_that_comes_too_soon_is_not_noted() -> None:
    network = DispatchNetwork()
    for about in ("one", "two"):
        network.starts[about], network.ends[about] = len(network.nodes), len(network.nodes) + 1
        network.nodes += [Node("start", about), Node("end", about)]
        network.lasts[about] = Lasts(5, 5)
        network.note_start(about, 0)
    network.edges[network.ends["one"], network.ends["two"]] = 1
    assert not network.note_end("two", 4)
    assert network.note_end("one", 5)
    assert network.note_end("two", 6)
    assert network.find_earliest(7) == [0, 0, 5, 0, 6]
