"""What a check reports is believed, however often it reports, unless it contradicts itself or an observer sees better.

A receipt is within the limit, and cleared by a clerk, or over it, and cleared by the boss; then it is paid. The way
that it was cleared, and the payments, are counted in the world.
"""

import itertools

import pytest

from executor import ActionResult, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Atom, Domain, Outcome

MODELS = ("sequential", "parallel", "dag", "reactive", "policy")
OVER, WITHIN, BOTH = ("over(x)",), ("within(x)",), ("over(x)", "within(x)")
REPORTS = {
    "over": [OVER],
    "within": [WITHIN],
    "over, then within": [OVER, WITHIN],
    "both at once": [BOTH],
    "both in the other order": [BOTH[::-1]],
    "over and not over": [(*OVER, "not over(x)")],
    "not over and over": [("not over(x)", *OVER)],
    "within and not within": [(*WITHIN, "not within(x)")],
    "not within": [("not within(x)",)],
    "over, not within": [(*OVER, "not within(x)")],
}
"""What each call of the check reports, the last one for ever."""
BELIEVED = {
    "over": "over",
    "within": "within",
    "over, then within": "within",
    "over, not within": "over",
}
"""The outcome that is believed in the end where nobody looks; after the others, none is."""
SIGHTS = ("nobody", "conclusive over", "conclusive within", "vague over", "vague within")
MOST_CHECKS = 200


class Desk:
    """A desk at which receipts are checked, cleared and paid; `sight` is who sees which outcome after a check."""

    def __init__(self, reports, sight="nobody", *, tags=("read_only", "trusted"), excludes=False, cost=1):
        self.done, self.domain, self.reports = (
            [],
            Domain("expenses", types=["receipt"]),
            itertools.chain(reports, itertools.repeat(reports[-1])),
        )
        self._declare(tags, excludes, cost)
        self.world = World(self.domain)
        self.world.handler("check")(self.check)
        for name in ("clear", "ask_boss", "pay"):
            self.world.handler(name)(lambda x, name=name: self.done.append(name))  # noqa: ARG005 - the receipt
        kind, _, seen = sight.partition(" ")
        for outcome in ("over", "within") if seen else ():
            observe = self.world.observer(f"{outcome}(x)", conclusive=kind == "conclusive")
            observe(lambda x, outcome=outcome: outcome == seen and "check" in self.done)  # noqa: ARG005 - as above

    def _declare(self, tags, excludes, cost):
        receipt = {"x": "receipt"}
        within = ["within(x)", *(["not over(x)"] if excludes else [])]
        over = ["over(x)", *(["not within(x)"] if excludes else [])]
        either = [Outcome("0.8", within), Outcome("0.2", over)]
        declare = self.domain.action
        declare("check", receipt, provides=within, tags=tags, outcomes=either, cost=cost)
        declare("clear", receipt, requires=["within(x)"], provides=["cleared(x)"], tags=["trusted"])
        declare("ask_boss", receipt, requires=["over(x)"], provides=["cleared(x)"], cost=9, tags=["trusted"])
        declare("pay", receipt, requires=["cleared(x)"], provides=["paid(x)"], tags=["trusted", "irreversible"])

    def check(self, x):
        self.done.append("check")
        assert self.done.count("check") < MOST_CHECKS
        return ActionResult(observed=[each.replace("x", str(x)) for each in next(self.reports)])

    def run(self, model):
        problem = self.domain.problem(objects={"r3": "receipt"}, goal=["paid(r3)"])
        return run_virtual(Executor(self.world, model=model).run(problem))


def beliefs_of(outcome):
    return {name: outcome.state.beliefs.holds(Atom(name, ("r3",))) for name in ("over", "within")}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("reports", REPORTS)
def test_the_outcome_that_was_seen_or_else_reported_is_believed_and_paid_for_once(reports, sight, model):
    desk = Desk(REPORTS[reports], sight, excludes=True)
    outcome = desk.run(model)
    believed = sight.partition(" ")[2] or BELIEVED.get(reports)
    done = [each for each in desk.done if each != "check"]
    if believed is None:
        assert done == []
        assert outcome.status is RunStatus.FAILED
        assert True not in beliefs_of(outcome).values()
        return
    assert done == ["ask_boss" if believed == "over" else "clear", "pay"]
    assert outcome.status is RunStatus.SUCCEEDED
    assert beliefs_of(outcome) == {"over": believed == "over", "within": believed == "within"}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("excludes", [False, True])
@pytest.mark.parametrize(("cost", "most"), [(1, MOST_CHECKS), (90, 1)])
def test_an_unlikely_outcome_is_believed_the_first_time_and_each_time_after(cost, most, excludes, model):
    desk = Desk([OVER], cost=cost, excludes=excludes)
    assert desk.run(model).succeeded
    assert desk.done[-2:] == ["ask_boss", "pay"]
    assert desk.done[:-2] == ["check"] * len(desk.done[:-2])
    assert len(desk.done[:-2]) <= most


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", [("read_only",), ("read_only", "trusted"), ("idempotent",), ()])
@pytest.mark.parametrize("reports", ["both at once", "over and not over"])
def test_a_report_that_contradicts_itself_is_told_and_carries_no_payment(reports, tags, model):
    desk = Desk(REPORTS[reports], tags=tags)
    outcome = desk.run(model)
    assert "pay" not in desk.done
    assert outcome.steps[0].status is StepStatus.UNVERIFIED
    told = {each.reason for each in outcome.state.disagreements}
    assert len(told) == 1
    assert min(told).startswith("check(r3) contradicts itself about ")


@pytest.mark.parametrize("reported", [("paid", "not paid"), ("paid", "declined")])
@pytest.mark.parametrize("tags", [["irreversible"], ["irreversible", "trusted"]])
def test_an_irreversible_step_whose_report_contradicts_itself_is_in_doubt(tags, reported):
    domain, paid = Domain("till"), []
    either = [Outcome("0.9", ["paid"]), Outcome("0.1", ["declined"])]
    domain.action("pay", {}, provides=["paid"], outcomes=either, tags=tags)
    world = World(domain)
    world.handler("pay")(lambda: paid.append(1) or ActionResult(observed=reported))
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["paid"])))
    assert paid == [1]
    assert outcome.steps[0].status is StepStatus.IN_DOUBT
    assert "contradicts itself" in outcome.questions[0].text


@pytest.mark.parametrize("order", [("not done", "done"), ("done", "not done")])
@pytest.mark.parametrize("sees", [False, True])
def test_an_observer_decides_where_a_report_contradicts_itself(sees, order):
    domain = Domain("office")
    domain.action("do", {}, provides=["done"], tags=["trusted"])
    world = World(domain)
    world.handler("do")(lambda: ActionResult(observed=order))
    if sees:
        world.observer("done")(lambda: True)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["done"])))
    assert outcome.succeeded is sees
