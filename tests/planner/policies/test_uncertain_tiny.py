"""Probabilities next to 0 and 1: what is computed with them is exact, and unlikely is not impossible."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from planner import decide, solve
from planner.language.declare import Domain, Outcome
from planner.language.documents import read_documents
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import Status
from planner.policies import policy_iteration
from planner.policies.decision import Objective

SEARCHES = (None, "vi", "lao", "plans", "mcts")


def chain(length: int, forward: Fraction) -> dict[int, policy_iteration.Row]:
    """Return the numbers of steps to the end of a chain, which begins anew where a step does not lead on."""
    back = 1 - forward
    rows = {}
    for place in range(length):
        factors = {0: float(back)} if place == length - 1 else {place + 1: float(forward)}
        factors[0] = float(back)
        rows[place] = (1.0, float(forward) if place == length - 1 else 0.0, factors)
    return rows


def steps(length: int, forward: Fraction) -> Fraction:
    """Return the number of steps to the end of the chain from its beginning: 1/p + 1/p² + …."""
    return sum((1 / forward**power for power in range(1, length + 1)), Fraction(0))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("length", "forward"),
    [(1, Fraction(1, 10**27)), (12, Fraction(1, 100)), (30, Fraction(1, 10**5)), (5, Fraction(999, 1000))],
)
def test_equations_of_chains_that_are_hardly_left_are_exact(length: int, forward: Fraction, order: int) -> None:
    rows = dict(sorted(chain(length, forward).items(), reverse=order < 0))
    assert policy_iteration.solve_linear_system(rows)[0] == pytest.approx(float(steps(length, forward)), rel=1e-12)


@pytest.mark.parametrize(("few", "many"), [(0, 100), (0, 0)])
@pytest.mark.parametrize("forward", [Fraction(1, 2), Fraction(1, 1000)])
def test_other_solvers_give_up_where_digits_are_lost(
    few: int, many: int, forward: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_iteration, "FEW", few)
    monkeypatch.setattr(policy_iteration, "MANY", many)
    assert policy_iteration.solve_linear_system(chain(6, forward))[0] == pytest.approx(
        float(steps(6, forward)), rel=1e-9
    )


def declared(probability: Decimal, *, again: bool) -> Domain:
    """Return a domain with one action that gains the prize with this probability, and can be done `again` or not."""
    domain = Domain("lottery")
    lost = [] if again else ["not ticket"]
    domain.action(
        "draw",
        requires=["ticket"],
        provides=["prize", *lost],
        outcomes=[Outcome(probability, ["prize", *lost]), Outcome(1 - probability, lost)],
    )
    return domain


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("probability", [Decimal("1e-8"), Decimal("1e-12"), Decimal("1e-27")])
def test_what_is_tried_until_it_succeeds_succeeds(probability: Decimal, search: str | None) -> None:
    problem = declared(probability, again=True).problem(initial=["ticket"], goal=["prize"])
    decision = decide(problem, objective=Objective.SUCCESS, search=search, time_limit=20)
    assert decision.policy is not None
    assert decision.policy.success == pytest.approx(1, rel=1e-12)
    assert decision.policy.cost == pytest.approx(float(1 / probability), rel=1e-12)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("probability", [Decimal("1e-6"), Decimal("1e-10"), Decimal("1e-27")])
def test_unlikely_is_not_impossible(probability: Decimal, search: str | None) -> None:
    problem = declared(probability, again=False).problem(initial=["ticket"], goal=["prize"])
    decision = decide(problem, objective=Objective.SUCCESS, search=search, time_limit=20)
    assert decision.policy is not None
    assert decision.policy.success == pytest.approx(float(probability), rel=1e-12)
    assert decision.status is (Status.SOLVED if search == "plans" else Status.OPTIMAL)


@pytest.mark.parametrize("search", [None, "vi", "lao", "mcts"])
def test_impossible_stays_proved(search: str | None) -> None:
    """The relaxation has both facts at once, no state has."""
    domain = declared(Decimal("0.5"), again=False)
    problem = domain.problem(initial=["ticket"], goal=["prize", "ticket"])
    assert decide(problem, objective=Objective.SUCCESS, search=search, time_limit=20).status is Status.UNSOLVABLE


def test_tiny_probabilities_of_files() -> None:
    text = """domain: lottery
actions:
  draw: {requires: [ticket], provides: [prize], risk: 0.999999999999999999999999999}
---
problem: one
initial: [ticket]
goal: [prize]
"""
    (problem,) = read_documents(text).problems
    pddl = parse_domain(
        "(define (domain lottery) (:predicates (prize)) (:action draw :effect (probabilistic 1e-27 (prize))))"
    )
    other = parse_problem("(define (problem one) (:domain lottery) (:init) (:goal (prize)))", pddl)
    for each in (problem, other):
        found = decide(each, objective=Objective.SUCCESS).policy
        assert found is not None
        assert found.success == pytest.approx(1)
        assert solve(each).cost == 1
