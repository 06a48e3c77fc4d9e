"""A policy goes on after a payment, however little is seen or reported of what came of it, and pays once."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from executor import ActionResult, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain, Outcome, decide

LIKELY, OTHER = ("paid", "prompt"), ("paid", "late")
FACTS = ("late", "paid", "prompt")
SEEN = [*chain.from_iterable(combinations(FACTS, number) for number in range(4))]


@pytest.mark.parametrize("reported", [(), ("paid",), ("prompt",), ("paid", "prompt")])
@pytest.mark.parametrize("seen", SEEN, ids=", ".join)
@pytest.mark.parametrize("came", [LIKELY, OTHER], ids=["likely", "other"])
def test_a_policy_goes_on_with_what_is_believed_after_a_payment(came, seen, reported):
    reported = tuple(each.replace("prompt", came[1]) for each in reported)
    domain, bank = Domain("desk"), list[str]()
    outcomes = [Outcome("0.4", OTHER), Outcome("0.6", LIKELY)]
    domain.action("pay", {}, outcomes=outcomes, tags=["irreversible"])
    for how in ("prompt", "late"):
        domain.action(f"file_{how}", {}, requires=["paid", how], provides=["filed"])
    world = World(domain)
    world.handler("pay")(lambda: bank.append("pay") or ActionResult(observed=reported))
    for how in ("prompt", "late"):
        world.handler(f"file_{how}")(lambda how=how: bank.append(how))
    for fact in seen:
        world.observer(fact, conclusive=True, settle_within=0)(lambda fact=fact: bool(bank) and fact in came)
    world.observer("filed", conclusive=True)(lambda: len(bank) > 1)
    outcome = run_virtual(Executor(world).run(decide(domain.problem(goal=["filed"]))))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    is_told = not {"late", "prompt"}.isdisjoint({*seen, *reported})
    assert bank == ["pay", came[1] if is_told else "prompt"]
    is_seen = {*came} <= {*seen}
    assert outcome.steps[0].status is (StepStatus.SUCCEEDED if is_seen else StepStatus.UNVERIFIED)
