"""A run that another run holds up, and that asks nothing itself, says at every door which run is to be answered."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from executor import Agent, Executor, RunOutcome, RunStatus, Wait, World
from executor.adapters.planned_calls import PlannedCalls
from executor.cli.execute import RunOptions
from executor.journal import Journal
from executor.mcp_server.run_tools import RunTools
from executor.plans.action_plan import ActionPlan
from executor.testing import VirtualClock, run_virtual
from planner import Domain
from planner.cli import main
from planner.language.loading.load import open_source
from planner.plan import Plan, Step

SHOP = """
from executor import Wait, World
from planner import Domain

shop = Domain("shop", types=["order"])
shop.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"])
problem = shop.problem(objects={"o7": "order"}, goal=["paid(o7)"])
world = World(shop)
world.handler("pay")(lambda o: Wait("is it cleared?", choices=("yes", "no")))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A journal with a run that has begun to pay, and waits for a person."""
    (tmp_path / "shop.py").write_text(SHOP)
    (world,) = open_source(str(tmp_path / "shop.py")).values(World)
    with Journal(tmp_path / "runs.db") as journal:
        problem = world.domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
        assert asyncio.run(Executor(world, journal).run(problem, run="first")).status is RunStatus.WAITING
    return tmp_path / "runs.db"


def open_world(place: Path) -> World:
    (world,) = open_source(str(place.with_name("shop.py"))).values(World)
    return world


def command(*words: object) -> int:
    """Carry out a command in this process, and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return int(str(ended.value.code))


TOLD = "run 'first' has begun pay(o7), and goes on with what it waits for: answer it there"


def test_the_commands_name_the_run_to_answer(place, capsys):
    assert command("run", place.with_name("shop.py"), "--real", "--journal", place, "--run", "second") == 11
    told = capsys.readouterr().err
    assert TOLD in told
    assert "--complete" not in told
    assert command("runs", "list", place) == 0
    assert TOLD in capsys.readouterr().out
    assert command("runs", "list", place, "--json") == 0
    assert TOLD in json.loads(capsys.readouterr().out)[1]["reason"]
    assert command("runs", "answer", place, "second") == 0
    listed = capsys.readouterr().out
    assert TOLD in listed
    assert f"answer it there: forethought runs answer {place} first" in listed
    assert command("runs", "answer", place, "second", "s1=yes") == 2
    assert TOLD in capsys.readouterr().err
    resume = ["run", place.with_name("shop.py"), "--real", "--journal", place, "--resume", "second"]
    assert command(*resume, "--complete", "s1=yes") == 2
    assert "'s1' has not begun, and takes no result" in capsys.readouterr().err
    assert command(*resume[:-1], "first", "--complete", "s1=yes") == 11
    assert command(*resume) == 11
    assert "was done" in capsys.readouterr().err, "nobody sees it, so that it is asked"


def test_the_mcp_server_names_the_run_to_answer(place):
    options = RunOptions(str(place.with_name("shop.py")), journal=place, is_real=True)

    async def ask():
        source = open_source(str(place.with_name("shop.py")))
        tools = RunTools(source, options)
        problem = open_world(place).domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
        plan = Plan((Step("pay", ("o7",)),), problem)
        begun = await tools.begin(problem, plan, None, lambda *_: None, "second")  # type: ignore[arg-type]  # it has a plan
        return begun, tools.state("second")

    for answer in asyncio.run(ask()):
        assert (answer.status, answer.questions) == ("WAITING", [])
        assert TOLD in answer.reason
        assert answer.waits[0]["text"] == TOLD


def test_a_run_of_the_mcp_server_goes_on_when_the_other_run_is_done(place):
    options = RunOptions(str(place.with_name("shop.py")), journal=place, is_real=True)

    async def live():
        tools = RunTools(open_source(str(place.with_name("shop.py"))), options)
        problem = open_world(place).domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
        plan = Plan((Step("pay", ("o7",)),), problem)
        await tools.begin(problem, plan, None, lambda *_: None, "second")  # type: ignore[arg-type]  # it has a plan
        await tools.go_on("first", {}, {"s1": "yes"}, lambda *_: None)
        while not tools.state("second").questions:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.02)
        return tools.state("second")

    answer = asyncio.run(asyncio.wait_for(live(), 20))
    assert "was done" in str(answer.questions[0]["known"]), "nobody sees it, so that it is asked"


def test_agents_and_toolsets_name_the_run_to_answer(place):
    world = open_world(place)
    problem = world.domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])

    async def ask():
        with Journal(place) as journal:
            achieved = await Agent(world, problem, journal=journal).achieve(["paid(o7)"])
            called = await PlannedCalls(world, problem, journal=journal).call("pay", {"o": "o7"})
            return achieved.outcome, called

    outcome, called = asyncio.run(ask())
    assert TOLD in outcome.reason
    assert (called.status, called.reason, called.question) == ("WAITING", TOLD, None)


def test_a_plan_in_time_names_the_run_that_holds_what_it_needs(tmp_path, capsys):
    domain = Domain("shop", types=["order"])
    domain.action("pay", {"o": "order"}, provides=["paid(o)"], duration=5, holds={"till": 1}, tags=["irreversible"])
    world = World(domain)
    world.handler("pay")(lambda o: Wait(event="cleared"))  # noqa: ARG005

    def plan(order: str) -> ActionPlan:
        objects = {"o7": "order", "o8": "order"}
        problem = domain.problem(objects=objects, goal=[f"paid({order})"], capacity={"till": 1})
        return ActionPlan.of(Plan((Step("pay", (order,)),), problem), model="timed")

    async def live() -> list[RunOutcome]:
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal, clock=VirtualClock())
            return [await executor.run(plan(order), run=run) for order, run in (("o7", "first"), ("o8", "second"))]

    _, second = run_virtual(live(), start=time.time())
    told = "pay(o8) needs till, which other runs hold; nobody drives 'first' (step 's1'): answer it"
    assert second.status is RunStatus.WAITING
    assert told in second.reason
    assert command("runs", "answer", tmp_path / "runs.db", "second") == 0
    assert told in capsys.readouterr().out
