"""Actions with several declared outcomes: whichever came about is believed, and the plan goes on from there."""

import asyncio

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Atom, Domain, Outcome

MODELS = ("sequential", "parallel", "dag", "reactive")
HEADS, TAILS = Atom("heads"), Atom("tails")


class Table:
    """A coin; `comes` says how it falls, in turn: as heads, tails, or on its edge: nothing changes."""

    def __init__(self, *comes, observed=True, conclusive=True, tags=(), edge=True):
        self.truth, self.comes, self.tosses = set(), list(comes), 0
        self.domain = Domain("table")
        self.domain.action(
            "toss",
            {},
            provides=["heads", "not tails"],
            outcomes=[
                Outcome("0.5", ["heads", "not tails"]),
                Outcome("0.4" if edge else "0.5", ["tails", "not heads"], name="tails"),
                *([Outcome("0.1", name="edge")] if edge else []),
            ],
            tags=tags,
        )
        self.world = World(self.domain)
        self.world.handler("toss", policy=ExecutionPolicy(timeout=5.0))(self.toss)
        if observed:
            for side in ("heads", "tails"):
                self.world.observer(side, conclusive=conclusive)(lambda side=side: side in self.truth)

    async def toss(self):
        self.tosses += 1
        how = self.comes.pop(0) if self.comes else "heads"
        if how in ("heads", "tails"):
            self.truth = {how}
        return how if isinstance(how, ActionResult) else None

    def run(self, goal, **options):
        plan = ActionPlan.model_validate({"goal": goal, "steps": [{"id": "1", "action": "toss"}], **options})
        return run_virtual(Executor(self.world).run(plan))


@pytest.mark.parametrize("how", ["heads", "tails", "edge"])
def test_any_declared_outcome_is_accepted_and_believed(how):
    table = Table(how)
    outcome = table.run([])
    assert outcome.steps[0].status is StepStatus.SUCCEEDED
    assert table.tosses == 1
    assert {fact.predicate for fact in (HEADS, TAILS) if outcome.state.beliefs.holds(fact)} == table.truth


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("others", [["tails"], ["edge"], ["tails"] * 9, ["tails", "edge"] * 4])
def test_the_plan_is_patched_from_the_outcome_that_was_seen(model, others):
    table = Table(*others)
    outcome = table.run(["heads"], model=model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert table.tosses == len(others) + 1
    assert not [each for each in outcome.steps if each.status is not StepStatus.SUCCEEDED]


def test_a_problem_with_such_actions_is_planned_and_run():
    table = Table("tails", "heads")
    outcome = run_virtual(Executor(table.world).run(table.domain.problem(goal=["heads"])))
    assert outcome.status is RunStatus.SUCCEEDED


def test_what_a_handler_reports_decides_where_nobody_looks():
    table = Table(ActionResult(observed=("tails", "not heads")), observed=False)
    outcome = table.run([])
    assert outcome.steps[0].status is StepStatus.UNVERIFIED
    assert outcome.state.beliefs.holds(TAILS)
    assert not outcome.state.beliefs.holds(HEADS)


def test_where_nobody_looks_and_nothing_is_said_the_intended_outcome_is_assumed_and_no_success():
    outcome = Table("tails", observed=False).run(["heads"])
    assert outcome.steps[0].status is StepStatus.UNVERIFIED
    assert outcome.status is RunStatus.UNVERIFIED


def test_that_nothing_came_of_it_must_be_seen_for_sure():
    outcome = Table("edge", conclusive=False).run([])
    assert outcome.steps[0].status is StepStatus.FAILED


def test_none_of_the_declared_outcomes_is_a_failure():
    table = Table("edge", "edge", edge=False)
    outcome = table.run([])
    assert table.tosses == 2
    assert outcome.steps[0].status is StepStatus.FAILED


def test_a_partial_outcome_that_nobody_declared_is_none():
    table = Table()

    async def both():
        table.truth = {"heads", "tails"}

    table.truth = {"tails"}
    table.world.handler("toss")(both)
    outcome = table.run([], initial=["tails"])
    assert outcome.steps[0].status is StepStatus.PARTIAL


@pytest.mark.parametrize(("first", "status"), [("tails", StepStatus.SUCCEEDED), ("nothing", StepStatus.FAILED)])
def test_a_timeout_is_settled_by_whichever_outcome_is_seen(first, status):
    table = Table(edge=False)

    async def slow():
        table.truth = {first} - {"nothing"}
        await asyncio.sleep(100)

    table.world.handler("toss", policy=ExecutionPolicy(timeout=1.0, retries=0))(slow)
    assert table.run([]).steps[0].status is status


@pytest.mark.parametrize("model", MODELS)
def test_a_reported_outcome_counts_however_often_it_is_reported(model):
    domain, calls = Domain("expenses", types=["receipt"]), []
    either = [Outcome("0.8", ["within(x)"]), Outcome("0.2", ["over(x)"])]
    domain.action(
        "check", {"x": "receipt"}, provides=["within(x)"], tags=["read_only", "trusted"], outcomes=either
    )  # fmt: skip
    domain.action("clear", {"x": "receipt"}, requires=["within(x)"], provides=["cleared(x)"], tags=["trusted"])
    domain.action("ask_boss", {"x": "receipt"}, requires=["over(x)"], provides=["cleared(x)"], cost=9, tags=["trusted"])
    domain.action(
        "pay", {"x": "receipt"}, requires=["cleared(x)"], provides=["paid(x)"], tags=["trusted", "irreversible"]
    )
    world = World(domain)
    for name in ("clear", "ask_boss", "pay"):
        world.handler(name)(lambda name=name, **_: calls.append(name))
    world.handler("check")(lambda x: ActionResult(observed=(f"over({x})",)))
    problem = domain.problem(objects={"r3": "receipt"}, goal=["paid(r3)"])
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert calls == ["ask_boss", "pay"]
    assert outcome.state.beliefs.holds(Atom("within", ("r3",))) is False
