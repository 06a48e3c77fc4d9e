"""The history of a search: what was known when, and which searches were at work when."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from planner import Domain, History, load, solve
from planner.plan import Milestone, Result, SearchTurns, Status
from planner.portfolio.search_history import Recorder

PROBLEMS = (
    ("courier", "one-parcel"),
    ("stacking", "swap"),
    ("mules", "one-crate"),
    ("workshop", "stool"),
    ("household", "supper"),
    ("travel", "board"),
    ("outing", "stroll"),
    ("secretary", "one-meeting"),
    ("errands", "bread"),
)


@pytest.mark.parametrize(("domain", "name"), PROBLEMS)
def test_the_last_milestone_says_what_the_result_says(domain: str, name: str) -> None:
    check_history(solve(load(domain, name), time_limit=60))


def check_history(result: Result) -> None:
    """Check that the history ends with what `result` says, goes on in time, and names the searches."""
    history = result.history
    last = history.milestones[-1]
    assert (last.cost, last.lower_bound) == (result.expect_plan().charge, result.lower_bound)
    times = [each.elapsed for each in history.milestones]
    assert times == sorted(times)
    assert times[0] >= 0
    assert all(each.search for each in history.milestones[1:])
    assert history.searches
    assert all(0 <= begin <= end for each in history.searches for begin, end in each.turns)


KINDS = {
    "created objects": ("helpdesk", None),
    "unknown facts": ("secretary", None),
    "numbers": ("purchasing", None),
    "budgets": ("tools", None),
    "wishes": ("outing", None),
    "tasks in time": ("incident", None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_searches_for_several_problems_have_one_history(kind: str) -> None:
    check_history(solve(load(*KINDS[kind]), time_limit=60))


HURRY = """
domain: hurry
types: {place: object}
functions: {fuel: {parameters: []}}
actions:
  walk:
    parameters: {a: place, b: place}
    requires: ["at(a)", "road(a, b)"]
    provides: ["at(b)"]
    modifies: ["at(_)"]
    duration: 10
  drive:
    parameters: {a: place, b: place}
    requires: ["at(a)", "road(a, b)", "fuel >= 1"]
    provides: ["at(b)"]
    modifies: ["at(_)", "fuel -= 1"]
    duration: 2
    cost: 5
---
problem: early
objects: {home: place, mill: place, sea: place}
initial: ["at(home)", "road(home, mill)", "road(mill, sea)"]
values: {fuel: 3}
goal: ["at(sea)"]
deadline: 12
"""


def test_deadlines_beside_numbers_have_a_history(tmp_path) -> None:
    (tmp_path / "hurry.yaml").write_text(HURRY)
    result = solve(load(str(tmp_path / "hurry.yaml")), time_limit=60)
    check_history(result)
    assert result.cost == 6
    assert result.history.milestones[0].cost is None, "the cheapest plan is too late, and gives a bound"


def test_no_plan_may_leave_no_history() -> None:
    walk = Domain("walk")
    walk.action("go", requires=["open"], provides=["there"])
    assert not solve(walk.problem("closed", goal=["there"])).history.milestones


@pytest.mark.parametrize("domain", ["courier", "household", "workshop"])
def test_searches_have_turns(domain: str) -> None:
    result = solve(load(domain, dict(PROBLEMS)[domain]), time_limit=5)
    searches = result.history.searches
    assert searches
    for each in searches:
        assert all(begin <= end for begin, end in each.turns)
        assert all(one[1] < other[0] for one, other in pairwise(each.turns))
    alone = sorted(turn for each in searches if each.search != "symbolic" for turn in each.turns)
    assert all(one[1] <= other[0] for one, other in pairwise(alone))


def test_costs_fall_and_bounds_rise() -> None:
    result = solve(grid(), time_limit=5)
    costs = [each.cost for each in result.history.milestones if each.cost is not None]
    bounds = [each.lower_bound for each in result.history.milestones if each.lower_bound is not None]
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert result.status is Status.OPTIMAL
    assert (costs[-1], bounds[-1]) == (result.cost, result.cost)


def test_json_has_the_history_and_equality_does_not_look_at_it() -> None:
    one = solve(grid(), time_limit=5, search="astar")
    data = json.loads(json.dumps(one.to_dict()))["history"]
    assert data["milestones"][-1]["cost"] == one.cost
    assert data["milestones"][-1]["search"] == "astar"
    assert data["searches"][0]["search"] == "astar"
    assert not History()
    assert History().to_dict() == {"milestones": [], "searches": []}


def grid():
    """Return a problem whose first plan is rarely the cheapest one."""
    walk = Domain("walk", types=["place"])
    walk.function("length", "place", "place")
    walk.action(
        "go",
        {"here": "place", "there": "place"},
        requires=["at(here)", "road(here, there)"],
        provides=["at(there)"],
        modifies=["at(_)"],
        cost="length(here, there)",
    )
    names = [f"p{x}{y}" for x in range(6) for y in range(6)]
    roads = {}
    for x in range(6):
        for y in range(6):
            for across, down in ((1, 0), (0, 1)):
                if x + across < 6 and y + down < 6:
                    pair = f"p{x}{y}", f"p{x + across}{y + down}"
                    roads[pair] = 1 + (3 * x + 5 * y) % 7
    return walk.problem(
        "across",
        objects=dict.fromkeys(names, "place"),
        initial=["at(p00)", *[f"road({one}, {other})" for one, other in roads]],
        values={f"length({one}, {other})": cost for (one, other), cost in roads.items()},
        goal=["at(p55)"],
    )


def test_plans_are_all_kept_and_bounds_of_one_moment_become_one() -> None:
    recorder = Recorder()
    recorder.note(0.001, None, 3, ("astar", "lmcut"))
    recorder.note(0.002, None, 4, ("astar", "lmcut"))
    recorder.note(0.003, 9, 4, ("greedy", "hff"))
    recorder.note(0.004, 9, 5, ("astar", "lmcut"))
    recorder.note(0.005, 9, 6, ("astar", "lmcut"))
    recorder.note(0.006, 8, 6, ("greedy", "hff"))
    recorder.note(0.007, 8, 6, ("greedy", "hff"))
    recorder.note(0.5, 8, 7, ("symbolic", ""))
    found = [(each.elapsed, each.cost, each.lower_bound) for each in recorder.history().milestones]
    assert found == [(0.002, None, 4), (0.003, 9, 4), (0.005, 9, 6), (0.006, 8, 6), (0.5, 8, 7)]
    assert recorder.history().milestones[0] == Milestone(0.002, None, 4, "astar", "lmcut")


def test_many_bounds_take_little_room() -> None:
    recorder = Recorder()
    for number in range(200_000):
        recorder.note(number / 100, None, number, ("astar", "lmcut"))
    assert len(recorder.history().milestones) < 800


def test_turns_that_touch_become_one() -> None:
    recorder = Recorder()
    recorder.note_turn(("astar", "lmcut"), 0.0, 0.1)
    recorder.note_turn(("symbolic", ""), 0.0, 0.1)
    recorder.note_turn(("astar", "lmcut"), 0.1, 0.2)
    recorder.note_turn(("greedy", "hff"), 0.2, 0.3)
    recorder.note_turn(("", ""), 0.3, 0.4)
    recorder.note_turn(("astar", "lmcut"), 0.4, 0.5)
    assert recorder.history().searches == (
        SearchTurns("astar", "lmcut", ((0.0, 0.2), (0.4, 0.5))),
        SearchTurns("symbolic", "", ((0.0, 0.1),)),
        SearchTurns("greedy", "hff", ((0.2, 0.3),)),
    )
