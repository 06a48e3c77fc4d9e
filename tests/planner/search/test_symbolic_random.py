"""Search over decision diagrams against all states of random tasks, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_twins import finished, perfect, random_task, replayed

from planner.search import Ending, Run, Space
from planner.search.symbolic import transition_relations
from planner.task.ground_task import INFINITY

pytest.importorskip("oxidd")
from planner.search.symbolic.bidirectional import symbolic_search
from planner.search.symbolic.transition_relations import Coding, build_relations

seeds = st.integers(0, 10**9)
ROOM = 1 << 24


@pytest.fixture(autouse=True)
def few_exchanges(monkeypatch):
    monkeypatch.setattr(transition_relations, "FEW_EXCHANGES", 20)


def search(task, *, run=None) -> Run:
    """Return what the search found out about `task`; the bounds that it claimed on its way hold."""
    run, bounds = run or Run(), []
    run.on_change = lambda: bounds.append(run.lower_bound)
    assert finished(symbolic_search(task, run, ROOM)) is Ending.EXHAUSTED
    cost = perfect(task)[frozenset(task.initial)]
    assert all(bound <= cost for bound in bounds)
    return run


@given(seeds)
def test_cheapest_plans_are_found(seed):
    task = random_task(seed)
    cost = perfect(task)[frozenset(task.initial)]
    run = search(task)
    assert run.limit == cost
    assert run.lower_bound == cost
    if cost < INFINITY:
        assert replayed(task, run.plan) == cost
    else:
        assert run.plan is None


@given(seeds)
def test_a_plan_that_is_known_is_beaten_or_proved(seed):
    task = random_task(seed)
    cost = perfect(task)[frozenset(task.initial)]
    if cost < INFINITY:
        assert search(task, run=Run(limit=cost)).plan is None
        assert search(task, run=Run(limit=cost + 1)).limit == cost


@given(seeds)
def test_relations_lead_where_actions_do(seed):
    """Put together or not, images and preimages of all reachable states are what actions make of them."""
    task = random_task(seed)
    space = Space(task)
    coding = Coding(task, list(range(len(task.variables))), ROOM)
    everywhere = [sum(1 << fact for fact in state) for state in perfect(task)]
    for most in (0, 1 << 20):
        parts = build_relations(coding, most)
        for state in everywhere[:20]:
            here = coding.state([fact for fact in range(len(task.facts)) if state >> fact & 1])
            after = coding.any_of([part.image(here) for part in parts])
            children = {child for _, child in space.successors(state)}
            assert after == coding.any_of([coding.state(facts(child)) for child in children])
            for child in children:
                before = coding.any_of([part.preimage(coding.state(facts(child))) for part in parts])
                assert (before & here).satisfiable()


def facts(state: int) -> list[int]:
    return [fact for fact in range(state.bit_length()) if state >> fact & 1]


@given(seeds)
def test_states_are_written_and_read(seed):
    task = random_task(seed)
    coding = Coding(task, list(range(len(task.variables)))[::-1], ROOM)
    closed = Space(task).closed
    for state in perfect(task):
        number = sum(1 << fact for fact in state)
        only = coding.state(state)
        assert coding.pick_state(only) == number
        assert only.eval(coding.encode(number))
        assert not (only & ~coding.valid).satisfiable()
        for fact in range(len(task.facts)):
            assert (only & coding.holds[fact]).satisfiable() == bool(closed(number) >> fact & 1)
