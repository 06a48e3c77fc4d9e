"""The options of a request are the same at every door: its run, its occasion, and what is to be done once more."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json

import pytest

from executor import Agent, Executor, World
from executor.adapters.planned_calls import PlannedCalls
from executor.agent.conversations.record import load_room
from executor.cli.execute import RunOptions, check_options
from executor.mcp_server.build_server import build_server
from executor.mcp_server.call_limits import CallLimits
from executor.testing import ScriptedModel
from planner import Domain, Entity
from planner.cli import main
from planner.errors import ForethoughtError, InputError
from planner.language.loading.load import open_source
from planner.model import Problem

BANK = """
from pathlib import Path

from executor import World
from planner import Domain

bank = Path(__file__).with_name("bank.txt")
domain = Domain("bank")
domain.action("pay", provides=["paid"], tags=["irreversible"])
domain.action("look", provides=["looked"])
world = World(domain)


@world.handler("look")
def look(): ...


@world.handler("pay")
def pay():
    with bank.open("a") as file:
        file.write("pay ")


problem = domain.problem("rent", goal=["paid"])
"""
"""A world in which nobody can look whether somebody has paid."""


class Shop:
    """A folder with the world, its bank and its journal; each request gets a world of its own, as a new process has."""

    def __init__(self, folder):
        self.file, self.journal = folder / "bank.py", folder / "runs.db"
        self.file.write_text(BANK, encoding="utf-8")

    @property
    def paid(self):
        """The number of payments."""
        bank = self.file.with_name("bank.txt")
        return bank.read_text().count("pay") if bank.exists() else 0

    def load(self):
        """Return a new world and its problem."""
        source = open_source(str(self.file))
        return source.values(World)[0], source.values(Problem)[0]


async def run(shop, **options):
    world, problem = shop.load()
    outcome = await Executor(world, shop.journal).run(problem, **options)
    return outcome.run, outcome.status.name, [each.text for each in outcome.questions]


async def start(shop, **options):
    world, problem = shop.load()
    begun = Executor(world, shop.journal).start(problem, **options)
    outcome = await begun
    return outcome.run, outcome.status.name, [each.text for each in outcome.questions]


async def achieve(shop, **options):
    world, problem = shop.load()
    outcome = (await Agent(world, problem, journal=shop.journal).achieve(["paid"], **options)).outcome
    return outcome.run, outcome.status.name, [each.text for each in outcome.questions]


async def carry_out(shop, **options):
    world, problem = shop.load()
    agent = Agent(world, problem, journal=shop.journal)
    outcome = (await agent.carry_out(await agent.plan(["paid"]), **options)).outcome
    return outcome.run, outcome.status.name, [each.text for each in outcome.questions]


async def start_of_agent(shop, **options):
    world, problem = shop.load()
    agent = Agent(world, problem, journal=shop.journal)
    outcome = await agent.start(await agent.plan(["paid"]), **options)
    return outcome.run, outcome.status.name, [each.text for each in outcome.questions]


async def room(shop, **options):
    world, problem = shop.load()
    outcome = (await Agent(world, problem, journal=shop.journal).room("hall").achieve(["paid"], **options)).outcome
    return outcome.run, outcome.status.name, [each.text for each in outcome.questions]


async def calls(shop, **options):
    world, problem = shop.load()
    offered = PlannedCalls(world, problem, journal=shop.journal, **options)
    if await offered.offers():
        await offered.call("pay")
    asked = await offered.find_question()
    return offered.run, "WAITING" if asked else "UNVERIFIED", [asked["text"]] if asked else []


async def mcp(shop, run=None, **options):
    from mcp import Client

    served = RunOptions(str(shop.file), None, is_real=True, journal=shop.journal, quiet=True)
    server, runs = build_server(open_source(str(shop.file)), None, served, CallLimits())
    named = {} if run is None else {"name": run}
    async with Client(server, raise_exceptions=True) as client:
        answer = await client.call_tool("run", {**named, **options})
    runs._journal.close()
    if answer.is_error:
        raise InputError(answer.content[0].text)
    found = answer.structured_content
    return found["run"], found["status"], [each["text"] for each in found["questions"]]


def command(shop, run=None, occasion="", again=(), **_):
    words = ["run", str(shop.file), "--real", "--journal", str(shop.journal), "--json", "-q"]
    words += [*(["--run", run] if run else []), *(["--occasion", occasion] if occasion else [])]
    words += [word for each in again for word in ("--again", each)]
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(io.StringIO()), pytest.raises(SystemExit):
        main(words)
    said = json.loads(told.getvalue())
    if said["run"] is None:
        raise InputError(said["reason"])
    return said["run"], said["status"], list(said["questions"])


DOORS = {each.__name__: each for each in (run, start, achieve, carry_out, start_of_agent, room, calls, mcp, command)}
JOIN = ("run", "start", "achieve", "carry_out", "start_of_agent", "room", "mcp")
"""Doors at which a request may say that it does not join a run."""


def ask(door, shop, **options):
    """Ask for the payment at `door`; return the run, its status, and its questions."""
    told = DOORS[door](shop, **options)
    return asyncio.run(told) if asyncio.iscoroutine(told) else told


@pytest.fixture
def shop(tmp_path):
    """A new shop."""
    return Shop(tmp_path)


@pytest.mark.parametrize("door", DOORS)
def test_what_was_done_on_another_occasion_is_done_once_more(door, shop):
    for number, occasion in enumerate(("2026-10", "2026-11"), 1):
        assert ask(door, shop, occasion=occasion)[2] == []
        assert shop.paid == number
    _, status, asked = ask(door, shop, occasion="2026-11")
    assert shop.paid == 2
    assert (status, len(asked)) == ("WAITING", 1)


@pytest.mark.parametrize("door", DOORS)
def test_again_answers_the_question_beforehand_and_once(door, shop):
    ask(door, shop)
    assert len(ask(door, shop)[2]) == 1
    assert shop.paid == 1
    asked = [ask(door, shop, run="november", again=("pay()",))[2] for _ in range(2)]
    assert asked == [[], []]
    assert shop.paid == 2


@pytest.mark.parametrize("door", DOORS)
def test_a_request_that_names_a_known_run_joins_it(door, shop):
    found = [ask(door, shop, run="november", occasion="2026-11") for _ in range(2)]
    assert found[0][0] == found[1][0] == "november"
    assert shop.paid == 1
    with pytest.raises(ForethoughtError, match="begun for another occasion"):
        ask(door, shop, run="november", occasion="2026-12")
    assert shop.paid == 1


@pytest.mark.parametrize("door", JOIN)
def test_a_request_may_refuse_to_join(door, shop):
    ask(door, shop, run="november")
    with pytest.raises(ForethoughtError, match="'november'"):
        ask(door, shop, run="november", join=False)


@pytest.mark.parametrize("door", DOORS)
def test_again_names_steps_of_the_world(door, shop):
    with pytest.raises(ForethoughtError, match="again names steps of the world"):
        ask(door, shop, again=("payy()",))
    assert shop.paid == 0


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("pay(o7)", "pay takes 0 objects, not 1; write pay.. with the names of objects"),
        ("look()", "'look..' is not irreversible; leave it out"),
    ],
)
def test_again_names_irreversible_steps_with_their_objects(step, message, door, shop):
    with pytest.raises(ForethoughtError, match=message):
        ask(door, shop, again=(step,))
    assert shop.paid == 0


@pytest.mark.parametrize("door", sorted({*DOORS} - {"mcp", "command"}))
def test_an_occasion_is_a_text(door, shop):
    with pytest.raises(InputError, match="an occasion is a text"):
        ask(door, shop, occasion=11)


@pytest.mark.parametrize("turns_up", [False, True])
@pytest.mark.parametrize("asks", ["executor", "agent", "toolset"])
def test_again_names_objects_that_there_are_or_that_may_turn_up(asks, turns_up):
    class Order(Entity): ...

    domain = Domain("bank")
    domain.action("pay", {"order": Order}, provides=["paid(order)"], tags=["irreversible", "trusted"])
    domain.action("pending", {"order": Order})
    world, paid = World(domain), []
    world.handler("pay")(lambda order: paid.append(order))  # noqa: PLW0108 - a handler takes the parameters of its action
    if turns_up:
        world.observer("paid(_)")(lambda: ["o7"] if paid else [])
    problem = domain.problem(objects=[Order("o7")], goal=["paid(o7)"])

    async def main():
        if asks == "executor":
            await Executor(world).run(problem, again=("pay(o9)",))
        elif asks == "agent":
            await Agent(world, problem).achieve(["paid(o7)"], again=("pay(o9)",))
        else:
            PlannedCalls(world, problem, again=("pay(o9)",))

    refused = pytest.raises(InputError, match="there is no object 'o9'; such as o7")
    with contextlib.nullcontext() if turns_up else refused:
        asyncio.run(main())
    assert bool(paid) is (turns_up and asks != "toolset")


@pytest.mark.parametrize("is_room", [False, True])
def test_an_agent_pays_on_another_occasion_though_it_remembers_the_last_one(is_room, shop):
    world, problem = shop.load()
    agent = Agent(world, problem, journal=shop.journal)
    asked = agent.room("hall") if is_room else agent
    for times, options in enumerate(({"occasion": "1"}, {"occasion": "2"}, {"again": ("pay( )",)}), 1):
        asyncio.run(asked.achieve(["paid"], **options))
        assert shop.paid == times
    asyncio.run(asked.achieve(["paid"], occasion="2"))
    assert shop.paid == 3


def test_the_answer_to_a_question_about_a_request_leaves_its_occasion(shop):
    said = {"meanings": [{"goal": ["paid"]}]}
    for occasion, times in (("1", 1), ("2", 2)):
        world, problem = shop.load()
        model = ScriptedModel([said])
        hall = Agent(world, problem, journal=shop.journal, model=model).room(f"hall {occasion}")
        first = asyncio.run(hall.achieve("pay the rent", occasion=occasion))
        assert first.outcome is None
        kept = load_room(hall._agent.executor.journal, hall.name)
        assert kept.open.terms.occasion == occasion
        asyncio.run(hall.achieve("yes"))
        assert shop.paid == times


def test_a_run_that_was_over_says_nothing_about_the_present(shop):
    world, problem = shop.load()
    agent = Agent(world, problem, journal=shop.journal)
    asyncio.run(agent.achieve(["paid"], run="november"))
    agent.problem = problem
    asyncio.run(agent.achieve(["paid"], run="november"))
    assert not agent.problem.initial
    assert shop.paid == 1


@pytest.mark.parametrize(("look", "times"), [("plan", 0), ("never", 1)])
def test_planned_calls_look_as_they_are_told(look, times, shop):
    world, problem = shop.load()
    world.observer("paid")(lambda: True)
    offered = PlannedCalls(world, problem, look=look)
    asyncio.run(offered.offers())
    assert offered.is_reached is (times == 0)
    with pytest.raises(InputError, match="there is no look 'nevr'"):
        PlannedCalls(world, problem, look="nevr")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"journal": None, "run": "r"}, "--run names a run in a journal"),
        ({"resume": "r", "run": "r"}, "--run belongs to a run that begins"),
        ({"resume": "r", "occasion": "2026-11"}, "--occasion belongs to a run that begins"),
        ({"resume": "r", "again": ("pay()",)}, "--again belongs to a run that begins"),
        ({"is_real": False, "run": "a/b"}, "'a/b' is no name of a run"),
        ({"is_real": False, "run": "real"}, "the run 'real' has no simulated world"),
    ],
)
def test_the_command_refuses_names_and_options_that_do_not_fit(options, message, shop):
    run_command = ask("command", shop, run="real")
    assert run_command[0] == "real"
    given = {"is_real": True, "journal": shop.journal, **options}
    with pytest.raises(InputError, match=message):
        check_options(RunOptions(str(shop.file), **given))


def test_a_simulated_run_is_joined_by_its_name(shop):
    words = ["run", str(shop.file), "--journal", str(shop.journal), "--run", "dry", "--json", "-q"]
    told = []
    for _ in range(2):
        with contextlib.redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit):
            main(words)
        told.append(json.loads(out.getvalue()))
    assert told[0]["run"] == told[1]["run"] == "dry"
    assert told[0]["steps"] == told[1]["steps"]
    assert shop.paid == 0
