"""Waits, runs that are over, and soft goals that a passed failure has lost: how a run ends then."""

import asyncio

import pytest

from executor import ActionPlan, ExecutionPolicy, Executor, RunStatus, StepStatus, Wait, World
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive")
DEADLINE = 60


def waiting(wait):
    domain = Domain("desk")
    domain.action("ask", provides=["asked"], tags=["trusted"])
    world = World(domain)
    world.handler("ask")(lambda: wait)
    return world, domain.problem(goal=["asked"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "wait",
    [
        Wait("Which?", choices=("t1", "t2"), deadline=DEADLINE),
        Wait("Ada approves", deadline=DEADLINE),
        Wait(event="paid", seconds=DEADLINE),
        Wait(event="paid", deadline=DEADLINE, conclusive=True),
        Wait(seconds=2 * DEADLINE, deadline=DEADLINE),
    ],
)
def test_a_run_that_does_not_stay_ends_as_waiting_before_the_deadline(wait, model):
    world, problem = waiting(wait)

    async def main():
        outcome = await Executor(world, model=model).run(problem)
        return outcome, asyncio.get_running_loop().time()

    outcome, took = run_virtual(main())
    assert (outcome.status, outcome.steps[0].status) == (RunStatus.WAITING, StepStatus.WAITING)
    assert took < DEADLINE / 2


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize(("conclusive", "status"), [(False, StepStatus.IN_DOUBT), (True, StepStatus.FAILED)])
def test_a_deadline_that_passed_meanwhile_is_found_by_whoever_takes_the_run_up(
    is_kept, conclusive, status, tmp_path, monkeypatch
):
    world, problem = waiting(Wait("Which?", choices=("t1", "t2"), deadline=DEADLINE, conclusive=conclusive))
    executor = Executor(world, journal=tmp_path / "runs.db" if is_kept else None)
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])

    async def main():
        outcome = await executor.run(problem, run="r")
        assert outcome.status is RunStatus.WAITING
        clock[0] += DEADLINE / 2
        again = await executor.resume("r")
        assert again.status is RunStatus.WAITING
        clock[0] += DEADLINE
        return await executor.resume("r")

    assert run_virtual(main()).steps[0].status is status


def test_a_run_stays_for_a_timer_and_not_for_the_deadline_beside_it():
    domain = Domain("desk")
    domain.action("ask", provides=["asked"], tags=["trusted"])
    domain.action("boil", provides=["boiled"], tags=["trusted"])
    world = World(domain)
    world.handler("ask")(lambda: Wait(event="paid", deadline=DEADLINE))
    world.handler("boil")(lambda: Wait(seconds=3))

    async def main():
        outcome = await Executor(world, model="dag").run(domain.problem(goal=["asked", "boiled"]))
        return outcome, asyncio.get_running_loop().time()

    outcome, took = run_virtual(main())
    assert outcome.status is RunStatus.WAITING
    assert {each.step.action: each.status.name for each in outcome.steps} == {"ask": "WAITING", "boil": "SUCCEEDED"}
    assert took == pytest.approx(3, abs=1)


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
@pytest.mark.parametrize("where", ["here", "in a thread"])
def test_calling_off_a_run_that_is_over_does_nothing(how, where):
    world, problem = waiting(None)

    async def main():
        run = Executor(world).start(problem)
        outcome = await run
        if where == "here":
            assert getattr(run, how)() is None
        else:
            await asyncio.to_thread(getattr(run, how))
        return run, outcome

    run, outcome = asyncio.run(main())
    assert getattr(run, how)() is None  # the event loop is closed
    assert run.outcome.status is outcome.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_calling_off_a_run_that_its_host_has_cancelled_does_nothing(how):
    world, problem = waiting(Wait(event="paid"))

    async def main():
        run = Executor(world, stay=True).start(problem)
        async for event in run.events():
            if type(event).__name__ == "StepWaiting":
                break
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 1)
        getattr(run, how)()
        return run.outcome.steps[0].status

    assert run_virtual(main()) is StepStatus.WAITING


class Shop:
    """An action that fails (`a`, for a wish) and one that works (`b`); `facts` is what is true."""

    def __init__(self, on_error, *, tags=()):
        self.facts = set()
        self.domain = Domain("shop")
        for name, fact in (("a", "x"), ("b", "y"), ("c", "z")):
            self.domain.action(name, requires=["x"] if name == "c" else [], provides=[fact], tags=tags)
        self.world = World(self.domain)
        self.world.handler("a", policy=ExecutionPolicy(retries=0, on_error=on_error))(lambda: False)
        self.world.handler("b")(lambda: self.facts.add("y"))
        self.world.handler("c")(lambda: self.facts.add("z"))
        if not tags:
            for fact in ("x", "y", "z"):
                self.world.observer(fact, conclusive=True)(lambda fact=fact: fact in self.facts)

    def run(self, goal, model="sequential"):
        return run_virtual(Executor(self.world, model=model).run(self.domain.problem(goal=goal)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tags", [(), ("trusted",)])
@pytest.mark.parametrize("on_error", ["continue", "patch"])
def test_a_lost_soft_goal_lowers_a_run_whose_hard_goal_is_reached(on_error, tags, model):
    shop = Shop(on_error, tags=tags)
    outcome = shop.run({"hard": ["y"], "soft": {"x": 9, "z": 9}}, model)
    assert (outcome.status, set(outcome.state.dropped)) == (RunStatus.LOWERED, {"x", "z"})
    assert {each.step.action for each in outcome.steps if each.status is StepStatus.SUCCEEDED} == {"b"}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("on_error", ["continue", "patch"])
def test_a_run_for_nothing_but_wishes_is_lowered_when_they_are_lost(on_error, model):
    outcome = Shop(on_error).run({"soft": {"z": 9}}, model)
    assert (outcome.status, outcome.state.dropped) == (RunStatus.LOWERED, ["z"])


@pytest.mark.parametrize("model", MODELS)
def test_a_lost_hard_goal_fails_a_run_that_goes_on_after_errors(model):
    outcome = Shop("continue").run({"hard": ["x", "y"], "soft": {"z": 9}}, model)
    assert (outcome.status, outcome.state.dropped) == (RunStatus.FAILED, [])
    assert outcome.reason.startswith("a(): the handler returned False")


def test_a_plan_by_hand_that_goes_on_after_errors_is_lowered_too():
    shop = Shop("patch")
    steps = [
        {"id": "s1", "action": "a", "policy": {"retries": 0, "on_error": "continue"}},
        {"id": "s2", "action": "b"},
    ]
    plan = ActionPlan.model_validate({"goal": {"hard": ["y"], "soft": {"x": 2}}, "steps": steps})
    outcome = run_virtual(Executor(shop.world).run(plan))
    assert (outcome.status, outcome.state.dropped) == (RunStatus.LOWERED, ["x"])


def test_a_clock_that_was_put_back_makes_no_wait_longer(tmp_path, monkeypatch):
    world, problem = waiting(Wait(seconds=DEADLINE))
    executor = Executor(world, journal=tmp_path / "runs.db")
    clock = [100_000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])

    async def main():
        run = executor.start(problem, run="r")
        await asyncio.sleep(1)
        run.interrupt()
        assert (await run).status is RunStatus.WAITING
        clock[0] -= 1000 * DEADLINE
        began = asyncio.get_running_loop().time()
        outcome = await executor.resume("r")
        return outcome, asyncio.get_running_loop().time() - began

    outcome, took = run_virtual(main())
    assert outcome.status is RunStatus.SUCCEEDED
    assert took < 2 * DEADLINE


def shop_with_a_choice(choices, tags, bank):
    domain = Domain("shop")
    domain.action("sign", provides=["signed"], tags=tags)
    domain.action("pay", requires=["signed"], provides=["paid"], tags=["irreversible", "trusted"])
    world = World(domain)
    world.handler("sign")(lambda: Wait("Ada approves", choices=choices))
    world.handler("pay")(lambda: bank.append("paid"))
    return world, domain.problem(goal=["paid"])


@pytest.mark.parametrize("tags", [["trusted"], ["trusted", "irreversible"], ["trusted", "idempotent"]], ids=str)
@pytest.mark.parametrize("said", ["no", "No", "REFUSED", "refuse", "reject", "Rejected", False], ids=str)
def test_a_choice_that_means_no_refuses_the_step(said, tags, tmp_path):
    bank = []
    world, problem = shop_with_a_choice(["yes", str(said)], tags, bank)
    executor = Executor(world, tmp_path / "runs.db")

    async def main():
        assert (await executor.run(problem, run="r")).status is RunStatus.WAITING
        return await executor.resume("r", results={"s1": said})

    outcome = run_virtual(main())
    assert (outcome.status, outcome.steps[0].status, bank) == (RunStatus.FAILED, StepStatus.FAILED, [])
    assert said is False or f"Ada approves: the answer is {said!r}" in outcome.reason
    entries = [each.outcome.name for each in executor.journal.ledger.entries()]
    assert entries == ["REFUSED", *["NOT_DONE"] * ("irreversible" in tags)]


@pytest.mark.parametrize("said", ["yes", "none of them"])
def test_any_other_choice_completes_the_step(said):
    bank = []
    world, problem = shop_with_a_choice(["yes", "none of them"], ["trusted"], bank)
    executor = Executor(world)

    async def main():
        await executor.run(problem, run="r")
        return await executor.resume("r", results={"s1": said})

    assert (run_virtual(main()).status, bank) == (RunStatus.SUCCEEDED, ["paid"])


@pytest.mark.parametrize(
    ("wait", "reason"),
    [
        (
            Wait("Ada approves", choices=("yes", "no")),
            "ask() waits: Ada approves (yes or no); it goes on with answers={'wait:s1': …}",
        ),
        (Wait(event="paid"), "ask() waits for the event 'paid'; it goes on with answers={'wait:s1': …}"),
        (Wait("Ada looks"), "ask() waits: Ada looks; it goes on with answers={'wait:s1': …}"),
        (Wait(), "ask() waits; it goes on with answers={'wait:s1': …}"),
    ],
    ids=str,
)
def test_a_run_that_waits_says_for_what_and_how_it_goes_on(wait, reason):
    world, problem = waiting(wait)
    assert run_virtual(Executor(world).run(problem)).reason == reason


def test_a_run_that_waits_for_an_approval_says_what_is_asked():
    domain = Domain("desk")
    domain.action("ask", provides=["asked"], tags=["trusted", "needs_approval"])
    world = World(domain)
    world.handler("ask")(lambda: True)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["asked"])))
    question = outcome.questions[0].text
    assert outcome.reason == f"ask() waits for an answer: {question}"
