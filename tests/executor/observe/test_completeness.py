"""That all items are known is what a run knows: who adds items ends it, and no undo needs it."""

import pytest

from executor import ActionResult, Executor, RunStatus, StepStatus, World
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Atom, Domain, Entity

ALL = "(forall (?o - Order) (not (pending ?o)))"
LISTED = Atom("listed_pending")


class Order(Entity):
    """An order."""


class Shop:
    """A shop with `orders` that are pending; `call` makes another one, and says that it failed if it `denies` that."""

    def __init__(self, *orders, observe=True, conclusive=True, denies=False):
        self.orders, self.log = list(orders), []
        domain = self.domain = Domain("shop")

        @domain.action(lists="pending(_)")
        async def list_orders():
            self.log.append("list")
            return list(self.orders)

        @domain.action(provides=["pending(order)", "called"], creates={"order": Order})
        async def call():
            self.orders.append("late")
            created = {"order": "late"}
            return ActionResult(success=not denies, error="the line broke", created={} if denies else created)

        @domain.action(requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
        async def handle(o: Order):
            self.orders.remove(o.name)
            self.log.append(o.name)

        domain.action("give_up", requires=["called"], provides=["done"])
        self.world = World(domain)
        self.world.handler("give_up")(lambda: ActionResult.failed("never"))
        if observe:
            self.world.observer("pending(_)", conclusive=conclusive)(lambda: self.orders)
            self.world.observer("handled(o)", conclusive=conclusive)(lambda o: o.name in self.log)
            self.world.observer("called", conclusive=conclusive)(lambda: "late" in [*self.orders, *self.log])


@pytest.mark.parametrize(
    ("options", "listed"),
    [({}, True), ({"conclusive": False}, False), ({"observe": False}, False)],
    ids=["conclusive", "inconclusive", "unobserved"],
)
def test_who_adds_an_item_has_done_so_whether_or_not_all_are_known_again(options, listed):
    shop = Shop(**options)
    outcome = run_virtual(Executor(shop.world).run(shop.domain.problem(initial=["listed_pending"], goal=["called"])))
    assert outcome.steps[0].status is (StepStatus.UNVERIFIED if "observe" in options else StepStatus.SUCCEEDED)
    assert outcome.state.beliefs.holds(LISTED) is listed
    assert outcome.status is (RunStatus.UNVERIFIED if "observe" in options else RunStatus.SUCCEEDED)


def test_an_observer_that_is_not_conclusive_lists_nothing():
    shop = Shop("o7", conclusive=False)
    outcome = run_virtual(Executor(shop.world).run(shop.domain.problem(goal=ALL)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(shop.log) == ["list", "o7"]


def test_who_says_that_adding_failed_may_have_added():
    shop = Shop(observe=False, denies=True)
    problem = shop.domain.problem(initial=["listed_pending"], goal=["called"])
    outcome = run_virtual(Executor(shop.world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert {note.fact: note.holds for note in outcome.steps[0].facts}[LISTED] is False


def test_nothing_is_unlisted_to_undo_a_listing():
    domain = Domain("shop")
    domain.action("list_orders", lists="pending(_)")
    domain.action("open_shop", provides=["opened"])
    domain.action("close_shop", requires=["opened"], provides=["not opened"])
    domain.action("handle", {"o": Order}, requires=["opened"], provides=["handled(o)", "not pending(o)"])
    problem = domain.problem(objects=[Order("o1")], initial=["pending(o1)"], goal=["opened", ALL])
    faults = [Fault(FaultKind.FAILS, "handle", times=None)]
    simulated = SimulatedWorld(problem, faults=faults)
    outcome = run_virtual(Executor(simulated.world).run(problem))
    assert outcome.status is RunStatus.COMPENSATED, outcome.reason
    assert not simulated.holds("opened")


def test_an_undo_does_not_end_what_a_listing_has_named():
    shop = Shop("o7", observe=False)
    problem = shop.domain.problem(goal=["done", "listed_pending"], initial=["called"])
    outcome = run_virtual(Executor(shop.world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert shop.log == ["list"]


def test_handlers_of_a_simulated_world_need_no_listing():
    domain = Domain("shop", types=["Order"])
    domain.action("list_orders", lists="pending(_)")
    domain.action("lock", requires=[ALL], provides=["locked"], tags=["irreversible"])
    problem = domain.problem(goal=["locked", "listed_pending"])
    simulated = SimulatedWorld(problem, faults=[Fault(FaultKind.FAILS, "list_orders", times=None)])
    outcome = run_virtual(Executor(simulated.world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert simulated.holds(problem.goal.hard)
    assert simulated.applied["lock"] == 1
