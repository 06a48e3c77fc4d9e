"""What failed is not tried again in a state in which it failed, also when the repair fails and leads back there."""

import pytest

from executor import ExecutionPolicy, Executor, Recovery, Rung, RunStatus, World
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")


class Chest:
    """A chest that does not open, whatever the lamp does; each try is kept with the light in which it was made."""

    def __init__(self, *, opens=()):
        self.truth, self.tries, self.opens = set(), [], opens
        self.domain = domain = Domain("chest")
        domain.action("open", {}, provides=["opened"], tags=["idempotent"])
        domain.action("on", {}, requires=["not light"], provides=["light"])
        domain.action("off", {}, requires=["light"], provides=["not light"])
        self.world = World(domain)
        self.world.handler("open")(self.open)
        self.world.handler("on")(lambda: self.truth.add("light"))
        self.world.handler("off")(lambda: self.truth.discard("light"))
        for fact in ("light", "opened"):
            self.world.observer(fact, conclusive=True)(lambda fact=fact: fact in self.truth)

    async def open(self):
        self.tries.append("light" in self.truth)
        if len(self.tries) not in self.opens:
            return False
        self.truth.add("opened")
        return None

    def run(self, **options):
        return run_virtual(Executor(self.world, **options).run(self.domain.problem(goal=["opened"])))


@pytest.mark.parametrize("model", MODELS)
def test_a_repair_does_not_lead_back_to_where_it_failed(model):
    chest = Chest()
    chest.world.policy("open", ExecutionPolicy(retries=0))
    outcome = chest.run(model=model, recovery=Recovery(rungs=(Rung.PATCH, Rung.REPLAN)))
    assert outcome.status is RunStatus.FAILED
    assert chest.tries == [False, True]


def test_what_fails_at_first_may_do_in_another_state():
    chest = Chest(opens={2})
    chest.world.policy("open", ExecutionPolicy(retries=0))
    assert chest.run().status is RunStatus.SUCCEEDED
    assert chest.tries == [False, True]


def test_somebody_may_say_that_it_is_worth_trying_there_again():
    chest = Chest(opens={3})
    chest.world.policy("open", ExecutionPolicy(retries=0))
    outcome = chest.run(ask=lambda question: question.choices[0])
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(chest.tries) == 3


@pytest.mark.parametrize(
    ("tags", "policy", "is_said"),
    [
        ([], ExecutionPolicy(), True),
        (["idempotent"], ExecutionPolicy(), False),
        ([], ExecutionPolicy(retries=1), False),
    ],
)
def test_a_run_says_why_a_step_was_not_tried_again(tags, policy, is_said):
    domain = Domain("brewery")
    domain.action("boil", {}, provides=["boiled"], tags=tags)
    world = World(domain)
    world.handler("boil", policy=policy)(lambda: False)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["boiled"])))
    assert not outcome.succeeded
    why = "boil() was not tried again: boil is not tagged idempotent, and has no retries"
    assert (why in outcome.reason.splitlines()) is is_said
