"""Hooks around every call of a handler: they log, veto and change; a step that a hook refuses has not begun."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from executor import (
    ActionPlan,
    ActionResult,
    ExecutionPolicy,
    Executor,
    HandlerCall,
    PlanStep,
    Proceed,
    Rung,
    RunStatus,
    StepStatus,
    Wait,
    World,
)
from executor.testing import run_virtual
from planner import DeclarationError, Domain, InputError


class Shop:
    """A shop with an irreversible step, whose handler notes what it was given."""

    def __init__(self, *, plain: bool = False, policy: ExecutionPolicy | None = None, **fields: Any) -> None:
        self.domain = Domain("shop")
        fields = {"provides": ["paid"], "tags": ["irreversible", "trusted"]} | fields
        self.domain.action("pay", {"amount": int}, **fields)
        self.world, self.paid = World(self.domain), list[int]()

        async def slowly(amount: int) -> dict[str, int]:
            self.paid.append(amount)
            return {"amount": amount}

        def plainly(amount: int) -> dict[str, int]:
            self.paid.append(amount)
            return {"amount": amount}

        self.world.handler("pay", policy=policy)(plainly if plain else slowly)

    def run(self, amount: int = 5, **options: Any) -> Any:
        return run_virtual(Executor(self.world, **options).run(self.plan(amount)))

    def plan(self, amount: int) -> ActionPlan:
        return ActionPlan(goal=["paid"], steps=[PlanStep(id="p", action="pay", parameters={"amount": amount})])


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_hooks_stand_around_each_other_and_see_the_call_and_its_result(plain: bool) -> None:
    shop, log = Shop(plain=plain), list[Any]()

    def logging(name: str) -> Any:
        async def hook(call: HandlerCall, proceed: Proceed) -> Any:
            log.append((name, call.action.name, call.skill, dict(call.arguments), call.context.step))
            result = await proceed()
            assert isinstance(result, ActionResult)
            log.append((name, result.data))
            return result

        return hook

    for name in ("outer", "inner"):
        shop.world.around(logging(name))
    assert shop.run().status is RunStatus.SUCCEEDED
    call = ("pay", "main", {"amount": 5}, "p")
    assert log == [("outer", *call), ("inner", *call), ("inner", {"amount": 5}), ("outer", {"amount": 5})]


def test_a_hook_that_returns_nothing_leaves_the_result_as_it_is() -> None:
    shop = Shop()

    @shop.world.around
    async def hook(call: HandlerCall, proceed: Proceed) -> None:  # noqa: ARG001 - as hooks are called
        await proceed()

    outcome = shop.run()
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.steps[0].result["data"] == {"amount": 5}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda: ActionResult.failed("too much"), "a hook did not let it begin: too much"),
        (lambda: False, "a hook did not let it begin"),
        (lambda: None, "neither proceeds nor returns a result"),
        (lambda: Wait("later"), "it waits in place of the handler"),
        (lambda: 1 / 0, "a hook did not let it begin: ZeroDivisionError"),
        (lambda: (_ for _ in ()).throw(SystemExit(3)), "a hook did not let it begin: SystemExit"),
        (lambda: {"success": "no"}, "a hook did not let it begin: "),
    ],
    ids=["failed", "false", "none", "wait", "raises", "exits", "nonsense"],
)
def test_a_hook_vetoes_a_step_which_has_not_begun(answer: Any, reason: str) -> None:
    shop = Shop()

    @shop.world.around
    async def veto(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        return answer()

    outcome = shop.run()
    assert not outcome.succeeded
    assert shop.paid == []
    assert outcome.steps[0].status is StepStatus.FAILED
    assert reason in outcome.steps[0].reason
    assert reason in outcome.reason.splitlines()[0]


def test_a_vetoed_irreversible_step_may_be_tried_again_later() -> None:
    """The veto is no doubt whether it happened: nobody is asked, and a retry pays once."""
    shop, calls = Shop(policy=ExecutionPolicy(retries=2, backoff=1, jitter=0)), list[int]()

    @shop.world.around
    async def at_night(call: HandlerCall, proceed: Proceed) -> Any:
        calls.append(call.context.attempt)
        return await proceed() if len(calls) == 2 else ActionResult.failed("closed")

    outcome = shop.run()
    assert outcome.status is RunStatus.SUCCEEDED
    assert not outcome.questions
    assert (calls, shop.paid) == ([1, 2], [5])


def test_a_hook_that_fails_after_the_handler_leaves_the_step_in_doubt() -> None:
    """The handler was called: an irreversible step is not repeated on the word of a broken hook."""
    shop = Shop(policy=ExecutionPolicy(retries=3, backoff=0), tags=["irreversible"])

    @shop.world.around
    async def audit(call: HandlerCall, proceed: Proceed) -> Any:
        await proceed()
        raise OSError(f"no room for {call.action.name}")

    outcome = shop.run()
    assert shop.paid == [5]
    assert not outcome.succeeded
    assert "OSError: no room for pay" in outcome.steps[0].reason
    assert outcome.steps[0].attempts == 1


def test_hooks_change_data_parameters_and_results() -> None:
    shop = Shop()

    @shop.world.around
    async def capped(call: HandlerCall, proceed: Proceed) -> Any:
        result = await proceed(amount=str(min(call.arguments["amount"], 3)))
        assert isinstance(result, ActionResult)
        return ActionResult(data={**result.data, "capped": True})

    outcome = shop.run()
    assert shop.paid == [3]
    step = outcome.steps[0]
    assert step.parameters == {"amount": 3}
    assert "capped" in step.sources["amount"]
    assert step.result["data"] == {"amount": 3, "capped": True}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"amount": "many"}, "'amount' cannot be 'many'"), ({"amout": 3}, "did you mean 'amount'?")],
    ids=["value", "name"],
)
def test_changes_that_do_not_fit_veto(changes: dict[str, Any], reason: str) -> None:
    shop = Shop()

    @shop.world.around
    async def wrong(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        return await proceed(**changes)

    outcome = shop.run()
    assert shop.paid == []
    assert reason in outcome.steps[0].reason


@pytest.mark.parametrize("decides", ["approve", "answers"])
def test_a_value_that_was_approved_is_not_changed(decides: str) -> None:
    shop = Shop(tags=["irreversible", "trusted", "needs_approval"])

    @shop.world.around
    async def raise_amount(call: HandlerCall, proceed: Proceed) -> Any:
        return await proceed(amount=call.arguments["amount"] * 50)

    if decides == "approve":
        outcome = shop.run(approve=lambda _: True)
    else:
        executor, plan = Executor(shop.world), shop.plan(5)
        waiting = run_virtual(executor.run(plan, run="r"))
        assert waiting.status is RunStatus.WAITING
        outcome = run_virtual(executor.resume("r", answers={"approve:p": True}))
    assert outcome.status is RunStatus.FAILED
    assert shop.paid == []
    assert "changes 'amount' to 250, and 5 was approved" in outcome.reason


def test_a_hook_may_hand_on_the_value_that_was_approved() -> None:
    shop = Shop(tags=["irreversible", "trusted", "needs_approval"])

    @shop.world.around
    async def repeat(call: HandlerCall, proceed: Proceed) -> Any:
        return await proceed(amount=call.arguments["amount"])

    assert shop.run(approve=lambda _: True).succeeded
    assert shop.paid == [5]


def test_objects_of_the_plan_cannot_be_changed() -> None:
    domain, met = Domain("d", types=["thing"]), list[str]()
    domain.action("meet", {"thing": "thing"}, provides=["met(thing)"], tags=["trusted"])
    world = World(domain)
    world.handler("meet")(lambda thing: met.append(thing))  # noqa: PLW0108 - handlers take parameters by name

    @world.around
    async def swap(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        return await proceed(thing="b")

    problem = domain.problem(objects={"a": "thing", "b": "thing"}, goal=["met(a)"])
    outcome = run_virtual(Executor(world).run(problem))
    assert met == []
    assert "the objects of a step are those of the plan" in outcome.steps[0].reason


def test_a_handler_is_called_once_however_often_a_hook_proceeds() -> None:
    shop = Shop()

    @shop.world.around
    async def twice(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        await proceed()
        return await proceed()

    outcome = shop.run()
    assert shop.paid == [5]
    assert "proceeds twice" in outcome.steps[0].reason


def test_what_a_handler_raises_passes_through_hooks() -> None:
    shop, seen = Shop(), list[str]()

    async def pay(amount: int) -> None:
        raise OSError(f"no {amount}")

    shop.world.handler("pay")(pay)

    @shop.world.around
    async def log(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        try:
            return await proceed()
        except OSError as error:
            seen.append(str(error))
            raise

    outcome = shop.run()
    assert seen[0] == "no 5"
    assert "OSError: no 5" in outcome.steps[0].reason


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_the_timeout_holds_for_hooks_too(before: bool) -> None:
    """A hook that hangs before it proceeds has kept the step from beginning; later, nobody knows."""
    shop = Shop(policy=ExecutionPolicy(timeout=2, retries=0))

    @shop.world.around
    async def hang(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        if not before:
            await proceed()
        await asyncio.sleep(1000)

    outcome = shop.run()
    step = outcome.steps[0]
    assert shop.paid == ([] if before else [5])
    assert step.status is (StepStatus.FAILED if before else StepStatus.IN_DOUBT)
    assert "no answer within 2" in step.reason


def test_hooks_stand_around_steps_of_patches_and_undos() -> None:
    domain, seen = Domain("hall"), list[tuple[str, str]]()
    domain.action("book", provides=["booked"], tags=["trusted"])
    domain.action("cancel", requires=["booked"], provides=["not booked"], tags=["trusted"])
    domain.action("hold", requires=["booked"], provides=["held"], tags=["trusted"])
    world = World(domain)
    world.handler("book")(lambda: None)
    world.handler("cancel")(lambda: None)
    world.handler("hold")(lambda: False)

    @world.around
    async def log(call: HandlerCall, proceed: Proceed) -> Any:
        seen.append((call.action.name, call.context.outline.purpose))
        return await proceed()

    outcome = run_virtual(Executor(world).run(domain.problem(goal=["held"])))
    assert not outcome.succeeded
    assert ("book", "plan") in seen
    assert ("cancel", "undo") in seen
    assert Rung.COMPENSATE in {each.rung for each in outcome.recovery}


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (lambda call, proceed: None, "no asynchronous function"),  # noqa: ARG005 - as hooks are called
        (3, "no asynchronous function"),
    ],
    ids=["plain", "number"],
)
def test_what_cannot_be_a_hook(hook: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        World(Domain("d")).around(hook)

    async def lonely() -> None: ...

    with pytest.raises(InputError, match="takes the call and what proceeds"):
        World(Domain("d")).around(lonely)  # type: ignore[arg-type]


@pytest.mark.parametrize("nested", [False, True])
def test_a_handler_is_not_called_once_its_hooks_have_answered(nested: bool) -> None:
    shop, tasks = Shop(policy=ExecutionPolicy(retries=2, backoff=0, jitter=0)), list[asyncio.Future[Any]]()

    @shop.world.around
    async def impatient(call: HandlerCall, proceed: Proceed) -> ActionResult:  # noqa: ARG001 - as hooks are called
        tasks.append(asyncio.ensure_future(proceed()))
        if nested:
            await asyncio.sleep(1)
        return ActionResult.failed("no")

    if nested:

        @shop.world.around
        async def slow(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
            await asyncio.sleep(10)
            return await proceed()

    async def run() -> Any:
        plan = ActionPlan(goal=["paid"], steps=[PlanStep(id="p", action="pay", parameters={"amount": 5})])
        outcome = await Executor(shop.world).run(plan)
        return outcome, await asyncio.gather(*tasks, return_exceptions=True)

    outcome, raised = run_virtual(run())
    assert outcome.status is RunStatus.FAILED
    assert shop.paid == []
    assert raised
    assert all(isinstance(each, InputError) for each in raised)


@pytest.mark.parametrize("timeout", [None, 2.0])
def test_no_other_attempt_is_made_beside_a_handler_that_a_hook_has_left_at_work(timeout: float | None) -> None:
    domain, truth, calls = Domain("shop"), set[str](), list[str]()
    domain.action("pay", {}, provides=["paid"], tags=["irreversible"])
    world, tasks = World(domain), list[asyncio.Future[Any]]()
    world.observer("paid", conclusive=True)(lambda: "paid" in truth)

    @world.handler("pay", policy=ExecutionPolicy(retries=2, backoff=0, jitter=0, timeout=timeout))
    async def pay() -> None:
        calls.append("pay")
        await asyncio.sleep(60)
        truth.add("paid")

    @world.around
    async def impatient(call: HandlerCall, proceed: Proceed) -> Any:  # noqa: ARG001 - as hooks are called
        tasks.append(asyncio.ensure_future(proceed()))
        if timeout is not None:
            return await asyncio.shield(tasks[-1])
        await asyncio.sleep(1)
        return ActionResult.failed("too slow")

    async def run() -> Any:
        outcome = await Executor(world).run(domain.problem(goal=["paid"]))
        await asyncio.gather(*tasks)
        return outcome

    outcome = run_virtual(run())
    assert outcome.status is RunStatus.IN_DOUBT
    assert calls == ["pay"]
