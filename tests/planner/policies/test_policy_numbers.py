"""Policies where outcomes change numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from planner import Domain, Problem, Status
from planner.model import Action, Atom, Comparison, DomainModel, Function, Goal, NumericEffect, NumericMetric, Outcome
from planner.model.formulas import Arithmetic, conjunction
from planner.plan import Step
from planner.policies.decide import decide
from planner.policies.decision import Objective
from planner.policies.evaluation import Declared, evaluate, executions
from planner.policies.policy import Policy

HALF = Decimal("0.5")
WATER, COINS = Atom("water"), Atom("coins")


def pump(high: int | None = None, *, goal: int = 4) -> Problem:
    """Return a problem with water to be drawn, one or two units at a time."""
    outcomes = tuple([Outcome(HALF, numbers=(NumericEffect(WATER, "+=", amount),)) for amount in (2, 1)])
    draw = Action("draw", numbers=outcomes[0].numbers, outcomes=outcomes)
    domain = DomainModel("pump", functions={"water": Function("water", (), 0, high)}, actions={"draw": draw})
    return Problem("p", domain, goal=Goal(Comparison(WATER, ">=", goal)), values={WATER: 0})


@pytest.mark.parametrize("search", [None, "lao", "vi"])
def test_expected_costs_are_exact_over_values(search: str | None) -> None:
    found = decide(pump(6), search=search)
    assert found.status is Status.OPTIMAL
    assert found.validated
    policy = found.expect_policy()
    assert (policy.success, policy.cost) == (1, 2.875)
    assert policy.next_step((), values={WATER: 3}) is not None
    assert policy.next_step((), values={WATER: 4}) is None
    assert evaluate(pump(6), policy).cost == 2.875
    assert all(each.success for each in executions(pump(6), policy, 20))


def test_a_step_one_of_whose_outcomes_would_leave_the_bounds_cannot_be_taken() -> None:
    problem = pump(4)
    found = decide(problem)  # from 3, two units would be too many
    assert found.status is Status.OPTIMAL
    assert found.policy.success == 0.375
    step, last = Step("draw"), Declared(replace(problem, values={WATER: 3}))
    assert last.find_objection(last.initial, step) is not None
    first = Declared(problem)
    assert first.find_objection(first.initial, step) is None


def test_values_that_grow_without_end_end_at_the_goal_or_at_a_limit() -> None:
    assert decide(pump(), time_limit=5, search="lao").has_policy
    hopeless = replace(pump(), goal=Goal(conjunction([Comparison(WATER, ">=", 4), Comparison(WATER, "<=", 3)])))
    assert decide(hopeless, time_limit=1).status is Status.UNKNOWN


def test_policies_with_values_are_written_and_read() -> None:
    policy = decide(pump(6)).expect_policy()
    again = Policy.from_dict(policy.to_dict(), pump(6))
    assert again == policy
    assert evaluate(pump(6), again).cost == 2.875
    assert "water = 2" in str(policy)


def test_values_and_facts_decide_together() -> None:
    domain = Domain("bets")
    domain.function("coins", low=0, high=4)
    domain.action("play", requires="coins >= 1", modifies="coins -= 1", provides="won", risk="0.5")
    domain.action("earn", modifies="coins += 1", cost=3)
    problem = domain.problem(values={"coins": 2}, goal="won")
    found = decide(problem)
    assert found.status is Status.OPTIMAL
    assert found.policy.success == 1
    assert evaluate(problem, found.policy).cost == found.policy.cost


@pytest.mark.parametrize("search", [None, "lao", "vi", "mcts"])
def test_policies_minimise_and_maximise_metrics_of_numbers(search: str | None) -> None:
    least = decide(replace(pump(6), metric=NumericMetric(WATER)), search=search)
    assert least.status is Status.OPTIMAL
    assert least.validated
    assert least.policy.cost == pytest.approx(4.3125)  # 2.875 draws of one and a half units each
    most = decide(replace(pump(6), metric=NumericMetric(WATER, maximize=True)), search=search)
    assert most.status is Status.OPTIMAL
    assert most.policy.cost == pytest.approx(-5.34375)  # 4 is met with 11/16, and one draws once more there


@pytest.mark.parametrize("search", [None, "lao", "vi", "mcts"])
def test_budgets_hold_in_all_executions_beside_numbers(search: str | None) -> None:
    found = decide(replace(pump(), budgets={"cost": 3}), search=search)
    assert found.status is Status.OPTIMAL
    assert (found.policy.success, found.policy.cost) == (0.875, 2.75)


@pytest.mark.parametrize("search", [None, "lao", "vi", "mcts"])
@pytest.mark.parametrize(("budget", "success"), [(3, 0.875), (4, 1)])
def test_a_budget_on_the_cost_beside_a_metric_counts_what_actions_cost(
    search: str | None, budget: int, success: float
) -> None:
    problem = replace(pump(), metric=NumericMetric(WATER), budgets={"cost": budget})
    found = decide(problem, search=search)
    assert found.status is Status.OPTIMAL
    assert found.validated
    assert found.policy.success == success
    assert evaluate(problem, found.policy).success == success


def test_a_metric_without_bounds_is_searched_through_or_refused() -> None:
    problem = replace(pump(), metric=NumericMetric(WATER, maximize=True))
    found = decide(problem, time_limit=2)
    assert found.status in (Status.SOLVED, Status.UNKNOWN)
    named = decide(problem, search="lao", time_limit=2)
    assert named.status is Status.UNSUPPORTED
    assert "no bound" in named.reason


def test_a_metric_that_falls_with_the_cost_is_refused() -> None:
    metric = NumericMetric(Arithmetic("-", (WATER, Atom("total-cost"))))
    found = decide(replace(pump(6), metric=metric))
    assert found.status is Status.UNSUPPORTED
    assert "falls with the cost" in found.reason


def test_the_search_by_plans_takes_no_numbers() -> None:
    assert "numbers" in decide(pump(), search="plans").reason


def random_problem(seed: int) -> Problem:
    """Return a random problem with two bounded fluents and uncertain changes of them."""
    rng = random.Random(seed)
    functions = {name: Function(name, (), 0, rng.choice([2, 3, 4])) for name in ("water", "coins")}

    def effects() -> tuple[NumericEffect, ...]:
        chosen = rng.sample([WATER, COINS], rng.choice([1, 1, 2]))
        other = {WATER: COINS, COINS: WATER}
        return tuple(
            [
                NumericEffect(each, rng.choice(["+=", "+=", "-=", ":="]), rng.choice([1, 1, 2, HALF, other[each]]))
                for each in chosen
            ]
        )

    def test() -> Comparison:
        return Comparison(rng.choice([WATER, COINS]), rng.choice(["<", "<=", "=", ">=", ">"]), rng.choice([0, 1, 2, 3]))

    actions = {}
    for number in range(rng.randint(2, 4)):
        fact = Atom(f"p{rng.randint(0, 1)}")
        share = Decimal(rng.choice(["0.25", "0.5"]))
        outcomes = (Outcome(share, numbers=effects()), Outcome(1 - share, (fact,), numbers=effects()))
        known = outcomes if rng.random() < 0.7 else ()
        requires = conjunction([test()] if rng.random() < 0.5 else [])
        actions[f"a{number}"] = Action(
            f"a{number}",
            requires=requires,
            provides=outcomes[0].provides,
            numbers=outcomes[0].numbers,
            outcomes=known,
            cost=(rng.randint(1, 3),),
        )
    domain = Domain("random")
    domain.predicate("p0")
    domain.predicate("p1")
    model = replace(domain.model, functions=functions, actions=actions)
    goal = conjunction([test(), *([Atom("p0")] if rng.random() < 0.5 else [])])
    return Problem("random", model, goal=Goal(goal), values={WATER: rng.randint(0, 1), COINS: rng.randint(0, 1)})


def best_success(problem: Problem) -> float | None:
    """Return the greatest probability of success by value iteration over declared states; None where they are many."""
    declared = Declared(problem)
    states, numbers, moves = [declared.initial], {}, []

    def number_of(state) -> int:
        key = state.facts, frozenset(state.values.items())
        if key not in numbers:
            numbers[key] = len(numbers)
            if numbers[key]:
                states.append(state)
        return numbers[key]

    number_of(declared.initial)
    for state in states:
        if len(states) > 300:
            return None
        steps = [each for each in state.applicable() if declared.find_objection(state, each) is None]
        moves.append([[(share, number_of(after)) for share, after in declared.outcomes(state, step)] for step in steps])
    values = [float(state.holds(problem.goal.hard)) for state in states]
    for _ in range(3000):
        values = [
            max([value, *[sum(share * values[after] for share, after in each) for each in own]])
            for value, own in zip(values, moves, strict=True)
        ]
    return values[0]


@pytest.mark.parametrize("block", range(4))
def test_policies_are_as_good_as_value_iteration_over_declared_states(block: int) -> None:
    compared = uncertain = 0
    for seed in range(block * 20, block * 20 + 20):
        problem = random_problem(seed)
        best = best_success(problem)
        if best is None:
            continue
        found = decide(problem, time_limit=20)
        assert found.status is (Status.OPTIMAL if best else Status.UNSOLVABLE), f"{seed}: {found.describe()}"
        if best:
            assert found.policy.success == pytest.approx(best, abs=1e-6), seed
            assert found.validated
        compared += 1
        uncertain += 0 < best < 1
    assert compared > 10


def test_penalties_weigh_numbers_too() -> None:
    found = decide(pump(4), objective=Objective.COST, penalty=10)
    assert found.status is Status.OPTIMAL
    assert found.expected_cost == pytest.approx(found.policy.cost + 10 * 0.625)
