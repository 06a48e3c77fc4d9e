"""An irreversible step that pays all orders at once is known by each of them, as evidence and by other steps."""

import pytest

from executor import ExecutionPolicy, Executor, Journal, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, When

MODELS = ("sequential", "parallel", "dag", "reactive")
DUE = {"due(o)": ["due(o)"], "all": []}
"""Conditions of the effect on an order."""


class Bank:
    """A bank that counts its payments: of all orders at once, or of one; `paying` says what becomes of the former."""

    def __init__(self, paying, requires=("due(o)",), watched=(), retries=0):
        self.domain, self.payments, self.due = Domain("bank", types=["order"]), [], {"o7", "o8"}
        self.paying = paying
        self.domain.predicate("due", "order")
        self.domain.predicate("open", "order")
        self.domain.predicate("paid", "order")
        ways = [When(requires=list(requires), provides=["paid(o)", "not due(o)"], variables={"o": "order"})]
        self.domain.action("pay_all", {}, when=ways, tags=["irreversible"])
        late = {"provides": ["paid(o)", "not due(o)"], "tags": ["irreversible"], "cost": 9}
        self.domain.action("pay", {"o": "order"}, requires=["open(o)"], **late)
        self.world = World(self.domain)
        self.world.handler("pay_all", policy=ExecutionPolicy(retries=retries))(self.pay_all)
        self.world.handler("pay")(lambda o: self.payments.append(f"pay({o})"))
        for name in watched:
            self.world.observer(f"{name}(o)", conclusive=True, settle_within=0)(
                lambda o, name=name: (str(o) in self.due) is (name == "due")
            )

    def pay_all(self):
        self.payments.append("pay_all()")
        self.paying(self)

    def run(self, executor, *goal, initial=()):
        objects = {"o7": "order", "o8": "order"}
        initial = ["due(o7)", "due(o8)", *initial]
        return executor.run(self.domain.problem(objects=objects, initial=initial, goal=list(goal)), join=False)


def break_off(bank):
    """Pay the first order; then the line is dead."""
    bank.due.discard("o7")
    raise ConnectionError("the line is dead")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("requires", DUE)
def test_a_part_of_what_was_to_be_paid_is_a_sign_that_it_was_done(requires, model, tmp_path):
    """What is due no more is no part of what the payment would bring now, and tells that it has begun."""
    bank = Bank(break_off, DUE[requires], watched=["due"], retries=3)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(bank.world, journal, model=model)
            return [await bank.run(executor, "paid(o7)", "paid(o8)") for _ in range(2)]

    first, _ = run_virtual(main())
    assert bank.payments == ["pay_all()"]
    assert first.status is RunStatus.IN_DOUBT


@pytest.mark.parametrize("requires", DUE)
@pytest.mark.parametrize("goals", [(["paid(o7)", "paid(o8)"], ["paid(o7)"]), (["paid(o7)"], ["paid(o7)", "paid(o8)"])])
def test_one_of_what_was_paid_in_doubt_is_not_paid_by_itself(goals, requires, tmp_path):
    bank = Bank(break_off, DUE[requires])

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(bank.world, journal)
            first = await bank.run(executor, *goals[0])
            return first, await bank.run(executor, *goals[1], initial=["open(o7)"])

    first, later = run_virtual(main())
    assert bank.payments == ["pay_all()"]
    assert first.status is RunStatus.IN_DOUBT
    assert later.questions


@pytest.mark.parametrize("fault", ["", "raises"])
@pytest.mark.parametrize("model", MODELS)
def test_a_condition_that_ends_meanwhile_makes_no_second_attempt(model, fault, tmp_path):
    """The express desk closes while the handler works, which sends all letters by the normal way instead."""
    domain, sent, desk = Domain("post", types=["letter"]), [], {"express"}
    domain.predicate("express")
    ways = [
        When(requires=["express"], provides=["sent_express(x)"], variables={"x": "letter"}),
        When(requires=["not express"], provides=["sent_normal(x)"], variables={"x": "letter"}),
    ]
    for way in ("express", "normal"):
        domain.predicate(f"sent_{way}", "letter")
    domain.action("send_all", {}, when=ways, tags=["irreversible"])
    world = World(domain)

    @world.handler("send_all", policy=ExecutionPolicy(retries=3))
    async def send_all() -> None:
        desk.clear()
        sent.append("normal")
        if fault:
            raise ConnectionError("the line is dead")

    world.observer("express", conclusive=True, settle_within=0)(lambda: bool(desk))
    for way in ("express", "normal"):
        world.observer(f"sent_{way}(x)", conclusive=True, settle_within=0)(lambda x, way=way: way in sent)  # noqa: ARG005

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor, goal = Executor(world, journal, model=model), ["(or (sent_express l1) (sent_normal l1))"]
            problem = domain.problem(objects={"l1": "letter", "l2": "letter"}, initial=["express"], goal=goal)
            return [await executor.run(problem, join=False) for _ in range(2)]

    run_virtual(main())
    assert sent == ["normal"]
