"""Handlers, checks and observers get objects of the classes that they ask for: given, created, and after a restart."""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated  # noqa: F401 - annotations that are text name it

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain, Entity, Plan, Step
from planner.errors import InputError


class Item(Entity, type_name="item"): ...


class Ticket(Item, type_name="ticket"): ...


@dataclass(eq=False)
class Order(Entity, type_name="order"):
    """An order that has more than a name, and cannot be made without it."""

    name: str
    total: int


def office():
    """Return a world in which a ticket is opened for an order and closed, its problem, and what its functions got."""
    domain, got = Domain("office"), []
    domain.action("open", {"order": Order}, provides=["opened(t)", "about(t, order)"], creates={"t": Ticket})
    domain.action(
        "close", {"t": Ticket, "order": Order}, requires=["opened(t)", "about(t, order)"], provides=["closed(t)"]
    )
    world = World(domain)
    world.observer("opened(t)")(lambda t: got.append(("sees", t)) or True)
    world.observer("closed(t)", conclusive=True)(lambda t: any(each[:2] == ("closes", t) for each in got))
    goal = "(exists (?t - ticket) (closed ?t))"
    return world, domain.problem(objects=[Order("o1", 20)], goal=goal), got


def test_a_world_made_of_methods_knows_the_classes_of_their_domain():
    domain, got = Domain("desk"), []
    domain.action("close", {"t": Ticket}, provides=["closed(t)"], tags=["trusted"])
    how = Methods(domain)
    how.task("handle", t=Ticket)
    how.method("simply", {"t": Ticket}, task="handle(t)", subtasks=["close(t)"])
    world = World(how)

    @world.handler("close")
    def close(t):
        got.append(t)

    problem = how.problem(objects={"T-1": Ticket}, tasks=["handle(T-1)"])
    assert run_virtual(Executor(world).run(problem)).steps[0].status is StepStatus.SUCCEEDED
    assert got == [Ticket("T-1")]


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
@pytest.mark.parametrize("created", ["T-1", Ticket("T-1")], ids=["name", "object"])
def test_created_and_given_objects_are_of_the_annotated_class(model, created):
    world, problem, got = office()

    @world.handler("open")
    async def open_(order: Order) -> ActionResult:
        got.append(("opens", order))
        return ActionResult(created={"t": created})

    @world.check("close")
    def may_close(t: Ticket, order: Order) -> bool:
        got.append(("checks", t, order))
        return True

    @world.handler("close")
    def close(t: Ticket, order: Order) -> None:
        got.append(("closes", t, order))

    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.UNVERIFIED or outcome.status is RunStatus.SUCCEEDED
    assert [each for each in got if each[0] != "sees"] == [
        ("opens", problem.entities["o1"]),
        ("checks", Ticket("T-1"), problem.entities["o1"]),
        ("closes", Ticket("T-1"), problem.entities["o1"]),
    ]
    assert {each[1] for each in got if each[0] == "sees"} == {Ticket("T-1")}


class Urgent(Ticket): ...


def logged(handler):
    """Return `handler` with a decorator around it that was compiled in another module."""
    elsewhere = {"functools": functools}
    source = (
        "def logged(f):\n    @functools.wraps(f)\n    def call(*given, **named):\n        return f(*given, **named)\n"
    )
    exec(f"{source}    return call\n", elsewhere)
    return elsewhere["logged"](handler)


@pytest.mark.parametrize("wrap", [logged, functools.partial, lambda handler: logged(functools.partial(handler))])
@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        ("Urgent", Urgent("T-1")),
        ("Annotated[Urgent, 'soon']", Urgent("T-1")),
        ("Annotated[Urgent, 'soon'] | None", Urgent("T-1")),
        ("str | None", "T-1"),
    ],
)
@pytest.mark.parametrize("loads", [False, True])
def test_annotations_count_behind_decorators(loads, wrap, annotation, wanted):
    world, problem, got = office()
    world.handler("open")(lambda order: ActionResult(text=order.name, created={"t": "T-1"}))
    if loads:
        world.entity(Ticket, load=Urgent)

    def close(t, order):
        got.append(("closes", t, order))

    close.__annotations__["t"] = annotation
    world.handler("close")(wrap(close))
    run_virtual(Executor(world).run(problem))
    closed = next(each[1] for each in got if each[0] == "closes")
    assert (type(closed), closed) == (type(wanted), wanted)


def test_an_annotation_may_ask_for_a_class_above_or_for_the_name():
    domain, got = Domain("desk"), []
    domain.action("read", {"ticket": Ticket}, provides=["known(ticket)"], tags=["trusted"])
    domain.action("file", {"ticket": Ticket}, requires=["known(ticket)"], provides=["filed(ticket)"], tags=["trusted"])
    world = World(domain)

    @world.handler("read")
    def read(ticket: Item) -> None:
        got.append(ticket)

    @world.handler("file")
    def file(ticket: str) -> None:
        got.append(ticket)

    goal = ["filed(a)", "known(b)"]
    problem = domain.problem(objects=[Ticket("a")], goal=goal[:1])
    assert run_virtual(Executor(world).run(problem)).succeeded
    assert got == [Ticket("a"), "a"]


def test_objects_without_a_value_are_made_of_their_names():
    domain, got = Domain("desk", types={"item": "object", "ticket": "item"}), []
    domain.action("read", {"one": "item"}, provides=["known(one)"], tags=["trusted"])
    world = World(domain)

    @world.handler("read")
    def read(one: Item) -> None:
        got.append(one)

    problem = domain.problem(objects={"a": "ticket", "b": "item"}, goal=["known(a)", "known(b)"])
    assert run_virtual(Executor(world).run(problem)).succeeded
    assert sorted(got, key=str) == [Item("a"), Item("b")]


@pytest.mark.parametrize("type_", [Order, "order"])
@pytest.mark.parametrize("plain", [True, False])
def test_objects_are_loaded_once_where_the_author_says_how(type_, plain):
    domain, loaded, got = Domain("shop", types=["order"]), [], []
    domain.action("pack", {"order": "order"}, provides=["packed(order)"])
    domain.action("ship", {"order": "order"}, requires=["packed(order)"], provides=["shipped(order)"])
    world = World(domain)

    def load(name: str) -> Order:
        loaded.append(name)
        return Order(name, 30)

    async def load_later(name: str) -> Order:
        return load(name)

    world.entity(type_, load=load if plain else load_later)
    annotated = Order if type_ is Order else object
    for name in ("pack", "ship"):

        def handler(order):
            got.append((order.name, order.total))

        handler.__annotations__ = {"order": annotated}
        world.handler(name)(handler)
    for pattern in ("packed(order)", "shipped(order)"):
        world.observer(pattern)(lambda order: order.total == 30)
    problem = domain.problem(objects={"o1": "order", "o2": "order"}, goal=["shipped(o1)", "shipped(o2)"])
    assert run_virtual(Executor(world).run(problem)).succeeded
    assert sorted(loaded) == ["o1", "o2"]
    assert sorted(got) == [("o1", 30), ("o1", 30), ("o2", 30), ("o2", 30)]


def loading(load, **policy):
    """Return how a run ended whose handler gets an order that `load` loads."""
    domain, calls = Domain("shop", types=["order"]), []
    domain.action("ship", {"order": "order"}, provides=["shipped(order)"], tags=["trusted"])
    world = World(domain)

    @world.handler("ship", policy=ExecutionPolicy(**policy))
    def ship(order: Order) -> None:
        calls.append(order)

    if load is not None:
        world.entity(Order, load=load)
    problem = domain.problem(objects={"o1": "order"}, goal=["shipped(o1)"])
    return run_virtual(Executor(world).run(problem)), calls


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (None, "Order 'o1' cannot be made of its name"),
        (lambda _: None, "Order 'o1' cannot be loaded: got None"),
        (lambda name: name, "Order 'o1' cannot be loaded: got 'o1'"),
        (lambda _: Order("o2", 1), "Order 'o1' cannot be loaded: got Order(name='o2', total=1)"),
        (lambda _: 1 / 0, "Order 'o1' cannot be loaded: ZeroDivisionError"),
        (lambda: 1, "Order 'o1' cannot be loaded: TypeError"),
    ],
)
def test_what_cannot_be_loaded_fails_the_step_and_calls_nobody(load, reason):
    outcome, calls = loading(load, retries=0)
    assert outcome.status is RunStatus.FAILED
    assert outcome.reason.split("\n")[0].startswith(f"ship(o1): {reason}")
    assert calls == []


def test_loading_is_tried_again_and_ends_with_the_timeout_of_the_handler():
    tries = []

    def load(name: str) -> Order:
        tries.append(name)
        if len(tries) < 2:
            raise ConnectionError("no database")
        return Order(name, 3)

    outcome, calls = loading(load, retries=2)
    assert outcome.steps[0].status is StepStatus.SUCCEEDED
    assert [each.total for each in calls] == [3]

    async def never(name: str) -> Order:
        await __import__("asyncio").sleep(10**6)
        return Order(name, 3)

    outcome, calls = loading(never, retries=0, timeout=5)
    assert outcome.status is RunStatus.FAILED
    assert "objects of ship(o1) were not loaded within 5" in outcome.reason
    assert calls == []


def test_an_observer_whose_object_cannot_be_loaded_says_so():
    domain = Domain("shop", types=["order"])
    domain.action("ship", {"order": "order"}, provides=["shipped(order)"])
    world = World(domain)
    world.handler("ship")(lambda order: str(order) and None)

    @world.observer("shipped(order)")
    def shipped(order: Order) -> bool:
        return order.total > 0

    outcome = run_virtual(Executor(world).run(domain.problem(objects={"o1": "order"}, goal=["shipped(o1)"])))
    assert outcome.status is RunStatus.UNVERIFIED
    assert "Order 'o1' cannot be made of its name" in outcome.reason


@pytest.mark.parametrize(
    ("type_", "load", "message"),
    [
        ("parcel", Order, "the domain has no type 'parcel'"),
        (Ticket, Order, "the domain has no type 'ticket'"),
        (7, Order, "the domain has no type 7"),
        ("order", "o1", "load must be a function of a name, got 'o1'"),
    ],
)
def test_what_cannot_be_loaded_at_all_is_refused(type_, load, message):
    with pytest.raises(InputError, match=message):
        World(Domain("shop", types=["order"])).entity(type_, load=load)


RESTARTED = """
import asyncio, os, sys
from dataclasses import dataclass
from executor import ActionPlan, ActionResult, Executor, World
from planner import Domain, Entity, Plan, Step

class Ticket(Entity): ...

@dataclass(eq=False)
class Order(Entity):
    name: str
    total: int

desk = Domain("desk")

@desk.action(provides=["open(t)", "about(t, order)"], creates={"t": Ticket}, tags=["trusted"])
async def create(order: Order) -> ActionResult:
    return ActionResult(created={"t": CREATED})

@desk.action(requires=["open(t)", "about(t, order)"], provides=["done(t)"], tags=["idempotent"])
async def work(t: Ticket, order: Order) -> None:
    if sys.argv[1] == "begin":
        os.kill(os.getpid(), 9)
    print("works", repr(t), repr(order))
    open("done", "w").write(t.name)

world = World(desk)
world.entity(Order, load=lambda name: Order(name, 30))

@world.observer("done(t)", conclusive=True)
def done(t: Ticket) -> bool:
    print("sees", repr(t))
    return os.path.exists("done") and open("done").read() == t.name

executor = Executor(world, journal="runs.db")
if sys.argv[1] == "begin":
    problem = desk.problem(objects=[Order("o1", 20)], goal="(exists (?t - Ticket) (done ?t))")
    asyncio.run(executor.run(problem, run="x"))
else:
    print(asyncio.run(executor.resume("x")).status.name)
"""


@pytest.mark.parametrize("created", ["'T-1'", "Ticket('T-1')"])
def test_classes_survive_a_kill(tmp_path, created):
    (tmp_path / "desk.py").write_text(RESTARTED.replace("CREATED", created))
    for part in ("begin", "again"):
        command = [sys.executable, "desk.py", part]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "works Ticket('T-1') Order(name='o1', total=30)" in lines
    assert "sees Ticket('T-1')" in lines
    assert lines[-1] == "SUCCEEDED"


def test_created_objects_with_fields_are_kept_by_their_names(tmp_path):
    domain = Domain("shop")
    domain.action("order", provides=["open(o)"], creates={"o": Order}, tags=["trusted"])
    domain.action("ship", {"o": Order}, requires=["open(o)"], provides=["shipped(o)"], tags=["trusted"])
    world = World(domain)
    got = []
    world.handler("order")(lambda: ActionResult(created={"o": Order("o7", 5)}))

    @world.handler("ship")
    def ship(o: Order) -> None:
        got.append(o.total)

    goal = "(exists (?o - order) (shipped ?o))"
    executor = Executor(world, journal=tmp_path / "j")
    outcome = run_virtual(executor.run(domain.problem(goal=goal), run="x"))
    assert outcome.succeeded
    assert got == [5]
    assert executor.state_of("x").objects.created == dict.fromkeys(outcome.state.objects.created, "o7")
    assert set(outcome.state.objects.created.values()) == {"o7"}


class Customer(Entity): ...


class Guest(Customer): ...


class Regular(Guest): ...


def desk(*, knows_guests):
    """Return a world about customers, and a problem; only its object says that there are guests among them."""
    domain, got = Domain("desk"), []
    domain.action("greet", {"c": Customer}, provides=["greeted(c)"], tags=["trusted", "needs_approval"])
    problem = domain.problem(objects=[Regular("ann")], goal=["greeted(ann)"]) if knows_guests else None
    world = World(domain)

    @world.handler("greet")
    def greet(c: Customer) -> bool:
        got.append(c)
        return True

    return world, problem, got


def test_a_process_that_never_made_the_problem_learns_the_types_of_its_objects(tmp_path):
    world, problem, got = desk(knows_guests=True)
    outcome = run_virtual(Executor(world, journal=tmp_path / "r.db").run(problem, run="r"))
    assert (outcome.status, got) == (RunStatus.WAITING, [])
    world, _, got = desk(knows_guests=False)
    again = Executor(world, journal=tmp_path / "r.db").resume("r", answers={outcome.questions[0].question: "yes"})
    assert run_virtual(again).status is RunStatus.SUCCEEDED
    assert got == [Customer("ann")]
    stated = ActionPlan.of(Plan((Step("greet", ("ann",)),), problem)).types
    assert stated == {"Regular": ("Guest",), "Guest": ("Customer",)}
