"""A run in time refuses actions with several outcomes: it would believe the intended one whatever is reported."""

from __future__ import annotations

import pytest

from executor import ActionResult, Executor, World
from executor.testing import run_virtual
from planner import Domain, Outcome, UnsupportedError


def test_nothing_is_paid_on_an_outcome_that_did_not_come_about() -> None:
    domain, paid = Domain("till"), list[str]()
    domain.predicate("within", tags=["trusted"])
    outcomes = [Outcome("0.9", ["within"], name="within"), Outcome("0.1", ["over"], name="over")]
    domain.action("check", provides=["within"], outcomes=outcomes, duration=1)
    domain.action("pay", requires=["within"], provides=["paid"], tags=["irreversible"], duration=1)
    world = World(domain)
    world.handler("check")(lambda: ActionResult(observed=("over",)))
    world.handler("pay")(lambda: paid.append("paid"))
    world.observer("paid", conclusive=True)(lambda: bool(paid))
    with pytest.raises(UnsupportedError, match="the outcomes of 'check' in a run in time"):
        run_virtual(Executor(world).run(domain.problem(goal=["paid"], objective="makespan")))
    assert not paid
