"""A plan of payments is refused before the first one where nobody can see what a later one draws on."""

from __future__ import annotations

import pytest

from executor import Executor, World
from executor.testing import run_virtual
from planner import Domain
from planner.errors import PlanError


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_bound_is_a_condition_that_somebody_has_to_see(is_seen):
    domain = Domain("account")
    domain.function("balance", low=0)
    domain.function("due", low=0)
    domain.action("pay", modifies=["balance -= 10", "due -= 10"], tags=["irreversible"])
    world, bank = World(domain), list[str]()
    world.handler("pay")(lambda: bank.append("pay"))
    if is_seen:
        world.observer("balance", conclusive=True, settle_within=0)(lambda: 100 - 10 * len(bank))
        world.observer("due", conclusive=True, settle_within=0)(lambda: 20 - 10 * len(bank))
    problem = domain.problem(goal=["due == 0"], values={"balance": 100, "due": 20})
    if is_seen:
        assert run_virtual(Executor(world).run(problem)).succeeded
        assert bank == ["pay", "pay"]
        return
    with pytest.raises(PlanError, match=r"can never begin: it rests on .*, which pay.. changes"):
        run_virtual(Executor(world).run(problem))
    assert bank == []


def test_one_payment_rests_on_what_the_problem_says():
    domain = Domain("account")
    domain.function("balance", low=0)
    domain.action("pay", provides=["paid"], modifies=["balance -= 10"], tags=["irreversible"])
    world, bank = World(domain), list[str]()
    world.handler("pay")(lambda: bank.append("pay"))
    run_virtual(Executor(world).run(domain.problem(goal=["paid"], values={"balance": 100})))
    assert bank == ["pay"]


def test_an_amount_without_bounds_rests_on_nothing():
    domain = Domain("account")
    domain.function("given")
    domain.action("give", modifies=["given += 10"], tags=["irreversible"])
    world, bank = World(domain), list[str]()
    world.handler("give")(lambda: bank.append("give"))
    run_virtual(Executor(world).run(domain.problem(goal=["given >= 20"], values={"given": 0})))
    assert bank == ["give", "give"]
