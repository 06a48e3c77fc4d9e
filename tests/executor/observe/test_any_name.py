"""Any text is the name of an object: it turns up, is handled, observed, journalled and resumed like any other."""

import asyncio
import json
import multiprocessing
import os
import signal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from executor import ActionResult, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Atom, Domain, Entity
from planner.model.object_names import object_name, term_of

NAMES = (
    "o 7",
    "Müller & Söhne",
    "https://x/a?b=1&c=(d)",
    'he said "no", (yes) \\',
    "it's",
    "_",
    "-",
    "?x",
    "",
    " ",
    "two\nlines\tand\u2028three",
    "not",
    "forall",
    "7",
    "注文 七",
    "A",
    "a",
    "x=1",
    "a<b",
    "[a]{b}|c;d",
    '"quoted"',
    'Order:"x"',
    "other-o",
    "x" * 300,
)
DONE = "(forall (?o - Order) (not (pending ?o)))"


class Order(Entity):
    """An order."""


class Customer(Entity):
    """A customer."""


class Shop:
    """A shop whose orders have the given names; `way` says who tells of them."""

    def __init__(self, names, way="observer", annotation=Order):
        self.left, self.handled = list(names), []
        domain = self.domain = Domain("shop")
        more = {"lists": "pending(_)"} if way == "lists" else {"provides": ["scanned"]}
        domain.action("scan", **more, tags=["trusted"])
        domain.action("handle", {"o": Order}, requires=["pending(o)"], provides=["not pending(o)"], tags=["trusted"])
        self.pending = domain.predicate("pending", Order)
        self.world = World(domain)
        self.world.handler("scan")(lambda: self.tell(way))

        def handle(o: annotation):
            name = o if annotation is str else o.name
            self.left.remove(name)
            self.handled.append(o)

        self.world.handler("handle")(handle)
        if way == "observer":
            self.world.observer("pending(_)", conclusive=True)(lambda: list(self.left))

    def tell(self, way):
        return {
            "lists": lambda: list(self.left),
            "found": lambda: ActionResult(found={"order": self.left}, observed=tuple(map(self.fact, self.left))),
            "observed": lambda: ActionResult(observed=tuple(f"pending({term_of(each)})" for each in self.left)),
            "atoms": lambda: ActionResult(observed=tuple(self.pending(Order(each)) for each in self.left)),
            "observer": lambda: None,
        }[way]()

    def fact(self, name):
        return Atom("pending", (term_of(name),))

    def problem(self, way):
        return self.domain.problem(goal=DONE if way in ("observer", "lists") else ["scanned", DONE])


@pytest.mark.parametrize("way", ["observer", "lists", "found", "observed", "atoms"])
@pytest.mark.parametrize("name", NAMES)
def test_an_object_of_any_name_turns_up_and_is_handled(way, name):
    shop = Shop([name, "o9"], way)
    outcome = run_virtual(Executor(shop.world).run(shop.problem(way)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(shop.handled, key=str) == sorted([Order(name), Order("o9")], key=str)
    assert shop.left == []


@pytest.mark.parametrize("model", ["parallel", "dag", "reactive"])
def test_every_execution_model_takes_any_name(model):
    shop = Shop(NAMES)
    outcome = run_virtual(Executor(shop.world, model=model).run(shop.problem("observer")))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert {each.name for each in shop.handled} == set(NAMES)


def test_handlers_that_take_texts_get_the_name_itself():
    shop = Shop(NAMES, annotation=str)
    outcome = run_virtual(Executor(shop.world).run(shop.problem("observer")))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(shop.handled) == sorted(NAMES)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=4, unique=True))
@example(list(NAMES))
def test_any_texts_are_handled_like_plain_names(names):
    plain, strange = Shop([f"o{at}" for at in range(len(names))]), Shop(names)
    outcomes = [run_virtual(Executor(each.world).run(each.problem("observer"))) for each in (plain, strange)]
    assert [each.status for each in outcomes] == [RunStatus.SUCCEEDED] * 2, outcomes[1].reason
    assert strange.left == plain.left == []
    assert len(outcomes[0].steps) == len(outcomes[1].steps)
    assert [object_name(each.step.arguments[0]) for each in outcomes[1].steps] == [o.name for o in strange.handled]


def test_a_run_with_strange_names_is_resumed_from_its_journal(tmp_path):
    """A process is killed inside the fifth step; the orders that are left are in a file."""
    shop, journal, orders = Shop(NAMES), tmp_path / "runs.db", tmp_path / "orders.json"
    orders.write_text(json.dumps(NAMES))

    def handle(o: Order):
        left = json.loads(orders.read_text())
        left.remove(o.name)
        orders.write_text(json.dumps(left))
        shop.handled.append(o)
        if len(left) == len(NAMES) - 5:
            os.kill(os.getpid(), signal.SIGKILL)

    world = World(shop.domain)
    world.handler("handle")(handle)
    world.observer("pending(_)", conclusive=True)(lambda: json.loads(orders.read_text()))
    killed = multiprocessing.get_context("fork").Process(target=begin, args=(world, journal, shop.problem("observer")))
    killed.start()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    outcome = asyncio.run(Executor(world, journal=journal).resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert json.loads(orders.read_text()) == []
    assert len(shop.handled) == len(NAMES) - 5, "what was done is not done again"
    assert all(type(each) is Order for each in shop.handled)


def begin(world, journal, problem):
    asyncio.run(Executor(world, journal=journal).run(problem, run="r"))


@pytest.mark.parametrize("name", ["x", "o 7"])
@pytest.mark.parametrize("way", ["observer", "lists", "observed"])
def test_an_order_may_have_the_name_of_a_customer(way, name):
    shop = Shop([name], way)
    shop.domain.action("greet", {"c": Customer}, provides=["greeted(c)"], tags=["trusted"])
    greeted = []
    world = World(shop.domain)
    world.handler("scan")(lambda: shop.tell(way))
    world.handler("greet")(lambda **given: greeted.append(given["c"]))
    world.handler("handle")(lambda o: shop.left.remove(o.name) or shop.handled.append(o))
    if way == "observer":
        world.observer("pending(_)", conclusive=True)(lambda: list(shop.left))
    goal = [DONE, f"greeted({term_of(name)})", *([] if way in ("observer", "lists") else ["scanned"])]
    problem = shop.domain.problem(objects=[Customer(name)], goal=goal)
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert shop.handled == [Order(name)]
    assert greeted == [Customer(name)]


def test_two_new_objects_of_one_name_in_one_fact_are_two_objects():
    domain = Domain("shop")
    domain.action("scan", provides=["scanned"], tags=["trusted"])
    domain.action(
        "send", {"o": Order, "c": Customer}, requires=["bears(o, c)"], provides=["not bears(o, c)"], tags=["trusted"]
    )
    sent, world = [], World(domain)
    world.handler("scan")(lambda: ActionResult(observed=("bears(x, x)", 'bears("y 1", x)')))
    world.handler("send")(lambda o, c: sent.append((o, c)))
    goal = ["scanned", "(forall (?o - Order ?c - Customer) (not (bears ?o ?c)))"]
    outcome = run_virtual(Executor(world).run(domain.problem(goal=goal)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(sent, key=str) == sorted([(Order("x"), Customer("x")), (Order("y 1"), Customer("x"))], key=str)


@pytest.mark.parametrize("seen", [[Customer("ada")], [Order("o1"), Customer("ada")]])
def test_an_entity_of_another_class_makes_the_pattern_unknown_and_is_named(seen):
    shop = Shop(["o1"])
    shop.domain.action("greet", {"c": Customer}, provides=["greeted(c)"])
    world = World(shop.domain)
    world.handler("handle")(lambda **given: shop.handled.append(given["o"]))
    world.observer("pending(_)", conclusive=True)(lambda: list(seen))
    outcome = run_virtual(Executor(world).run(shop.domain.problem(goal=DONE)))
    assert outcome.status is RunStatus.UNVERIFIED
    assert "'ada' is a Customer, not an Order" in outcome.reason
    assert shop.handled == []
