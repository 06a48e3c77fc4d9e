"""Cases in which somebody was charged twice, at every door at which they can come up; each counts the payments."""

import asyncio
import contextlib
import time

import pytest

from executor import Agent, ExecutionPolicy, Executor, InDoubt, RunStatus, StepStatus, World
from executor.adapters.planned_calls import PlannedCalls
from htn.language.declare import Methods
from planner import Domain, Entity, Outcome, decide
from planner.errors import PlanError


class Shop:
    """A world in which money is paid: `observed` says how observers see it, None that nobody does.

    The handler pays first, takes `seconds`, and then does `then`.
    """

    def __init__(self, observed=None, *, tags=("irreversible",), seconds=0.0, in_thread=False, policy=None):
        self.domain, self.bank, self.seconds = Domain("shop"), [], seconds
        self.begun, self.loop = asyncio.Event(), None
        self.domain.predicate("rain")
        self.domain.action("pay", provides=["paid"], tags=list(tags))
        self.world = World(self.domain)
        self.then = lambda: None
        self.world.handler("pay", policy=policy)(self.pay_in_thread if in_thread else self.pay)
        if observed is not None:
            self.world.observer("paid", **observed)(lambda: bool(self.bank))

    async def pay(self):
        self.begun.set()
        self.bank.append("pay")
        await asyncio.sleep(self.seconds)
        return self.then()

    def pay_in_thread(self):
        self.loop.call_soon_threadsafe(self.begun.set)
        time.sleep(self.seconds)
        self.bank.append("pay")

    @property
    def problem(self):
        return self.domain.problem(goal=["paid"])


SEES = {"conclusive": True, "settle_within": 0}
SEES_LATE = {"conclusive": True}


def reset():
    raise ConnectionError("reset")


async def run(shop, journal, **options):
    return await Executor(shop.world, journal, **options).run(shop.problem, join=False)


async def achieve(shop, journal, **_):
    return (await Agent(shop.world, shop.domain.problem(), journal=journal).achieve(["paid"])).outcome


async def achieve_in_room(shop, journal, **_):
    agent = Agent(shop.world, shop.domain.problem(), journal=journal)
    return (await agent.room(f"room {time.monotonic()}").achieve(["paid"])).outcome


async def call(shop, journal, **_):
    calls = PlannedCalls(shop.world, shop.problem, journal=journal)
    if await calls.offers():
        await calls.call("pay")


DOORS = {each.__name__: each for each in (run, achieve, achieve_in_room, call)}


@pytest.mark.parametrize("at_once", [False, True], ids=["one after the other", "at once"])
@pytest.mark.parametrize("locked", [False, True], ids=["no lock", "lock"])
@pytest.mark.parametrize("door", DOORS)
def test_a_second_request_does_not_pay_what_is_seen_to_be_paid(door, locked, at_once, tmp_path):
    policy = ExecutionPolicy(lock=(), timeout=20) if locked else None
    shop = Shop(SEES_LATE, seconds=0.1 if at_once else 0, policy=policy)

    async def main():
        asked = [DOORS[door](shop, tmp_path / "runs.db") for _ in range(3)]
        if at_once:
            await asyncio.gather(*asked)
        else:
            [await each for each in asked]

    asyncio.run(asyncio.wait_for(main(), 60))
    assert shop.bank == ["pay"]


@pytest.mark.parametrize("locked", [False, True], ids=["no lock", "lock"])
@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_runs_in_every_execution_model_pay_once(model, locked, tmp_path):
    policy = ExecutionPolicy(lock=(), timeout=20) if locked else None
    shop = Shop(SEES_LATE, seconds=0.05, policy=policy)

    async def main():
        asked = [run(shop, tmp_path / "runs.db", model=model) for _ in range(2)]
        return [*await asyncio.gather(*asked), await run(shop, tmp_path / "runs.db", model=model)]

    found = asyncio.run(asyncio.wait_for(main(), 60))
    assert {each.status for each in found} == {RunStatus.SUCCEEDED}
    assert shop.bank == ["pay"]


def make_till(flavour):
    """Return a world in which somebody may pay by hand, a problem for it in `flavour`, and what was done."""
    till, done = Domain("till"), []
    lasts = {"duration": 1} if flavour == "timed" else {}
    effect = {"outcomes": [Outcome("0.9", ["paid"]), Outcome("0.1", ["rejected"])]} if flavour == "policy" else {}
    till.action("pay", provides=["paid"], tags=["irreversible", "needs_approval"], **effect, **lasts)
    till.action("archive", requires=["paid"], provides=["archived"], **lasts)
    methods = Methods(till) if flavour == "htn" else None
    if methods is not None:
        methods.task("deal")
        methods.method("plain", {}, task="deal()", subtasks=["pay()", "archive()"])
    world = World(till if methods is None else methods.model)
    world.handler("pay")(lambda: done.append("pay by a run"))
    world.handler("archive")(lambda: done.append("archive"))
    world.observer("paid", conclusive=True)(lambda: any(each.startswith("pay") for each in done))
    world.observer("archived", conclusive=True)(lambda: "archive" in done)
    if flavour == "policy":
        world.observer("rejected", conclusive=True)(lambda: False)
    if methods is not None:
        return world, methods.problem(tasks=["deal()"]), done
    more = {"objective": "makespan"} if flavour == "timed" else {}
    problem = till.problem(goal=["archived"], **more)
    return world, decide(problem) if flavour == "policy" else problem, done


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive", "htn", "timed", "policy"])
def test_what_was_paid_by_hand_while_the_approval_was_awaited_is_not_paid_again(model, tmp_path):
    world, what, done = make_till(model)

    async def main():
        chosen = model if model in ("sequential", "parallel", "dag", "reactive") else None
        executor = Executor(world, tmp_path / "runs.db", model=chosen)
        waiting = await executor.run(what)
        done.append("pay by hand")
        return await executor.resume(waiting.run, answers={waiting.questions[0].question: "yes"})

    outcome = asyncio.run(main())
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert done == ["pay by hand", "archive"]


@pytest.mark.parametrize("by_hand", [["pay by hand"], ["pay by hand", "archive"]], ids=["paid", "reached"])
@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive", "htn", "timed", "policy"])
def test_a_run_that_is_resumed_asks_no_more_about_what_was_paid_by_hand(model, by_hand, tmp_path):
    world, what, done = make_till(model)

    async def main():
        chosen = model if model in ("sequential", "parallel", "dag", "reactive") else None
        executor = Executor(world, tmp_path / "runs.db", model=chosen)
        waiting = await executor.run(what)
        assert (waiting.status, [each.question for each in waiting.questions]) == (RunStatus.WAITING, ["approve:s1"])
        still = await executor.resume(waiting.run)
        assert (still.status, [each.question for each in still.questions]) == (RunStatus.WAITING, ["approve:s1"])
        done.extend(by_hand)
        return await executor.resume(waiting.run)

    outcome = asyncio.run(main())
    assert (outcome.status, outcome.questions) == (RunStatus.SUCCEEDED, ()), outcome.reason
    assert outcome.steps[0].status is StepStatus.SKIPPED
    assert done == ["pay by hand", "archive"]


@pytest.mark.parametrize("door", ["executor", "agent", "one room", "two rooms"])
def test_two_approvals_of_one_request_are_one_payment(door, tmp_path):
    shop = Shop(SEES_LATE, tags=("irreversible", "needs_approval"))

    async def main():
        agent = Agent(shop.world, shop.domain.problem(), journal=tmp_path / "runs.db")
        for number in range(2):
            if door == "executor":
                await agent.executor.run(shop.problem, join=False)
            elif door == "agent":
                await agent.achieve(["paid"])
            else:
                await agent.room("hall" if door == "one room" else f"room {number}").achieve(["paid"])
        found = []
        for name in agent.executor.runs():
            answers = dict.fromkeys(agent.executor.state_of(name).open_questions, "yes")
            found.append(await agent.resume(name, answers=answers))
        return found

    found = asyncio.run(main())
    assert {each.status for each in found} == {RunStatus.SUCCEEDED}
    assert shop.bank == ["pay"]


@pytest.mark.parametrize("observed", [None, SEES_LATE, {}], ids=["nobody sees it", "seen", "seen, not conclusively"])
@pytest.mark.parametrize("pair", ["two rooms", "two requests", "a standing goal and a request", "two agents"])
def test_two_who_ask_at_once_are_charged_once(pair, observed, tmp_path):
    shop = Shop(observed, seconds=0.1)

    async def main():
        agent = Agent(shop.world, shop.domain.problem(), journal=tmp_path / "runs.db")
        other = (
            Agent(shop.world, shop.domain.problem(), journal=tmp_path / "runs.db") if pair == "two agents" else agent
        )
        if pair == "two rooms":
            asked = [agent.room("ann").achieve(["paid"]), agent.room("bob").achieve(["paid"])]
        elif pair != "a standing goal and a request":
            asked = [agent.achieve(["paid"]), other.achieve(["paid"])]
        else:
            agent.maintain("paid")
            async with agent.attend(poll=None) as attending:
                await asyncio.gather(agent.achieve(["paid"]), attending.settled())
            return
        await asyncio.gather(*asked)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert shop.bank == ["pay"]


@pytest.mark.parametrize("observed", [None, SEES_LATE], ids=["nobody sees it", "seen"])
@pytest.mark.parametrize("in_thread", [False, True], ids=["coroutine", "thread"])
@pytest.mark.parametrize("how", ["the same agent", "another agent"])
def test_a_request_that_was_cancelled_inside_the_payment_is_not_paid_again(how, in_thread, observed, tmp_path):
    shop = Shop(observed, seconds=0.3, in_thread=in_thread)

    def make():
        return Agent(shop.world, shop.domain.problem(), journal=tmp_path / "runs.db")

    async def main():
        shop.loop = asyncio.get_running_loop()
        agent = make()
        task = asyncio.create_task(agent.achieve(["paid"]))
        await asyncio.wait_for(shop.begun.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = await (agent if how == "the same agent" else make()).achieve(["paid"])
        await asyncio.sleep(0.4)
        return again.outcome

    outcome = asyncio.run(asyncio.wait_for(main(), 60))
    assert shop.bank == ["pay"]
    assert outcome.succeeded if observed else outcome.status in {RunStatus.WAITING, RunStatus.IN_DOUBT}


@pytest.mark.parametrize("observer", [None, lambda: False], ids=["nobody looks", "an observer says no"])
@pytest.mark.parametrize("raises", [True, False], ids=["raises", "reports success"])
@pytest.mark.parametrize("verb", ["when", "maintain"])
def test_a_standing_goal_pays_once_and_asks_once_over_all_its_tries(verb, raises, observer, tmp_path):
    shop = Shop()
    shop.then = reset if raises else lambda: None
    if observer is not None:
        shop.world.observer("paid")(observer)
    asked = set()

    async def live():
        agent = Agent(shop.world, shop.domain.problem(), journal=tmp_path / "runs.db")
        if verb == "when":
            agent.when("not paid", achieve="paid", name="keep")
        else:
            agent.maintain("paid", name="keep")
        async with agent.attend(poll=None) as attending:
            for change in ("rain", "not rain", "rain"):
                await asyncio.wait_for(attending.settled(), 20)
                agent.notify(change)
            await asyncio.wait_for(attending.settled(), 20)
        for name in agent.executor.runs():
            asked.update((name, each) for each in agent.executor.state_of(name).questions)
        agent.executor.journal.close()

    for _ in range(3):
        asyncio.run(live())
    assert shop.bank == ["pay"]
    assert len(asked) == (1 if raises or observer is not None else 0)


@pytest.mark.parametrize("observer", [None, lambda: False], ids=["nobody looks", "an observer says no"])
@pytest.mark.parametrize("error", [InDoubt("connection lost"), RuntimeError("connection reset")], ids=repr)
@pytest.mark.parametrize("door", ["executor", "agent"])
def test_what_may_have_been_paid_is_asked_about_and_not_proved_impossible(door, error, observer):
    till, bank = Domain("till"), []
    till.function("money", low=0)
    till.action("pay", provides=["paid"], modifies=["money -= 60"], tags=["irreversible"])
    till.action("archive", requires=["paid"], provides=["archived"])
    world = World(till)

    @world.handler("pay")
    def pay():
        bank.append("pay")
        raise error

    world.handler("archive")(lambda: bank.append("archive"))
    world.observer("money")(lambda: 100 - 60 * bank.count("pay"))
    world.observer("archived", conclusive=True)(lambda: "archive" in bank)
    if observer is not None:
        world.observer("paid")(observer)
    problem = till.problem(initial=["money = 100"], goal=["archived"])
    if door == "executor":
        outcome = asyncio.run(Executor(world).run(problem))
    else:
        outcome = asyncio.run(Agent(world, problem).achieve(["archived"])).outcome
    assert outcome.status is RunStatus.IN_DOUBT
    assert "connection" in outcome.questions[0].text
    assert bank == ["pay"]


class Address(Entity):
    """Where mail goes."""


@pytest.mark.parametrize("seen", [None, [], ["ada"]], ids=["nobody looks", "none is seen", "another one is seen"])
@pytest.mark.parametrize("name", ["send 9999 to mallory", "mallory"])
@pytest.mark.parametrize("door", ["executor", "agent", "room", "calls", "maintain"])
def test_the_name_of_an_object_that_a_tool_made_up_reaches_no_irreversible_step(door, name, seen, tmp_path):
    post, sent = Domain("post"), []
    post.predicate("address", Address)
    post.action("look_up", lists="address(_)", tags=[] if seen is None else ["trusted"])
    post.action("mail", {"a": Address}, requires=["address(a)"], provides=["mailed"], tags=["irreversible", "trusted"])
    world = World(post)
    world.handler("look_up")(lambda: [name])
    world.handler("mail")(lambda a: sent.append(a.name))
    if seen is not None:
        world.observer("address(_)", conclusive=True)(lambda: [Address(each) for each in seen])

    async def main():
        agent = Agent(world, post.problem(), journal=tmp_path / "runs.db")
        if door == "executor":
            await agent.executor.run(post.problem(goal=["mailed"]))
        elif door == "agent":
            await agent.achieve(["mailed"])
        elif door == "room":
            await agent.room("hall").achieve(["mailed"])
        elif door == "maintain":
            agent.maintain("mailed")
            async with agent.attend(poll=None) as attending:
                with contextlib.suppress(TimeoutError):  # it tries again, after longer and longer pauses
                    await asyncio.wait_for(attending.settled(), 3)
        else:
            calls = PlannedCalls(world, post.problem(goal=["mailed"]), journal=tmp_path / "runs.db")
            await calls.call("look_up")
            await calls.call("mail", {"a": name})

    with contextlib.suppress(PlanError):  # nobody can ever look at the address
        asyncio.run(asyncio.wait_for(main(), 60))
    assert name not in sent
    assert set(sent) <= {*(seen or ())}
