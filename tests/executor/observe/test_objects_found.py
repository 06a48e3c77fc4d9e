"""Objects that turn up join the run: from listings, results, observers and answers, in every execution model."""

import asyncio

import pytest

from executor import ActionResult, Executor, Facts, RunStatus, Wait, World
from executor.events.events import ObjectsFound
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Atom, Domain, Entity, always, solve

MODELS = ("sequential", "parallel", "dag", "reactive")
ALL = "(forall (?o - Order) (not (pending ?o)))"


class Order(Entity):
    """An order."""


class Shop:
    """A shop whose orders turn up: `orders` are pending, `handled` were handled, `log` has what handlers were given."""

    def __init__(self, *orders, observe=True, lists="pending(_)"):
        self.orders, self.handled, self.log = list(orders), [], []
        domain = self.domain = Domain("shop")

        @domain.action(lists=lists)
        async def list_orders():
            return self.listing()

        @domain.action(requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
        async def handle(o: Order):
            self.log.append(o)
            self.handled.append(o.name)

        self.world = World(domain)
        if observe:
            self.world.observer("handled(o)", conclusive=True)(lambda o: o.name in self.handled)
            self.world.observer("pending(_)", conclusive=True)(lambda: self.pending)

    @property
    def pending(self):
        return [each for each in self.orders if each not in self.handled]

    def listing(self):
        return [Order(each) for each in self.orders]

    def problem(self, goal=ALL, **more):
        return self.domain.problem(goal=goal, **more)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("observe", [True, False])
def test_what_a_listing_names_is_handled_in_the_same_run(model, observe):
    shop = Shop("o7", "o8", "o9", observe=observe)
    outcome = run_virtual(Executor(shop.world, model=model).run(shop.problem()))
    assert outcome.status is (RunStatus.SUCCEEDED if observe else RunStatus.UNVERIFIED)
    assert str(outcome.steps[0].step) == "list_orders()"
    assert sorted(shop.handled) == ["o7", "o8", "o9"]
    assert all(type(each) is Order for each in shop.log)
    assert sorted(outcome.state.found) == ["o7", "o8", "o9"]


@pytest.mark.parametrize(
    "result",
    [
        ["o7", Order("o8")],
        ActionResult(found={"Order": ["o7", Order("o8")]}),
        ActionResult(observed=("pending(o7)", "pending(o8)")),
        {"success": True, "found": {"order": "o7"}, "observed": ["pending(o7)", "pending(o8)"]},
    ],
    ids=["list", "found", "observed", "dict"],
)
def test_a_result_names_objects_in_several_ways(result):
    shop = Shop("o7", "o8", observe=False)
    shop.listing = lambda: result
    outcome = run_virtual(Executor(shop.world).run(shop.problem()))
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert sorted(shop.handled) == ["o7", "o8"]


def test_what_a_listing_does_not_name_is_not_so_any_more():
    shop = Shop(observe=False)
    outcome = run_virtual(Executor(shop.world).run(shop.problem(objects=[Order("o1")], initial=["pending(o1)"])))
    assert outcome.status is RunStatus.UNVERIFIED
    assert shop.handled in ([], ["o1"])
    assert outcome.state.beliefs.holds(Atom("pending", ("o1",))) is False


def test_a_returned_entity_reaches_handlers_as_it_is():
    shop = Shop("o7")
    rich = Order("o7")
    shop.listing = lambda: [rich]
    run_virtual(Executor(shop.world).run(shop.problem()))
    assert shop.log[0] is rich


@pytest.mark.parametrize("model", MODELS)
def test_a_conclusive_observer_names_them_without_any_listing(model):
    shop = Shop("o7", "o8", lists=())
    heard = []
    outcome = run_virtual(Executor(shop.world, model=model, listeners=[heard.append]).run(shop.problem()))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(shop.handled) == ["o7", "o8"]
    found = [each for each in heard if isinstance(each, ObjectsFound)]
    assert found[0].objects == {"o7": ("Order",), "o8": ("Order",)}


@pytest.mark.parametrize("model", MODELS)
def test_what_turns_up_while_others_are_handled_is_handled_too(model):
    shop = Shop("o7")

    async def more(_, proceed):
        result = await proceed()
        if len(shop.orders) < 6:
            shop.orders.append(f"late{len(shop.orders)}")
        return result

    shop.world.around(more)
    outcome = run_virtual(Executor(shop.world, model=model).run(shop.problem()))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(shop.handled) == sorted(shop.orders)
    assert len(shop.orders) == 6


@pytest.mark.parametrize("is_irreversible", [True, False])
def test_a_condition_over_all_objects_is_looked_at_before_its_step(is_irreversible):
    shop, closed = Shop("o7", lists=()), []
    tags = ["irreversible"] if is_irreversible else []
    shop.domain.action("close", requires=[ALL], provides=["closed"], tags=tags)
    world = World(shop.domain)
    world.handler("close")(lambda: closed.append(list(shop.pending)))
    for observer in shop.world.observers:
        world.observer(str(observer.pattern), conclusive=True)(observer.function)
    world.observer("closed", conclusive=True)(lambda: bool(closed))
    outcome = run_virtual(Executor(world).run(shop.domain.problem(goal=["closed"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert closed == [[]], "nothing was pending when it was closed"
    assert shop.handled == ["o7"]


def test_a_goal_that_needs_an_object_nobody_knows_is_reached_through_listings():
    domain, log = Domain("trip", types=["city", "hotel"]), []
    domain.action("search", {"c": "city"}, lists="free(_, c)", tags=["trusted"])
    domain.action("book", {"h": "hotel", "c": "city"}, requires=["free(h, c)"], provides=["booked(h)"])
    world = World(domain)
    hotels = {"rome": [], "london": ["ritz"]}
    world.handler("search")(lambda c: log.append(c) or hotels[c])
    world.handler("book")(lambda h, **_: log.append(h))
    world.observer("booked(h)", conclusive=True)(lambda h: h in log)
    cities = {"rome": "city", "london": "city"}
    goal = "(exists (?h - hotel) (booked ?h))"
    outcome = run_virtual(Executor(world).run(domain.problem(objects=cities, goal=goal)))
    assert outcome.status is RunStatus.SUCCEEDED
    assert log[-1] == "ritz"
    hotels["london"] = []
    outcome = run_virtual(Executor(world).run(domain.problem(objects=cities, goal=goal)))
    assert outcome.status is RunStatus.IMPOSSIBLE
    assert sorted(log[-2:]) == ["london", "rome"], "both were searched before the run gave up"


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (ActionResult(found={"Ordr": ["o7"]}), "found objects of 'Ordr', which is no type; did you mean 'Order'?"),
        (ActionResult(found={"Order": [["o7"]]}), "found the Order ['o7'], which has no name"),
        (ActionResult(found={"Order": [True]}), "found the Order True, which has no name"),
        ([("o1", "o2")], "the handler lists ('o1', 'o2')"),
        ([{"id": 7}], "the handler lists {'id': 7}"),
        ([None], "the handler lists None"),
        (lambda: ActionResult(found=["o7"]), "found of a result must be a mapping"),
    ],
)
def test_what_is_no_object_fails_the_step_and_joins_nothing(result, why):
    shop = Shop("o1")
    shop.domain.type("Customer")
    shop.world = World(shop.domain)
    shop.world.handler("list_orders")(lambda: result() if callable(result) else result)
    problem = shop.domain.problem(objects=[Order("o1")], goal="listed_pending")
    outcome = run_virtual(Executor(shop.world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert why in outcome.reason
    assert not outcome.state.found


def test_an_object_of_a_wrong_type_does_not_join():
    domain = Domain("looking", types={"room": "object", "robot": "object", "thing": "object", "chair": "thing"})
    domain.predicate("on", "chair")
    domain.action("go", {"r": "robot", "a": "room"}, provides=["at(r, a)"], modifies=["at(r, _)"])
    domain.action("rest", {}, provides=["rested"], tags=["trusted"])
    world = World(domain)
    world.handler("go")(lambda **_: None)
    world.handler("rest")(lambda: ActionResult(observed=("on(t1)", "at(r2, mars)")))
    problem = domain.problem(objects={"r2": "robot", "hall": "room", "t1": "thing"}, goal=["rested"])
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert [each.reason for each in outcome.state.disagreements] == [
        "rest() reports on(t1): 't1' is a thing, not a chair"
    ]
    assert list(outcome.state.found) == ["mars"]


def test_a_narrower_place_narrows_the_type_of_what_turned_up():
    domain = Domain("shop", types={"order": "object", "urgent": "order"})
    domain.predicate("seen", "order")
    domain.action("look", provides=["looked"], tags=["trusted"])
    domain.action(
        "hurry", {"u": "urgent"}, requires=["late(u)"], provides=["hurried(u)", "not late(u)"], tags=["trusted"]
    )
    world = World(domain)
    world.handler("look")(lambda: ActionResult(observed=("seen(o7)", "late(o7)")))
    world.handler("hurry")(lambda **_: None)
    goal = ["looked", "(forall (?u - urgent) (hurried ?u))"]
    outcome = run_virtual(Executor(world).run(domain.problem(goal=goal)))
    assert outcome.status is RunStatus.SUCCEEDED
    assert [str(each.step) for each in outcome.steps] == ["look()", "hurry(o7)"]


def test_what_a_step_created_is_no_second_object_where_an_observer_saw_it_first():
    class Ticket(Entity):
        """A ticket."""

    domain, there = Domain("desk"), []
    domain.action("wait", provides=["waited"])

    @domain.action(provides=["open(t)"], creates={"t": Ticket})
    async def create():
        there.append("T-1")
        await asyncio.sleep(5)
        return ActionResult(created={"t": "T-1"})

    @domain.action(requires=["open(t)"], provides=["done(t)", "not open(t)"])
    async def work(t: Ticket):
        there.remove(t.name)

    world = World(domain)

    @world.handler("wait")
    async def wait():
        await asyncio.sleep(1)

    world.observer("waited")(lambda: Facts({"waited": True, **{f"open({each})": True for each in there}}))
    world.observer("open(_)", conclusive=True)(lambda: there)
    world.observer("done(t)", conclusive=True)(lambda t: t.name not in there)
    goal = ["waited", "(exists (?t - Ticket) (done ?t))", "(forall (?t - Ticket) (not (open ?t)))"]
    outcome = run_virtual(Executor(world, model="dag").run(domain.problem(goal=goal)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert [each.step.action for each in outcome.steps if each.status.is_done].count("work") == 1


def test_what_a_person_answers_names_objects():
    shop = Shop("o7", observe=False)
    shop.world.handler("list_orders")(lambda: Wait("who has ordered?"))
    shop.world.observer("handled(o)", conclusive=True)(lambda o: o.name in shop.handled)

    async def story():
        executor = Executor(shop.world)
        first = await executor.run(shop.problem(), run="r")
        (step,) = [each.id for each in first.steps if each.status.name == "WAITING"]
        return first, await executor.resume("r", results={step: {"success": True, "found": {"Order": ["o7"]}}})

    first, outcome = run_virtual(story())
    assert first.status is RunStatus.WAITING
    assert shop.handled == ["o7"]
    assert outcome.status is RunStatus.UNVERIFIED


def test_a_restart_finds_what_had_turned_up(tmp_path):
    shop = Shop("o7", "o8")

    async def stop(call, proceed):
        if call.action.name == "handle":
            runs[0].interrupt()
        return await proceed()

    async def begin():
        runs.append(Executor(shop.world, journal=tmp_path / "runs.db").start(shop.problem(), run="r"))
        return await runs[0]

    runs = []
    shop.world.around(stop)
    first = asyncio.run(begin())
    again = Shop("o7", "o8", "o9")
    again.handled = list(shop.handled)
    executor = Executor(again.world, journal=tmp_path / "runs.db")
    state = executor.state_of("r")
    assert list(state.found) == list(first.state.found)
    outcome = asyncio.run(executor.resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(again.handled) == ["o7", "o8", "o9"]
    assert all(type(each) is Order for each in again.log)


def test_new_goals_and_facts_bring_their_objects_along():
    shop = Shop("o1")

    async def story():
        first = shop.problem(objects=[Order("o1")], initial=["pending(o1)"], goal=["handled(o1)"])
        run = Executor(shop.world).start(solve(first))
        run.change_goal(shop.problem(objects=[Order("o1"), Order("o2")], goal=["handled(o1)", "handled(o2)"]))
        return await run

    shop.orders.append("o2")
    outcome = run_virtual(story())
    assert sorted(shop.handled) == ["o1", "o2"]
    assert outcome.status is RunStatus.SUCCEEDED


def test_a_task_for_each_item_is_decomposed_anew_for_what_turns_up():
    shop = Shop("o7", "o8")

    async def more(call, proceed):
        if call.action.name == "handle" and "late" not in shop.orders:
            shop.orders.append("late")
        return await proceed()

    how = Methods(shop.domain)
    how.for_each("handle_all", {"o": Order}, items=["pending(o)"], do=["handle(o)"])
    how.task("serve")
    how.method("serve-all", task="serve", subtasks=["list_orders", "handle_all"])
    world = World(how)
    for observer in shop.world.observers:
        world.observer(str(observer.pattern), conclusive=True)(observer.function)
    world.around(more)
    outcome = run_virtual(Executor(world).run(how.problem(tasks=["serve"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(shop.handled) == ["late", "o7", "o8"]
    assert outcome.steps[-1].step.action == "check-handle_all"


def test_constraints_on_the_way_hold_for_what_turns_up():
    shop = Shop("o7")
    constraint = always("(forall (?o - Order) (not (lost ?o)))")
    shop.domain.action("lose", {"o": Order}, requires=["pending(o)"], provides=["lost(o)", "not pending(o)"], cost=0)
    world = World(shop.domain)
    world.handler("lose")(lambda **_: shop.log.append("lost"))
    for observer in shop.world.observers:
        world.observer(str(observer.pattern), conclusive=True)(observer.function)
    outcome = run_virtual(Executor(world).run(shop.domain.problem(goal=ALL, constraints=[constraint])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert "lost" not in shop.log


def test_a_listing_decides_what_is_unknown_of_its_items():
    domain, shipped = Domain("shop", types=["order"]), []
    domain.action("list_blocked", lists="blocked(_)")
    requires = ["listed_blocked", "not blocked(o)"]
    domain.action("ship", {"o": "order"}, requires=requires, provides=["shipped(o)"], tags=["trusted"])
    blocked = ["o2"]
    world = World(domain)
    world.handler("list_blocked")(lambda: list(blocked))
    world.handler("ship")(lambda **given: shipped.append(given["o"]))
    objects = {"o1": "order", "o2": "order"}
    problem = domain.problem(objects=objects, unknown=["blocked(_)"], goal=["shipped(o1)"])
    assert [step.action for step in solve(problem).plan.steps] == ["list_blocked", "ship"]
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert shipped == ["o1"]
    problem = domain.problem(objects=objects, unknown=["blocked(_)"], goal=["shipped(o2)"])
    outcome = run_virtual(Executor(world).run(problem))
    assert not outcome.succeeded
    assert shipped == ["o1"]


class Urgent(Order):
    """An urgent order."""


class Customer(Entity):
    """A customer."""


def test_the_class_of_a_listed_value_is_its_type():
    shop = Shop("o7", "o8", observe=False)
    shop.domain.action("hurry", {"u": Urgent}, requires=["pending(u)"], provides=["hurried(u)"], tags=["trusted"])
    world = World(shop.domain)
    world.handler("list_orders")(lambda: [Order("o7"), Urgent("o8")])
    world.handler("hurry")(lambda **given: shop.log.append(given["u"]))
    goal = ["listed_pending", "(forall (?u - Urgent) (hurried ?u))"]
    outcome = run_virtual(Executor(world).run(shop.domain.problem(goal=goal)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert shop.log == [Urgent("o8")]


def test_a_listed_value_of_another_class_fails_the_step():
    shop = Shop()
    shop.domain.action("greet", {"c": Customer}, provides=["greeted(c)"])
    world = World(shop.domain)
    world.handler("list_orders")(lambda: [Customer("ada")])
    outcome = run_virtual(Executor(world).run(shop.domain.problem(goal=["listed_pending"])))
    assert outcome.status is RunStatus.FAILED
    assert "'ada' is a Customer, not an Order" in outcome.reason
    assert not outcome.state.found


@pytest.mark.parametrize("said", [None, True, "o7", 3, {"orders": ["o7"]}], ids=repr)
@pytest.mark.parametrize("observe", [False, True])
def test_nothing_is_listed_by_a_result_without_items_unless_an_observer_finds_them(said, observe):
    shop = Shop("o7", observe=observe)
    shop.listing = lambda: said
    outcome = run_virtual(Executor(shop.world).run(shop.problem()))
    if observe:
        assert outcome.status is RunStatus.SUCCEEDED
        assert shop.handled == ["o7"]
    else:
        assert outcome.status is RunStatus.FAILED
        assert outcome.reason.startswith("list_orders(): the handler names no items of pending(_)")
        assert "return a list of names" in outcome.reason


def test_nothing_is_listed_where_the_observer_of_the_items_fails():
    shop = Shop("o7", observe=False)
    shop.listing = lambda: None
    shop.world.observer("pending(_)", conclusive=True)(lambda: 1 / 0)
    outcome = run_virtual(Executor(shop.world).run(shop.problem()))
    assert outcome.status is RunStatus.FAILED
    assert shop.handled == []


def test_no_items_at_all_are_a_listing():
    shop = Shop(observe=False)
    assert run_virtual(Executor(shop.world).run(shop.problem())).status is RunStatus.SUCCEEDED


def test_a_step_may_create_an_object_and_list_others():
    domain, pending, handled = Domain("shop"), ["o7"], []

    @domain.action(provides=["pending(o)"], creates={"o": Order}, lists="pending(_)")
    def sync():
        pending.append("o8")
        return ActionResult(data=list(pending), created={"o": "o8"})

    @domain.action(requires=["pending(o)"], provides=["not pending(o)"])
    def handle(o: Order):
        pending.remove(o.name)
        handled.append(o.name)

    world = World(domain)
    world.observer("pending(_)", conclusive=True)(lambda: list(pending))
    outcome = run_virtual(Executor(world).run(domain.problem(goal=ALL)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(handled) == ["o7", "o8"]


@pytest.mark.parametrize("orders", [("o7", "o8"), ()])
def test_a_policy_is_decided_for_what_a_listing_names(orders):
    shop = Shop(*orders)
    problem = shop.problem(goal="(exists (?o - Order) (handled ?o))")
    outcome = run_virtual(Executor(shop.world, model="policy").run(problem))
    assert outcome.status is (RunStatus.SUCCEEDED if orders else RunStatus.IMPOSSIBLE), outcome.reason
    assert str(outcome.steps[0].step) == "list_orders()"
    assert len(shop.handled) == min(1, len(orders))
