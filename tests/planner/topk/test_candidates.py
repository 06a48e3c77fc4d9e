"""What `candidates` and `k_best` say, beyond which plans there are."""

from __future__ import annotations

import json
import sys
import threading
from decimal import Decimal
from itertools import islice, pairwise

import pytest

from planner import (
    Domain,
    InputError,
    StoppedBy,
    candidates,
    k_best,
    validate,
)
from planner.cli import main


def ways(costs, goal=("there",)):
    """A problem with one action for each cost that reaches the goal."""
    domain = Domain("ways")
    for number, cost in enumerate(costs):
        domain.action(f"way{number}", provides=["there"], cost=cost)
    return domain.problem(goal=list(goal))


def switches(count):
    """A problem with so many independent switches to be turned on, and off again."""
    domain = Domain("switches")
    for number in range(count):
        domain.action(f"on{number}", provides=[f"on{number}"])
        domain.action(f"off{number}", requires=[f"on{number}"], provides=[f"not on{number}"])
    return domain.problem(goal=[f"on{number}" for number in range(count)])


def test_plans_come_by_cost_with_a_proof():
    found = k_best(ways([5, 2, Decimal("2.5")]), 2)
    assert [plan.cost for plan in found.plans] == [2, Decimal("2.5")]
    assert found.proved
    assert found.stopped_by is StoppedBy.FIRST_PLAN
    assert found.lower_bound == Decimal("2.5")
    assert not found.complete


def test_all_plans_are_known_to_be_all():
    found = k_best(ways([5, 2]), 7)
    assert [plan.cost for plan in found.plans] == [2, 5]
    assert (found.proved, found.complete, found.lower_bound) == (True, True, None)
    assert found.stopped_by is StoppedBy.EXHAUSTED


def test_nothing_costs_more_than_the_factor_allows():
    found = candidates(ways([10, 11, 12]), within=1.1)
    assert [plan.cost for plan in found] == [10, 11]
    assert found.stopped_by is StoppedBy.EXHAUSTED
    assert not found.complete
    assert found.lower_bound == 12


def test_orders_of_independent_steps_count_once_unless_asked_for():
    problem = switches(4)
    assert len([*candidates(problem)]) == 1
    assert len([*candidates(problem, orders=True)]) == 24


def letters(**effects):
    """A problem that wants a letter proofread and signed, by actions with more `effects` on it."""
    domain = Domain("letters")
    for action in ("proofread", "sign"):
        domain.action(action, provides=[f"{action}ed"], **effects)
    return domain.problem(goal=["proofreaded", "signed"])


def test_the_order_counts_where_both_change_one_thing():
    assert len([*candidates(letters())]) == 1
    assert len([*candidates(letters(modifies=["letter"]))]) == 2


def test_a_step_with_a_disjunctive_condition_is_one_step():
    domain = Domain("doors")
    domain.action("go", requires=["(or (front) (back))"], provides=["in"])
    domain.action("open", provides=["front"])
    problem = domain.problem(initial=["front", "back"], goal=["in"])
    assert [len(plan) for plan in candidates(problem)] == [1]
    assert len([*candidates(problem, orders=True, wasteful=True, within=1)]) == 1


def test_what_is_wished_for_counts():
    domain = Domain("wishes")
    domain.action("dear", provides=["there", "nice"], cost=5)
    domain.action("cheap", provides=["there"], cost=3)
    domain.action("polish", requires=["there"], provides=["nice"], cost=1)
    problem = domain.problem(goal={"hard": ["there"], "soft": {"nice": 3}})
    found = [*candidates(problem)]
    assert [(plan.cost, plan.charge, plan.utility) for plan in found] == [(4, 4, 3), (5, 5, 3), (3, 6, 0)]
    assert len([*candidates(problem, within=1.3)]) == 2


def test_the_factor_is_one_of_the_cheapest_that_keeps_budgets():
    domain = Domain("paid")
    for cost, price in ((1, 9), (10, 2), (11, 1), (12, 0)):
        domain.action(f"way{cost}", provides=["there"], cost=cost, uses={"money": price})
    problem = domain.problem(goal=["there"], budgets={"money": 3})
    found = candidates(problem, within=1.1)
    assert [plan.cost for plan in found] == [10, 11]
    assert found.lower_bound == 12


def test_with_a_deadline_nothing_is_proved_unless_all_is_looked_at():
    domain = Domain("timely")
    domain.action("slow", provides=["there"], cost=1, duration=60)
    domain.action("fast", provides=["there"], cost=2, duration=10)
    problem = domain.problem(goal=["there"], deadline=30)
    found = k_best(problem, 1)
    assert [plan.cost for plan in found.plans] == [2]
    assert (found.proved, found.complete, found.lower_bound) == (False, False, 1)
    assert k_best(problem, 1, wasteful=True).proved


def test_the_factor_is_one_of_the_cheapest_that_meets_the_deadline():
    domain = Domain("timely")
    for cost, seconds in ((1, 60), (10, 20), (11, 10), (12, 5)):
        domain.action(f"way{cost}", provides=["there"], cost=cost, duration=seconds)
    problem = domain.problem(goal=["there"], deadline=30)
    assert [plan.cost for plan in candidates(problem, within=1.1)] == [10, 11]


def dice(count):
    """A problem whose cheapest plan takes long to prove: so many dice to turn to six, one step at a time."""
    domain = Domain("dice", types=["die", "side"])
    domain.action(
        "turn",
        {"die": "die", "before": "side", "after": "side", "other": "die"},
        requires=["shows(die, before)", "beside(before, after)", "shows(other, before)", "die != other"],
        provides=["shows(die, after)"],
        modifies=["shows(die, _)"],
        cost=3,
    )
    domain.action(
        "roll",
        {"die": "die", "before": "side", "after": "side"},
        requires=["shows(die, before)"],
        provides=["shows(die, after)"],
        modifies=["shows(die, _)"],
        cost=20,
    )
    sides = [f"s{number}" for number in range(1, 7)]
    dies = [f"d{number}" for number in range(count)]
    return domain.problem(
        objects={**dict.fromkeys(dies, "die"), **dict.fromkeys(sides, "side")},
        initial=[
            *(f"shows({die}, {sides[place % 4]})" for place, die in enumerate(dies)),
            *(f"beside({one}, {other})" for one, other in pairwise(sides)),
        ],
        goal=[f"shows({die}, s6)" for die in dies],
    )


@pytest.mark.usefixtures("counted_clock")
def test_a_set_is_filled_with_what_is_not_proved_where_time_ends(monkeypatch):
    problem = dice(10)
    assert k_best(problem, 3, time_limit=0.2).plans == ()
    monkeypatch.setattr(sys.modules["planner.topk.top_k"], "FILL_SHARE", 0.8)
    found = k_best(problem, 3, time_limit=3, fill=True)
    assert found.stopped_by is StoppedBy.TIME
    assert (found.proved, len(found.plans)) == (False, found.unproved)
    assert found.unproved >= 1
    assert all(validate(problem, plan).valid for plan in found.plans)
    assert all(plan.cost >= found.lower_bound for plan in found.plans)
    assert "of which nothing is proved; others cost" in found.summary()
    assert found.to_dict()["unproved"] == found.unproved
    assert k_best(ways([1, 2]), 2, fill=True).unproved == 0


def test_wasteful_plans_are_given_on_request():
    problem = switches(1)
    assert candidates(problem).lower_bound == 0
    lengths = [len(plan) for plan in islice(candidates(problem, wasteful=True), 3)]
    assert lengths == [1, 2, 3]  # on; on twice; on, off, on


def test_steps_that_serve_nothing_are_wasteful():
    domain = Domain("two")
    domain.action("needed", provides=["there"])
    domain.action("idle", provides=["elsewhere"])
    problem = domain.problem(goal=["there"])
    assert [len(plan) for plan in candidates(problem)] == [1]
    assert [len(plan) for plan in islice(candidates(problem, wasteful=True), 2)] == [1, 2]


def test_where_the_goal_holds_the_empty_plan_is_the_only_one():
    found = candidates(ways([1], goal=()))
    assert [len(plan) for plan in found] == [0]
    assert found.complete


def test_without_a_plan_there_is_none_and_that_is_all():
    domain = Domain("no")
    domain.action("never", requires=["missing"], provides=["there"])
    found = candidates(domain.problem(goal=["there"]))
    assert [*found] == []
    assert found.complete
    assert found.stopped_by is StoppedBy.EXHAUSTED
    assert found.lower_bound is None


def test_plans_are_plans_of_the_problem():
    problem = switches(2)
    for plan in islice(candidates(problem, wasteful=True, orders=True), 20):
        assert validate(problem, plan).valid
        assert plan.problem is problem


def test_a_limit_ends_it_and_says_so():
    cancel = threading.Event()
    found = candidates(switches(3), wasteful=True, cancel=cancel)
    assert len(next(found)) == 3
    cancel.set()
    assert [*found] == []
    assert found.stopped_by is StoppedBy.CANCELLED
    assert found.lower_bound == 3
    assert k_best(switches(3), 4, time_limit=0).stopped_by is StoppedBy.TIME


def test_a_set_says_what_its_plans_forgo(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "outing", "--candidates", "3", "--json"])
    candidates = json.loads(capsys.readouterr().out)["candidates"]
    seen = {"wish": "seen(gallery)", "utility": 4}
    assert [each["forgone"] for each in candidates] == [[seen], [seen], []]
    with pytest.raises(SystemExit):
        main(["solve", "outing", "--candidates", "3"])
    out, err = capsys.readouterr()
    assert out.count("; without seen(gallery) (worth 4)\n") == 2
    assert "others, with what they forgo, cost 12 or more" in err


def test_a_set_is_data():
    data = k_best(ways([2]), 1).to_dict()
    step = {"action": "way0", "arguments": [], "cost": 2}
    assert data == {
        "candidates": [{"cost": 2, "steps": [step]}],
        "proved": True,
        "stopped_by": "first_plan",
        "lower_bound": 2,
        "complete": False,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "the number of plans is a whole number of 1 or more, not 0"),
        ({"k": 2.5}, "not 2.5"),
        ({"within": 0.5}, "a factor of 1 or more, not 0.5; 1.1 takes"),
        ({"within": "much"}, "'much' is not a number"),
        ({"time_limit": -1}, "must be in seconds, 0 or more, got -1"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(InputError, match=message):
        k_best(ways([1]), **{"k": 1, **options})
