"""What other executors get wrong, as it was reproduced with them: each must come out right here."""

import asyncio
from typing import Annotated

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, RunStatus, StepStatus, World
from planner import Domain, Entity, From

MODELS = ("sequential", "parallel", "dag", "reactive")


class Item(Entity):
    pass


class Shop:
    """A world in which items are listed, chosen and bought; what its handlers do is up to each test."""

    def __init__(self):
        self.done = []
        self.truth = set()
        self.domain = Domain("shop")
        for name, needs, gives in (
            ("look", [], "listed"),
            ("choose", ["listed"], "chosen"),
            ("buy", ["chosen"], "bought"),
        ):
            self.domain.action(name, {}, requires=needs, provides=[gives])

    def world(self, observed=("listed", "chosen", "bought"), **handlers):
        world = World(self.domain)
        for name, gives in (("look", "listed"), ("choose", "chosen"), ("buy", "bought")):
            world.handler(name)(handlers.get(name, self.doing(name, gives)))
        for fact in observed:
            world.observer(fact, conclusive=True)(self.looking(fact))
        return world

    def doing(self, name, gives, answer=None):
        async def handler():
            self.done.append(name)
            if gives:
                self.truth.add(gives)
            return answer

        return handler

    def looking(self, fact):
        async def look() -> bool:
            return fact in self.truth

        return look

    def problem(self, *goal):
        return self.domain.problem(goal=list(goal or ["bought"]))


def ran(executor, what, **options):
    return asyncio.run(executor.run(what, **options))


@pytest.mark.parametrize("model", MODELS)
def test_every_step_is_done_before_a_run_is_a_success(model):
    shop = Shop()
    outcome = ran(Executor(shop.world(), model=model), shop.problem())
    assert outcome.status is RunStatus.SUCCEEDED
    assert shop.done == ["look", "choose", "buy"]
    assert {step.status for step in outcome.steps} == {StepStatus.SUCCEEDED}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "answer",
    [False, ActionResult(success=False), ActionResult.failed("sold out"), {"success": False, "error": "sold out"}],
    ids=str,
)
def test_what_returns_failure_has_failed_and_what_needs_it_does_not_run(model, answer):
    shop = Shop()
    outcome = ran(Executor(shop.world(choose=shop.doing("choose", None, answer)), model=model), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert "choose()" in outcome.reason
    assert shop.done == ["look", "choose"]


@pytest.mark.parametrize("model", MODELS)
def test_what_raises_has_failed_with_its_text_and_what_needs_it_does_not_run(model):
    shop = Shop()

    async def choose():
        raise ConnectionError("no route to the shop")

    outcome = ran(Executor(shop.world(choose=choose), model=model), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert "ConnectionError: no route to the shop" in outcome.reason
    assert shop.done == ["look"]


@pytest.mark.parametrize("listens", [True, False])
def test_a_run_stops_at_a_failure_whether_or_not_anybody_listens(listens):
    shop = Shop()
    heard = []
    world = shop.world(choose=shop.doing("choose", None, answer=False))
    world.policy("choose", ExecutionPolicy(on_error="abort"))
    outcome = ran(Executor(world, listeners=(heard.append,) if listens else ()), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert shop.done == ["look", "choose"]
    assert bool(heard) is listens


@pytest.mark.parametrize("answer", [False, "sold out", ""])
def test_a_check_that_does_not_pass_keeps_its_step_from_running(answer):
    shop = Shop()
    world = shop.world()
    world.check("buy")(lambda: answer)
    outcome = ran(Executor(world), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert shop.done == ["look", "choose"]


def test_a_tool_that_answers_with_an_error_page_has_not_reached_the_goal():
    shop = Shop()
    outcome = ran(Executor(shop.world(buy=shop.doing("buy", None, "ERROR 404"))), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert "the handler reports success, but bought was not seen" in outcome.reason


@pytest.mark.parametrize("model", MODELS)
def test_a_tool_that_does_nothing_is_found_out(model):
    shop = Shop()
    world = shop.world(choose=shop.doing("choose", None, answer=True))
    world.policy("choose", ExecutionPolicy(backoff=0, jitter=0))
    outcome = ran(Executor(world, model=model), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert shop.done == ["look", "choose", "choose"], "once more, as it was seen to have done nothing"


def test_what_failed_is_not_used_again_because_nothing_else_is_left():
    shop = Shop()
    outcome = ran(Executor(shop.world(buy=shop.doing("buy", None, answer=False))), shop.problem())
    assert outcome.status is RunStatus.FAILED
    assert shop.done.count("buy") == 1


def test_a_goal_that_nobody_can_look_at_is_no_success():
    shop = Shop()
    outcome = ran(Executor(shop.world(observed=())), shop.problem())
    assert outcome.status is RunStatus.UNVERIFIED
    assert {step.status for step in outcome.steps} == {StepStatus.UNVERIFIED}


def test_an_action_is_found_by_its_other_names():
    shop = Shop()
    shop.domain.action("pay", {}, provides=["paid"], similes=["settle up"])
    world = shop.world(observed=("listed", "chosen", "bought"))
    world.handler("Settle-Up")(shop.doing("pay", "paid"))
    world.observer("paid")(shop.looking("paid"))
    outcome = ran(Executor(world), shop.problem("paid"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert shop.done == ["pay"]


def listing():
    """Return a domain in which one step chooses from what another has listed, and nothing but data links them."""
    domain = Domain("list")
    domain.action("list_tasks", {}, provides=["tasks_listed"])
    domain.action(
        "choose_task",
        {"tasks": Annotated[list[str], From("tasks_listed", "data.tasks")]},
        requires=["tasks_listed"],
        provides=["task_chosen"],
    )
    domain.action("list_plain", {})
    domain.action("choose_plain", {"tasks": list[str]})
    world = World(domain)
    got = []

    @world.handler("list_tasks")
    @world.handler("list_plain")
    async def list_tasks():
        await asyncio.sleep(0.01)
        return {"tasks": ["mow", "sow"]}

    @world.handler("choose_task")
    @world.handler("choose_plain")
    async def choose_task(tasks: list[str]):
        got.append(tasks)

    return domain, world, got


@pytest.mark.parametrize("model", MODELS)
def test_results_are_handed_on_to_the_step_that_needs_them(model):
    domain, world, got = listing()
    outcome = ran(Executor(world, model=model), domain.problem(goal=["task_chosen"]))
    assert outcome.status is RunStatus.UNVERIFIED
    assert got == [["mow", "sow"]]


@pytest.mark.parametrize("model", MODELS)
def test_data_alone_puts_steps_in_order(model):
    _, world, got = listing()
    steps = [
        {"id": "all", "action": "list_plain"},
        {"id": "one", "action": "choose_plain", "parameters": {"tasks": "{{all.data.tasks}}"}},
    ]
    outcome = ran(Executor(world, model=model), ActionPlan.model_validate({"steps": steps}))
    assert outcome.status is RunStatus.SUCCEEDED
    assert got == [["mow", "sow"]]


@pytest.mark.parametrize("model", ["parallel", "dag"])
def test_steps_that_do_not_need_each_other_run_at_once(model):
    domain = Domain("both", types=["thing"])
    domain.action("make", {"what": "thing"}, provides=["made(what)"])
    world = World(domain)
    meeting = asyncio.Barrier(2)

    @world.handler("make")
    async def make(what: Entity):  # noqa: ARG001 - handlers take the action's parameters
        await meeting.wait()

    problem = domain.problem(objects={"a": "thing", "b": "thing"}, goal=["made(a)", "made(b)"])
    outcome = asyncio.run(asyncio.wait_for(Executor(world, model=model).run(problem), 10))
    assert outcome.status is RunStatus.UNVERIFIED
