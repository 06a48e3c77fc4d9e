"""What others' functions raise ends what they were called for and nothing else; what is called off begins nothing."""

import asyncio
import functools
import threading
import time

import pytest

from executor import ActionPlan, ExecutionPolicy, Executor, Follower, RunStatus, Wait, World
from executor.events.events import StepStatus
from executor.loop import abandoned_calls
from executor.testing import run_virtual
from planner import Domain


class Own(BaseException):
    """What no library knows."""


ERRORS = [
    Own("x"),
    SystemExit(0),
    GeneratorExit(),
    asyncio.CancelledError(),
    BaseExceptionGroup("two", [Own("x")]),
    StopAsyncIteration(),
    TimeoutError("t"),
]


def raising(error, *, is_async):
    async def asynchronous(**_):
        raise error

    def plain(**_):
        raise error

    return asynchronous if is_async else plain


def one(tags=("trusted",)):
    domain = Domain("one")
    domain.action("do", {}, provides=["done"], tags=tags)
    return domain, World(domain), domain.problem(goal=["done"])


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_whatever_a_handler_raises_its_step_has_failed(error, timeout, is_async):
    _, world, problem = one()
    world.handler("do", policy=ExecutionPolicy(timeout=timeout))(raising(error, is_async=is_async))
    outcome = asyncio.run(Executor(world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert outcome.steps[0].reason.startswith(type(error).__name__)


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("role", ["observer", "check", "permit", "approve", "ask"])
@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_whatever_others_raise_the_run_ends_with_a_verdict(tmp_path, error, role, is_async):
    _, world, problem = one(tags=["needs_approval"] if role in {"approve", "ask"} else [])
    world.handler("do")(lambda: None)
    failing, options = raising(error, is_async=is_async), {}
    if role == "observer":
        world.observer("done")(failing)
    elif role == "check":
        world.check("do")(failing)
    else:
        options[role] = lambda _: failing()
    executor = Executor(world, journal=tmp_path / "r.db", **options)
    outcome = asyncio.run(executor.run(problem, run="r"))
    told = {"observer": RunStatus.UNVERIFIED, "ask": RunStatus.WAITING}
    assert outcome.status is told.get(role, RunStatus.FAILED)
    assert executor.runs()["r"].status is outcome.status


class Following(Follower):
    def __init__(self, error):
        self.error = error

    def follow(self, state, run):  # noqa: ARG002 - as followers do
        raise self.error


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_whatever_listeners_raise_the_run_goes_on(error):
    _, world, problem = one()
    world.handler("do")(lambda: None)
    world.observer("done")(lambda: True)
    failing = raising(error, is_async=False)
    listeners = (lambda _: failing(), Following(error))
    assert asyncio.run(Executor(world, listeners=listeners).run(problem)).status is RunStatus.SUCCEEDED


def test_an_interrupt_breaks_a_run_off():
    _, world, problem = one()
    world.handler("do")(raising(KeyboardInterrupt(), is_async=True))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Executor(world).run(problem))


def decorated(function):
    @functools.wraps(function)
    def wrapper(**given):
        return function(**given)

    return wrapper


@pytest.mark.parametrize("wraps", [decorated, lambda function: function])
@pytest.mark.parametrize("cleans_up", [True, False])
def test_an_asynchronous_handler_that_takes_too_long_is_in_doubt(wraps, cleans_up):
    """However it is wrapped, and whatever it raises when it is cancelled."""
    domain = Domain("shop")
    domain.action("pay", {}, provides=["paid"])
    domain.action("card", {}, provides=["paid"], cost=3)
    world, paid = World(domain), []

    async def pay():
        paid.append("transfer")
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError:
            if cleans_up:
                raise ConnectionError("rolled back, perhaps") from None
            raise

    world.handler("pay", policy=ExecutionPolicy(timeout=0.1))(wraps(pay))
    world.handler("card")(lambda: paid.append("card"))
    outcome = asyncio.run(Executor(world).run(domain.problem(goal=["paid"])))
    assert (outcome.status, paid) == (RunStatus.IN_DOUBT, ["transfer"])


def mailing(handler, timeout=None):
    """Return a world in which texts are sent by `handler`; nobody sees them."""
    domain = Domain("mail")

    @domain.action(provides=["sent"])
    def send(text: str): ...

    world = World(domain)
    world.handler("send", policy=ExecutionPolicy(timeout=timeout))(handler)
    return world


def letters(*texts, model="sequential"):
    steps = [{"id": f"s{number}", "action": "send", "parameters": {"text": text}} for number, text in enumerate(texts)]
    return ActionPlan.model_validate({"model": model, "steps": steps})


def test_what_hangs_in_one_world_holds_up_no_other():
    go_on, sent = threading.Event(), []
    hung = mailing(lambda text: go_on.wait(5), timeout=0.05)  # noqa: ARG005 - it takes what the action has
    assert asyncio.run(Executor(hung).run(letters("to Ada"))).status is RunStatus.IN_DOUBT
    other = mailing(lambda text: sent.extend([text]))
    assert asyncio.run(Executor(other).run(letters("to Ada"))).steps[0].status is StepStatus.UNVERIFIED
    again = asyncio.run(Executor(hung).run(letters("to Bob"))).steps[0]
    assert again.reason.startswith("no answer"), "another letter is begun"
    go_on.set()
    assert sent == ["to Ada"]


def test_a_plain_handler_is_not_started_beside_itself():
    """The slow one is still at work when the quick one, of the same action, has come back."""
    at_once, most, guard = {"slow": 0, "quick": 0}, {"slow": 0, "quick": 0}, threading.Lock()

    def work(text):
        with guard:
            at_once[text] += 1
            most[text] = max(most[text], at_once[text])
        time.sleep(0.8 if text == "slow" else 0.15)
        with guard:
            at_once[text] -= 1

    world = mailing(work, timeout=0.1)

    async def ask(_):
        await asyncio.sleep(0.2)
        return "it did not happen"

    asyncio.run(Executor(world, ask=ask).run(letters("slow", "quick", model="dag")))
    assert most["slow"] == 1
    assert any(works() for call, works in abandoned_calls._abandoned if call.data == {"text": "slow"})


@pytest.mark.parametrize("keeps", [True, False])
def test_a_run_of_the_same_name_elsewhere_is_another_run(tmp_path, keeps):
    """Its handler may still be at work: another journal, and another executor without one, know nothing of it."""
    go_on = threading.Event()
    _, slow, problem = one()
    slow.handler("do", policy=ExecutionPolicy(timeout=0.05))(go_on.wait)
    _, quick, other = one()
    quick.handler("do")(lambda: True)
    journals = [tmp_path / "a.db", tmp_path / "b.db"] if keeps else [None, None]
    first = asyncio.run(Executor(slow, journals[0]).run(problem, run="r"))
    second = asyncio.run(Executor(quick, journals[1]).run(other, run="r"))
    go_on.set()
    assert (first.status, second.status) == (RunStatus.IN_DOUBT, RunStatus.SUCCEEDED)


def test_what_is_called_off_while_it_is_approved_is_not_begun():
    _, world, problem = one(tags=["needs_approval"])
    calls = []
    world.handler("do")(lambda: calls.append(1))

    async def approve(_):
        await asyncio.sleep(1000)
        return True

    async def main():
        run = Executor(world, approve=approve).start(problem)
        await asyncio.sleep(5)
        run.cancel()
        outcome = await run
        return outcome, asyncio.get_running_loop().time()

    outcome, ended = run_virtual(main())
    assert (outcome.status, outcome.steps[0].status, calls) == (RunStatus.CANCELLED, StepStatus.PENDING, [])
    assert ended < 10


def test_what_is_called_off_in_a_pause_is_not_tried_again():
    _, world, problem = one(tags=["idempotent"])
    calls = []

    async def fails():
        calls.append(1)
        return False

    world.handler("do", policy=ExecutionPolicy(retries=5, backoff=100, longest=100, jitter=0))(fails)

    async def main():
        run = Executor(world).start(problem)
        await asyncio.sleep(5)
        run.cancel()
        outcome = await run
        return outcome, asyncio.get_running_loop().time()

    outcome, ended = run_virtual(main())
    assert (outcome.status, outcome.steps[0].status, calls) == (RunStatus.CANCELLED, StepStatus.FAILED, [1])
    assert outcome.steps[0].reason == "the handler returned False"
    assert ended < 10


@pytest.mark.parametrize("policy", [{"rate": (1, 1000)}, {"lock": ()}])
def test_what_is_called_off_before_its_turn_is_not_begun(policy):
    domain = Domain("many", types=["x"])
    domain.action("do", {"o": "x"}, provides=["done(o)"], tags=["trusted"])
    world, calls = World(domain), []

    @world.handler("do", policy=ExecutionPolicy(**policy))
    async def do(o):
        calls.append(o)
        await asyncio.sleep(10 if "lock" in policy else 0)

    objects = dict.fromkeys("abc", "x")

    async def main():
        run = Executor(world, model="dag").start(domain.problem(objects=objects, goal=[f"done({o})" for o in objects]))
        await asyncio.sleep(5)
        run.cancel()
        outcome = await run
        return outcome, asyncio.get_running_loop().time()

    outcome, ended = run_virtual(main())
    assert (outcome.status, len(calls)) == (RunStatus.CANCELLED, 1)
    assert ended < 20


@pytest.mark.parametrize("wait", [Wait(seconds=60, event="paid"), Wait("Ada?", seconds=60, choices=("yes", "no"))])
@pytest.mark.parametrize("comes", [True, False])
def test_who_waits_for_somebody_does_not_succeed_by_itself(wait, comes):
    _, world, problem = one()
    world.handler("do")(lambda: wait)

    async def main():
        run = Executor(world, stay=True).start(problem, run="r")
        await asyncio.sleep(5)
        if comes:
            run.complete("s1", "yes")
        return await run

    assert run_virtual(main()).status is (RunStatus.SUCCEEDED if comes else RunStatus.IN_DOUBT)
