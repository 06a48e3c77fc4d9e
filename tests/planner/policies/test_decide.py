"""Deciding: what comes out for problems by hand, in which words, and what is refused."""

from __future__ import annotations

import json
import math
import threading

import pytest

from benchmarks.random_problems import STRIPS, random_problem
from planner import (
    Atom,
    Domain,
    Entity,
    InputError,
    NoPlan,
    Objective,
    Outcome,
    PlanError,
    Policy,
    Status,
    Step,
    StoppedBy,
    decide,
    evaluate,
    executions,
    solve,
)
from planner.lightweight import replace
from planner.model import COST
from planner.validation.validate import validate

SEARCHES = ("lao", "vi")


def bridge(goal="there", *, mend=False):
    """Return a problem with a short way over a bridge that may break, and a long way round where one may get lost."""
    domain = Domain("bridge")
    domain.action(
        "cross",
        {},
        requires=["here", "bridge"],
        provides=["there", "not here"],
        outcomes=[Outcome(0.75, ["there", "not here"]), Outcome(0.25, ["not bridge"])],
    )
    domain.action(
        "walk",
        {},
        requires=["here"],
        provides=["there", "not here"],
        outcomes=[Outcome(0.5, ["there", "not here"]), Outcome(0.5, ["not here"])],
        cost=5,
    )
    if mend:
        domain.action("mend", {}, requires=["here"], provides=["bridge"], cost=2, risk=0.5)
    return domain.problem(initial=["here", "bridge"], goal=goal)


@pytest.mark.parametrize("search", SEARCHES)
def test_success_comes_first_and_then_the_cost(search):
    decision = decide(bridge(), search=search)
    assert decision.status is Status.OPTIMAL
    assert decision.policy.success == decision.success_bound == 0.875
    assert decision.policy.cost == decision.cost_bound == 1 + 0.25 * 5
    mended = decide(bridge(mend=True), search=search)
    assert mended.policy.success == 1.0
    assert mended.policy.cost == pytest.approx((1 + 0.25 * 4) / 0.75)


def test_giving_up_is_weighed_against_the_cost():
    cheap = decide(bridge(), objective=Objective.COST, penalty=3)
    assert cheap.policy.success == 0.75
    assert cheap.expected_cost == cheap.cost_bound == 1 + 0.25 * 3
    dear = decide(bridge(), objective=Objective.COST, penalty=100)
    assert dear.policy.success == 0.875
    at_once = decide(bridge(), objective=Objective.COST, penalty=0.5)
    assert at_once.status is Status.OPTIMAL
    assert len(at_once.policy) == 1
    assert at_once.policy.success == 0


def test_cost_without_a_penalty_says_that_success_comes_first():
    assert "success comes first" in decide(bridge(), objective=Objective.COST).reason
    assert not decide(bridge(mend=True), objective=Objective.COST).reason


def test_no_execution_passes_the_budget():
    problem = replace(bridge(mend=True), budgets={COST: 4})
    decision = decide(problem)
    assert decision.policy.success == pytest.approx(0.75 + 0.25 * 0.5 * 0.75)
    assert max(run.cost for run in executions(problem, decision.policy, 300)) == 4
    assert decision.policy.next_step([Atom("here"), Atom("bridge")], spent={"cost": 0}).action == "cross"
    assert decision.policy.next_step([Atom("here"), Atom("bridge")], spent={"cost": 3}).action == "cross"
    assert decision.policy.next_step([Atom("here")], spent={"cost": 1}).action == "mend"
    assert decision.policy.next_step([Atom("here")], spent={"cost": 2}) is None


def test_resources_have_budgets_too():
    domain = Domain("calls")
    domain.action("ask", {}, provides=["known"], risk=0.5, uses={"tokens": 10})
    problem = replace(domain.problem(initial=[], goal=["known"]), budgets={"tokens": 35})
    decision = decide(problem)
    assert decision.policy.success == 1 - 0.5**3
    with pytest.raises(PlanError, match="over the budget of 35"):
        evaluate(problem, Stubborn(Step("ask"), Atom("known")))


class Stubborn:
    """Takes one step until a fact holds."""

    def __init__(self, step, until):
        self.step, self.until = step, until

    def next_step(self, facts, **_):
        return None if self.until in facts else self.step


def test_utility_within_a_budget():
    domain = Domain("tour")

    class Place(Entity):
        """A place to see."""

    domain.action("see", {"place": Place}, provides=["seen(place)"], cost=2, risk=0.5)
    goal = {"hard": [], "soft": {"seen(tower)": 5, "seen(bridge)": 4}}
    problem = domain.problem(objects=[Place("tower"), Place("bridge")], initial=[], goal=goal)
    decision = decide(replace(problem, budgets={COST: 4}), objective=Objective.UTILITY)
    assert decision.policy.utility == decision.utility_bound == pytest.approx(0.5 * (5 + 0.5 * 4) + 0.5 * 0.5 * 5)
    assert decide(problem, objective=Objective.UTILITY).policy.utility == pytest.approx(9)


def test_a_goal_that_no_outcome_reaches():
    domain = Domain("never")
    domain.action("try", {}, requires=["b"], provides=["a"], modifies=["b"], risk=0.5)
    decision = decide(domain.problem(initial=[], goal=["a"]))
    assert decision.status is Status.UNSOLVABLE
    assert decision.is_proved
    assert not decision.has_policy
    assert "a" in decision.reason
    with pytest.raises(NoPlan):
        decision.expect_policy()


def test_a_goal_that_the_budget_does_not_allow():
    decision = decide(replace(bridge(), budgets={COST: 0}))
    assert decision.status is Status.UNSOLVABLE
    assert decision.success_bound == 0


@pytest.mark.parametrize("seed", range(20))
def test_certain_problems_have_the_cost_of_the_best_plan(seed):
    problem = random_problem(seed, STRIPS)
    result, decision = solve(problem, mode="optimal"), decide(problem)
    if not result.has_plan:
        assert decision.status is Status.UNSOLVABLE
        return
    assert decision.cost_bound == pytest.approx(float(result.cost))
    assert decision.policy.success == 1.0
    node, steps = decision.policy.nodes[0], []
    while node.step is not None:
        steps.append(node.step)
        node = decision.policy.nodes[node.branches[0].node]
    assert validate(problem, steps).valid


def test_time_that_is_up_leaves_what_is_known():
    decision = decide(bridge(), time_limit=0)
    assert decision.status is Status.UNKNOWN
    assert decision.stopped_by is StoppedBy.TIME
    assert not decision.has_policy
    cancelled = threading.Event()
    cancelled.set()
    assert decide(bridge(), cancel=cancelled).stopped_by is StoppedBy.CANCELLED


def many_coins(count):
    domain = Domain("coins")

    class Coin(Entity):
        """Heads or tails."""

    domain.action(
        "toss",
        {"coin": Coin},
        provides=["heads(coin)"],
        outcomes=[Outcome(0.5, ["heads(coin)"]), Outcome(0.5, ["not heads(coin)"])],
    )
    coins = [Coin(f"c{number}") for number in range(count)]
    return domain.problem(objects=coins, initial=[], goal=[f"heads({coin.name})" for coin in coins])


@pytest.mark.usefixtures("counted_clock")
def test_what_was_not_proved_is_bounded():
    decision = decide(many_coins(40), time_limit=0.5)
    assert decision.stopped_by is StoppedBy.TIME
    assert decision.status in (Status.SOLVED, Status.UNKNOWN)
    assert decision.success_bound == 1.0
    assert decision.cost_bound <= 80


def test_a_policy_in_words():
    assert str(decide(bridge(mend=True)).policy).splitlines() == [
        "1. cross()",
        "     75 %: there, not here → the goal",
        "     25 %: not bridge → 2",
        "2. mend()",
        "     50 %: bridge → 1",
        "     50 %: nothing changes → again",
    ]


def test_a_decision_in_words():
    line = decide(bridge()).describe()
    assert "OPTIMAL" in line
    assert "success 87.5 %" in line
    assert "expected cost 2.25" in line


def test_a_decision_as_data():
    data = json.loads(json.dumps(decide(bridge()).to_dict()))
    assert (data["status"], data["success"], data["expected_cost"]) == ("OPTIMAL", 0.875, 2.25)
    assert data["validated"]
    assert data["policy"]["nodes"][0]["step"] == {"action": "cross", "arguments": [], "cost": 1}
    assert json.loads(json.dumps(decide(replace(bridge(), budgets={COST: 0})).to_dict()))["cost_bound"] is None


def test_states_that_nobody_foresaw_have_no_step():
    policy = decide(bridge()).policy
    lost = policy.node([])
    assert lost.step is None
    assert not lost.is_goal
    assert policy.node([Atom("bridge")]) is None
    assert policy.node([Atom("there"), Atom("here"), Atom("bridge")]) is None
    assert policy.next_step([Atom("there"), Atom("here"), Atom("bridge")]) is None
    assert policy.next_step([Atom("here"), Atom("bridge"), Atom("unrelated")]).action == "cross"


def test_what_ran_tells_states_apart():
    domain = Domain("after")
    domain.action("first", {}, provides=["a"], risk=0.5)
    domain.action("second", {}, requires=["a"], provides=["done"], after=["first"])
    problem = domain.problem(initial=["a"], goal=["done"])
    policy = decide(problem).policy
    assert policy.next_step([Atom("a")]).action == "first"
    assert policy.next_step([Atom("a")], ran=[Atom("first")]).action == "second"
    assert evaluate(problem, policy).cost == pytest.approx(3)


def test_executions_agree_with_what_is_claimed():
    for problem in (bridge(), bridge(mend=True), replace(bridge(mend=True), budgets={COST: 4})):
        policy = decide(problem).policy
        runs = [*executions(problem, policy, 2000, seed=1)]
        rate = sum(run.success for run in runs) / len(runs)
        assert abs(rate - policy.success) <= 4 * math.sqrt(policy.success * (1 - policy.success) / len(runs)) + 1e-12
        costs = [float(run.cost) for run in runs]
        mean = sum(costs) / len(costs)
        spread = math.sqrt(sum((cost - mean) ** 2 for cost in costs) / len(costs))
        assert abs(mean - policy.cost) <= 4 * spread / math.sqrt(len(runs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "astar"}, "there is no search 'astar' for policies"),
        ({"objective": "success"}, "'success' is no objective"),
        ({"objective": Objective.COST, "penalty": -1}, "may not be negative"),
        ({"objective": Objective.COST, "penalty": "8"}, "is a number, 0 or more, not '8'"),
        ({"penalty": 3}, "only the objective COST"),
        ({"exploration": 1}, "for search 'mcts' only"),
        ({"exploration": -1, "search": "mcts"}, "a number, 0 or more, got -1"),
        ({"exploration": "much", "search": "mcts"}, "a number, 0 or more, got 'much'"),
        ({"exploration": float("inf"), "search": "mcts"}, "a number, 0 or more, got inf"),
        ({"time_limit": -1}, "the time limit must be"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        decide(bridge(), **options)


def test_what_is_no_problem_is_refused():
    with pytest.raises(InputError, match="expected a problem, got a str"):
        decide("bridge")


def test_what_is_not_taken_is_said():
    domain = Domain("till")
    domain.function("amount")
    domain.action("read", senses=["amount"])
    domain.action("pay", requires=["amount <= 5"], provides=["paid"])
    decision = decide(domain.problem(goal=["paid"], unknown=["amount"], values={"amount": 3}))
    assert decision.status is Status.UNSUPPORTED
    assert "unknown numbers" in decision.reason


@pytest.mark.parametrize("exploration", [0, 0.7, 3])
def test_the_weight_of_exploration_changes_no_optimum(exploration):
    decision = decide(bridge(), search="mcts", exploration=exploration)
    assert decision.status is Status.OPTIMAL
    assert decision.expect_policy().cost == pytest.approx(decide(bridge()).expect_policy().cost)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: [], "this is no policy"),
        (lambda data: data | {"nodes": [1]}, "node 0 is no node"),
        (lambda data: with_node(data, step={"action": "fly", "arguments": []}), "no action 'fly'"),
        (lambda data: with_node(data, step={"action": "cross", "arguments": ["a"]}), "is given 1 arguments"),
        (lambda data: with_node(data, step="cross"), "its step is none"),
        (lambda data: with_node(data, facts=["a("]), "lacks a"),
        (lambda data: with_node(data, branches=[{"probability": 1, "node": 99}]), "is no branch"),
        (lambda data: data | {"cost": "much"}, "is no number"),
    ],
)
def test_data_that_is_no_policy(change, message):
    problem = bridge()
    with pytest.raises(PlanError, match=message):
        Policy.from_dict(change(decide(problem).policy.to_dict()), problem)


def with_node(data, **changes):
    first, *others = data["nodes"]
    return data | {"nodes": [first | changes, *others]}


def test_a_decision_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="has_policy"):
        bool(decide(bridge()))


@pytest.mark.parametrize("search", [None, "lao", "vi", "mcts"])
def test_of_equally_good_policies_the_one_that_pays_late_is_chosen(search):
    shop = Domain("shop")
    shop.action("pay", provides=["paid"], tags=["irreversible"], risk="0.1")
    shop.action("prepare", provides=["prepared"], risk="0.2")
    shop.action("seal", requires=["prepared", "paid"], provides=["sealed"])
    found = decide(shop.problem(goal=["sealed"]), search=search, simulations=2000 if search == "mcts" else None)
    assert [node.step and node.step.action for node in found.policy.nodes] == ["prepare", "pay", "seal", None]
