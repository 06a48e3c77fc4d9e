"""Searches one by one: limits inside the loop, queues, turns."""

from __future__ import annotations

from itertools import count

import pytest
from search_twins import action, fact_names, finished, random_task, replayed

from planner.heuristics import REGISTRY as HEURISTICS
from planner.limits import LimitReached, never
from planner.plan import StoppedBy
from planner.portfolio.tiers import Contender, take_turns
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.astar import LifoOpenList
from planner.search.best_first_width import Novelty
from planner.search.lazy_best_first import WEIGHTS, Batches, lower_weights
from planner.task.ground_task import INFINITY, Task, bits, facts_of


def counter(digits):
    """Counts from 0 in binary: 2 ** digits - 1 steps, and as many states."""
    zeros, ones = range(digits), range(digits, 2 * digits)
    actions = [
        action(
            place,
            precondition=[zeros[place], *ones[:place]],
            adds=[ones[place], *zeros[:place]],
            deletes=[zeros[place], *ones[:place]],
        )
        for place in range(digits)
    ]
    variables = tuple(zip(zeros, ones, strict=True))
    return Task(fact_names(2 * digits), variables, tuple(zeros), tuple(ones), tuple(actions))


def estimate(name, task, check=never):
    return HEURISTICS[name].build(task, [one.cost for one in task.actions], check)


@pytest.mark.parametrize("search", SEARCHES)
def test_long_plans_are_found_and_proved(search):
    task, run = counter(9), Run()
    finished(SEARCHES[search].search(Space(task), estimate("blind", task), run))
    assert replayed(task, run.plan) == 511
    assert run.lower_bound == 511 or SEARCHES[search].stops_at_first


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_pauses_often(search):
    task, run = counter(9), Run()
    steps = SEARCHES[search].search(Space(task), estimate("blind", task), run)
    for pause in range(1, 20):
        next(steps)
        assert run.expanded <= 16 * pause


@pytest.mark.parametrize("heuristic", [name for name in HEURISTICS if name not in {"blind", "goalcount"}])
@pytest.mark.parametrize("search", ["astar", "greedy", "weighted"])
def test_limits_stop_costly_heuristics_from_within(search, heuristic):
    calls = []

    def check():
        calls.append(1)
        if len(calls) > 5:
            raise LimitReached(StoppedBy.TIME)

    task = counter(6)
    with pytest.raises(LimitReached):
        finished(SEARCHES[search].search(Space(task), estimate(heuristic, task, check), Run()))
    assert len(calls) == 6


def test_bounds_of_untrusted_searches_do_not_count():
    run = Run(trusted=False)
    run.raise_bound(7)
    assert run.lower_bound == 0


def test_the_latest_of_the_best_comes_first():
    queue = LifoOpenList()
    for f, h, entry in [(3, 1, "a"), (2, 2, "b"), (2, 1, "c"), (2, 1, "d"), (5, 0, "e")]:
        queue.push(f, h, entry)
    assert [queue.pop() for _ in range(5)] == [(2, 1, "d"), (2, 1, "c"), (2, 2, "b"), (3, 1, "a"), (5, 0, "e")]
    assert not queue


def test_batches_come_in_order_edge_by_edge():
    queue = Batches()
    queue.push(2, 10, [1, 2])
    queue.push(1, 20, [3])
    queue.push(2, 30, [4])
    queue.push(0, 40, [])
    assert [queue.pop() for _ in range(4)] == [(20, 3), (10, 1), (10, 2), (30, 4)]
    assert not queue


def endless():
    while True:
        yield


def ends(steps, ending):
    for _ in range(steps):
        yield
    return ending


def test_turns_end_with_the_first_proof():
    run = Run()
    contenders = [Contender(endless(), 1), Contender(ends(3, Ending.EXHAUSTED), 1)]
    assert finished(take_turns(contenders, run), most=10**8) is Ending.EXHAUSTED


def test_falling_weights_end_with_a_search_that_gives_up():
    weights = []

    def search(weight):
        weights.append(weight)
        return ends(1, Ending.FIRST_PLAN if len(weights) < len(WEIGHTS) + 2 else Ending.INCOMPLETE)

    assert finished(lower_weights(search)) is Ending.INCOMPLETE
    assert weights == [*WEIGHTS, WEIGHTS[-1], WEIGHTS[-1]]


def test_turns_go_on_without_those_who_give_up():
    contenders = [Contender(ends(2, Ending.FIRST_PLAN), 1), Contender(ends(2, Ending.INCOMPLETE), 1)]
    assert finished(take_turns(contenders, Run())) is Ending.INCOMPLETE


def test_who_makes_the_plan_better_goes_on(monkeypatch):
    clock, run, log = count(), Run(), []
    tick = 2.0**-4  # seconds, more than a turn, and exact
    monkeypatch.setattr("planner.portfolio.tiers.time.thread_time", lambda: next(clock) * tick)

    def searching(name, better):
        for cost in (*better, *[INFINITY] * 5):
            log.append(name)
            run.report_plan([], cost)
            yield
        return Ending.INCOMPLETE

    contenders = [Contender(searching("first", [9, 8, 7]), 1), Contender(searching("second", []), 1)]
    finished(take_turns(contenders, run))
    assert log[:6] == ["first", "first", "first", "first", "second", "first"]
    assert log.count("second") == 5


@pytest.mark.parametrize("facts", [[], [0], [3, 64, 65, 1000]])
def test_bits_and_facts_are_inverse(facts):
    assert facts_of(bits(facts)) == facts


def test_random_tasks_are_not_trivial():
    tasks = [random_task(seed) for seed in range(60)]
    assert any(task.has_axioms for task in tasks)
    assert any(task.has_conditional_effects for task in tasks)
    assert any(one.cost == 0 for task in tasks for one in task.actions)


def test_novelty_counts_facts_and_pairs_of_a_kind():
    novelty, one, other = Novelty(), (1, 0), (2, 0)
    assert novelty.measure(0b0011, 0b0011, one) == 1
    assert novelty.measure(0b1100, 0b1100, one) == 1
    assert novelty.measure(0b0101, 0b0001, one) == 2
    assert novelty.measure(0b0101, 0b0101, one) == 3
    assert novelty.measure(0b0101, 0b0101, other) == 1
