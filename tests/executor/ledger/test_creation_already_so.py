"""What is seen to be there is not created once more, where the goal only wants that there is one."""

from __future__ import annotations

import pytest

from executor import ActionResult, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")


class Desk:
    """A desk that opens tickets and assigns them; `there` are the tickets that there are, `made` those that it made."""

    def __init__(self, model: str) -> None:
        self.domain, self.there, self.made = Domain("desk", types=["ticket"]), list[str](), list[str]()
        self.by_hand, self.model = "", model
        self.domain.action("prepare", {}, provides=["prepared"])
        self.domain.action("create", {}, creates={"t": "ticket"}, provides=["opened(t)"], tags=["irreversible"])
        self.domain.action("assign", {"t": "ticket"}, requires=["opened(t)"], provides=["assigned(t)"])
        self.world, self.assigned = World(self.domain), list[str]()
        self.world.handler("prepare")(lambda: self.there.extend([self.by_hand] if self.by_hand else []))
        self.world.handler("create")(self.create)
        self.world.handler("assign")(lambda t: self.assigned.append(str(t)))
        self.world.observer("opened(_)", conclusive=True, settle_within=0)(lambda: self.there)
        self.world.observer("assigned(_)", conclusive=True, settle_within=0)(lambda: self.assigned)

    def create(self) -> ActionResult:
        self.made.append(f"made-{len(self.made)}")
        self.there.append(self.made[-1])
        return ActionResult(created={"t": self.made[-1]})

    def run(self, *goal: str, **terms):
        executor = Executor(self.world, model=self.model)
        return run_virtual(executor.run(self.domain.problem(goal=goal, **terms), join=False))


OPENED, ASSIGNED = "(exists (?t - ticket) (opened ?t))", "(exists (?t - ticket) (assigned ?t))"


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_there_before_the_run_is_not_created(model, is_known):
    desk = Desk(model)
    desk.there.append("t0")
    outcome = desk.run(OPENED, **({"objects": {"t0": "ticket"}} if is_known else {}))
    assert (outcome.status, desk.made) == (RunStatus.SUCCEEDED, [])


@pytest.mark.parametrize("goal", [OPENED, ASSIGNED])
@pytest.mark.parametrize("model", MODELS)
def test_what_somebody_creates_meanwhile_is_not_created(model, goal):
    desk = Desk(model)
    desk.by_hand = "t0"
    if goal == ASSIGNED:
        desk.assigned.append("t0")
    outcome = desk.run("prepared", goal)
    assert desk.made == []
    assert outcome.status is RunStatus.UNVERIFIED, "nobody sees what was prepared"


@pytest.mark.parametrize("model", MODELS)
def test_what_is_missing_is_created_once(model):
    desk = Desk(model)
    for _ in range(2):
        assert desk.run(ASSIGNED).status is RunStatus.SUCCEEDED
    assert (desk.made, desk.assigned) == (["made-0"], ["made-0"])


def test_a_ticket_of_each_order_is_created_though_there_are_others():
    domain, there = Domain("desk", types=["ticket", "order"]), [("t0", "o1")]
    domain.action("create", {"o": "order"}, creates={"t": "ticket"}, provides=["of(t, o)"], tags=["irreversible"])
    world = World(domain)

    @world.handler("create")
    def create(o):
        there.append((f"t{len(there)}", str(o)))
        return ActionResult(created={"t": there[-1][0]})

    world.observer("of(_, _)", conclusive=True, settle_within=0)(lambda: there)
    goal = "(forall (?o - order) (exists (?t - ticket) (of ?t ?o)))"
    problem = domain.problem(objects={"o1": "order", "o2": "order"}, goal=[goal])
    assert run_virtual(Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    assert there == [("t0", "o1"), ("t1", "o2")]
