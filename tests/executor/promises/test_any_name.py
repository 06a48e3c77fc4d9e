"""Every door takes objects of any names: toolsets, standing goals, agents, MCP, the command, and the page of a run."""

import asyncio
import contextlib
import html
import json

import pytest
from mcp_setting import call, make_server, talk

from executor import Agent, Executor, RunStatus, World
from executor.adapters.planned_calls import PlannedCalls
from executor.desk.pages.html import write_html
from executor.desk.pages.run_page import run_page
from executor.journal import Journal
from executor.testing import SimulatedWorld, run_virtual
from planner import Domain, Entity
from planner.cli import main
from planner.model.object_names import object_name, term_of, written_name

NAMES = (
    "o 7",
    "Müller & Söhne",
    "https://x/a?b=1&c=(d)",
    'he said "no", (yes) \\',
    "it's",
    "_",
    "?x",
    "",
    "not",
    "7",
    "注文 七",
    "A",
    "a",
    "x=1",
    "<b>[a]{b}|c;d</b>",
    '"quoted"',
)


class Order(Entity):
    """An order."""


class Customer(Entity):
    """A customer."""


class Shop:
    """A shop whose orders are pending until they are handled."""

    def __init__(self, names=NAMES):
        self.left, self.handled, self.domain = list(names), [], Domain("shop")
        self.domain.action("greet", {"c": Customer}, provides=["greeted(c)"], tags=["trusted"])
        self.domain.action("handle", {"o": Order}, requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
        self.world = World(self.domain)
        self.world.handler("greet")(lambda **_: None)
        self.world.handler("handle")(self.handle)
        self.world.observer("pending(_)", conclusive=True)(lambda: list(self.left))
        self.world.observer("handled(_)", conclusive=True)(lambda: list(self.handled))

    def handle(self, o):
        assert type(o) is Order
        self.left.remove(o.name)
        self.handled.append(o.name)

    def problem(self, goal=(), customers=NAMES):
        """Return the problem with an order, and a customer if there are any, of each name."""
        return self.domain.problem(
            objects=[*map(Customer, customers), *map(Order, NAMES)],
            initial=[f"pending({term_of(each)})" for each in NAMES],
            goal=goal,
        )


def test_a_toolset_takes_the_name_of_an_order_that_a_customer_bears():
    shop = Shop()
    calls = PlannedCalls(shop.world, shop.problem('handled("o 7")'))
    report = asyncio.run(calls.call("handle", {"o": "o 7"}))
    assert (report.status, report.goal) == ("SUCCEEDED", "reached")
    assert shop.handled == ["o 7"]


@pytest.mark.parametrize("name", NAMES)
def test_a_toolset_offers_and_takes_names_without_quotes(name):
    shop = Shop()
    calls = PlannedCalls(shop.world, shop.problem(f"handled({term_of(name)})", ()))
    offers = {each.name: each for each in asyncio.run(calls.offers())}
    (offered,) = offers["handle"].parameters["properties"]["o"]["enum"]
    assert offered == written_name(term_of(name))
    report = asyncio.run(calls.call("handle", {"o": offered}))
    assert (report.status, report.goal) == ("SUCCEEDED", "reached")
    assert shop.handled == [name]


def test_standing_goals_are_pursued_for_objects_of_any_names():
    shop = Shop()
    agent = Agent(shop.world, shop.domain.problem())
    agent.when("pending(o)", "handled(o)")

    async def attend():
        async with agent.attend(clock=asyncio.get_running_loop().time) as attending:
            await attending.settled()

    run_virtual(attend())
    assert sorted(shop.handled) == sorted(NAMES)


def test_a_standing_goal_may_name_an_object_in_quotes():
    shop = Shop(["o 7", "o 8"])
    agent = Agent(shop.world, shop.domain.problem(objects=[Order("o 7"), Order("o 8")]))
    agent.when('pending("o 7")', 'handled("o 7")')

    async def attend():
        async with agent.attend(clock=asyncio.get_running_loop().time) as attending:
            await attending.settled()

    run_virtual(attend())
    assert shop.handled == ["o 7"]


def test_an_agent_is_told_of_any_names():
    shop = Shop([])
    shop.world = World(shop.domain)
    shop.world.handler("handle")(shop.handle)
    agent = Agent(shop.world, shop.domain.problem(objects=[Customer("x")]))
    agent.when("pending(o)", "handled(o)")
    shop.left += ["x", "o 7"]

    async def attend():
        async with agent.attend(clock=asyncio.get_running_loop().time) as attending:
            agent.notify("pending(x)", 'pending("o 7")')
            await attending.settled()

    run_virtual(attend())
    assert sorted(shop.handled) == ["o 7", "x"]


def test_the_page_of_a_run_shows_any_names(tmp_path):
    shop, journal = Shop(), tmp_path / "runs.db"
    goal = "(forall (?o - Order) (handled ?o))"
    outcome = asyncio.run(Executor(shop.world, journal=journal).run(shop.problem(goal), run="r"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    with contextlib.closing(Journal(journal)) as kept:
        page = write_html(run_page(kept, "r"))
    for name in NAMES:
        assert html.escape(term_of(name)) in page or json.dumps(term_of(name))[1:-1] in page, name
    assert "<b>[a]" not in page, "a name is no markup"


FILE = """
import json
from pathlib import Path
from executor import World
from planner import Domain, Entity

FILE = Path(__file__).with_name("left.json")

class Order(Entity): ...

domain = Domain("shop")
domain.action("handle", {"o": Order}, requires=["pending(o)"], provides=["not pending(o)"])
world = World(domain)

@world.handler("handle")
def handle(o: Order):
    left = json.loads(FILE.read_text())
    left.remove(o.name)
    FILE.write_text(json.dumps(left))

@world.observer("pending(_)", conclusive=True)
def pending():
    return json.loads(FILE.read_text())

problem = domain.problem(goal="(forall (?o - Order) (not (pending ?o)))")
"""


@pytest.fixture
def shop_file(tmp_path):
    (tmp_path / "shop.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "left.json").write_text(json.dumps(NAMES))
    return tmp_path / "shop.py"


@pytest.mark.parametrize("customers", [NAMES, ()])
def test_simulated_worlds_take_any_names(customers):
    shop = Shop()
    problem = shop.problem(["(forall (?o - Order) (handled ?o))", "(forall (?c - Customer) (greeted ?c))"], customers)
    outcome = run_virtual(Executor(SimulatedWorld(problem).world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert len(outcome.steps) == len(NAMES) + len(customers)


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return ended.value.code


def test_the_command_runs_and_shows_any_names(shop_file, capsys):
    journal = shop_file.with_name("runs.db")
    assert command("run", shop_file, "--real", "--journal", journal, "--run", "r") == 0
    assert json.loads(shop_file.with_name("left.json").read_text()) == []
    shown = capsys.readouterr().out
    for name in NAMES:
        assert f"handle({term_of(name)})" in shown


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_plans_checks_and_runs_with_any_names(shop_file, mode):
    server = make_server(shop_file)[0]
    about = {
        "objects": dict.fromkeys(map(written_name, map(term_of, NAMES)), "Order"),
        "state": [f"pending({term_of(each)})" for each in NAMES],
        "goal": [f"not pending({term_of(each)})" for each in NAMES],
    }

    async def ask(client):
        made = await call(client, "plan", about=about)
        bare = [
            {"action": "handle", "arguments": [object_name(x)]} for each in made["steps"] for x in each["arguments"]
        ]
        texts = [f"handle({each['arguments'][0]})" for each in made["steps"]]
        checked = [await call(client, "validate", steps=each, about=about) for each in (made["steps"], bare, texts)]
        return made, checked, await call(client, "run")

    made, checked, ran = talk(server, ask, mode=mode)
    assert made["status"] == "OPTIMAL"
    assert {object_name(each["arguments"][0]) for each in made["steps"]} == set(NAMES)
    assert [each["valid"] for each in checked] == [True] * 3
    assert ran["status"] in ("SUCCEEDED", "UNVERIFIED")
