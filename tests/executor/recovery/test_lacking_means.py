"""A run that finds a handler, an observer or its domain gone waits with a reason, and undoes nothing."""

from __future__ import annotations

import asyncio

import pytest

from executor import ActionPlan, ActionResult, Executor, RunStatus, StepStatus, Wait, World
from executor.errors import JournalError, RunError
from executor.journal import open_journal
from executor.plan_check.remaining_means import LACKING
from executor.testing import run_virtual
from executor.workers.worker import Worker
from planner import Domain, InputError, solve

MODELS = ("sequential", "parallel", "dag", "reactive")


class Trip:
    """Worlds of a trip that share a book of what was done; some lack a handler or an observer."""

    def __init__(self):
        self.book, self.is_asked = [], False

    def domain(self, *, pay="pay", **options):
        domain = Domain("trip")
        domain.action("book_room", provides=["room"])
        domain.action("cancel_room", requires=["room"], provides=["not room"])
        domain.action("pause", requires=["room"], provides=["confirmed"])
        domain.action(pay, requires=["room", "confirmed"], provides=["paid"], **options)
        return domain

    def world(self, *, lacks=(), blind=(), **options):
        world = World(self.domain(**options))
        handlers = {"pause": self.pause}
        for name in set(world.model.actions) - set(lacks):
            world.handler(name)(handlers.get(name, lambda name=name: self.book.append(name)))
        looks = {"room": self.has_room, "confirmed": lambda: self.is_asked, "paid": lambda: "pay" in self.book}
        for fact in looks.keys() - set(blind):
            world.observer(fact, conclusive=True)(looks[fact])
        return world

    def pause(self):
        self.is_asked = True
        return Wait(event="go")

    def has_room(self):
        return self.book.count("book_room") > self.book.count("cancel_room")

    def begin(self, place, model="sequential", **options):
        world = self.world(**options)
        problem = self.domain(**options).problem(goal=["paid"])
        with open_journal(place) as journal:
            outcome = run_virtual(Executor(world, journal, model=model).run(problem, run="r"))
        assert (outcome.status, self.book) == (RunStatus.WAITING, ["book_room"])

    def resume(self, place, *, results=None, model="sequential", **options):
        with open_journal(place) as journal:
            return run_virtual(Executor(self.world(**options), journal, model=model).resume("r", results=results))


@pytest.mark.parametrize("model", MODELS)
def test_a_missing_handler_undoes_nothing_and_the_run_goes_on_where_it_is_there(tmp_path, model):
    trip, place = Trip(), tmp_path / "runs.db"
    trip.begin(place, model)
    waiting = trip.resume(place, results={"s2": True}, lacks=["pay"], model=model)
    assert waiting.status is RunStatus.WAITING
    assert waiting.reason.startswith(f"{LACKING}: nobody carries out pay: @world.handler(")
    assert trip.book == ["book_room"]
    assert not waiting.recovery
    again = trip.resume(place, lacks=["pay"], model=model)
    assert (again.status, again.reason) == (RunStatus.WAITING, waiting.reason)
    with pytest.raises(RunError, match="the step 's2' waits for no result: it has one"):
        trip.resume(place, results={"s2": True}, model=model)
    done = trip.resume(place, model=model)
    assert done.succeeded
    assert trip.book == ["book_room", "pay"]


def test_a_run_without_a_journal_waits_too():
    trip = Trip()
    world = trip.world()

    async def story():
        executor = Executor(world)
        await executor.run(trip.domain().problem(goal=["paid"]), run="r")
        handler = executor.world.skills.pop("pay")
        waiting = await executor.resume("r", results={"s2": True})
        executor.world.skills["pay"] = handler
        return waiting, await executor.resume("r")

    waiting, done = run_virtual(story())
    assert waiting.status is RunStatus.WAITING
    assert waiting.reason.startswith(LACKING)
    assert done.succeeded


def test_waiting_again_for_the_same_adds_nothing_to_the_journal(tmp_path):
    trip, place = Trip(), tmp_path / "runs.db"
    trip.begin(place)
    trip.resume(place, results={"s2": True}, lacks=["pay"])
    before = [each.kind for each in open_journal(place).read("r")]
    trip.resume(place, lacks=["pay"])
    assert [each.kind for each in open_journal(place).read("r")] == before


def test_a_missing_observer_of_what_an_irreversible_step_rests_on_makes_the_run_wait(tmp_path):
    trip, place, irreversible = Trip(), tmp_path / "runs.db", {"tags": ["irreversible"]}
    trip.begin(place, **irreversible)
    waiting = trip.resume(place, results={"s2": True}, blind=["confirmed"], **irreversible)
    assert waiting.status is RunStatus.WAITING
    assert "pay() can never begin: it rests on confirmed, which pause() changes" in waiting.reason
    assert trip.book == ["book_room"]
    assert trip.resume(place, **irreversible).succeeded


def test_a_domain_that_no_longer_fits_leaves_the_run_waiting_with_the_reason(tmp_path):
    trip, place = Trip(), tmp_path / "runs.db"
    trip.begin(place)
    world = trip.world(pay="settle")
    for _ in range(2):
        with pytest.raises(InputError, match="there is no action 'pay'"):
            run_virtual(Executor(world, place).resume("r"))
    with open_journal(place) as journal:
        *_, last = journal.read("r")
        assert last.status == "WAITING"
        assert LACKING in last.data
        assert "a domain 'trip' of the version that its plan was made with" in last.data
        assert [each.kind for each in journal.read("r")].count("RunEnded") == 2
    assert trip.book == ["book_room"]
    assert trip.resume(place, results={"s2": True}).succeeded


def test_an_unreadable_journal_raises_and_undoes_nothing(tmp_path):
    trip, place = Trip(), tmp_path / "runs.db"
    trip.begin(place)
    place.write_bytes(b"no database at all")
    with pytest.raises(JournalError):
        trip.resume(place, results={"s2": True})
    assert trip.book == ["book_room"]


def test_workers_without_the_handler_leave_the_run_to_one_that_has_it(tmp_path):
    trip, place = Trip(), tmp_path / "runs.db"
    trip.begin(place)
    told = []

    async def hand_over():
        await Executor(trip.world(), place).hand_over("r", results={"s2": True})

    async def work(**options):
        await Worker(Executor(trip.world(**options), place), poll=0.01, tell=told.append).work(once=True)

    asyncio.run(hand_over())
    for _ in range(3):
        asyncio.run(work(lacks=["pay"]))
    with open_journal(place) as journal:
        assert [each.kind for each in journal.read("r")].count("RunEnded") == 2
    assert trip.book == ["book_room"]
    assert any(LACKING in each for each in told)
    asyncio.run(work())
    assert trip.book == ["book_room", "pay"]


def test_a_step_that_was_at_work_is_not_given_up_without_its_handler(tmp_path):
    trip, place = Trip(), tmp_path / "runs.db"
    trip.begin(place)
    world = trip.world(lacks=["pay"])
    world.handler("pay")(lambda: asyncio.sleep(1000))
    with open_journal(place) as journal:
        resumed = Executor(world, journal).resume("r", results={"s2": True})
        with pytest.raises(TimeoutError):
            run_virtual(asyncio.wait_for(resumed, 60))
    waiting = trip.resume(place, lacks=["pay"])
    assert waiting.status is RunStatus.WAITING
    assert waiting.steps[-1].status is StepStatus.RUNNING
    assert trip.book == ["book_room"]
    assert trip.resume(place).succeeded
    assert trip.book == ["book_room", "pay"]


class Post:
    """A world in which the letter may go by a courier, if the post fails; nobody sees what the courier asks for."""

    def __init__(self, *, sees=()):
        domain, self.done = Domain("post"), []
        domain.action("stamp", provides=["stamped"], cost=1)
        domain.action("notify", provides=["notified"], tags=["irreversible"])
        domain.action("post", requires=["stamped", "notified"], provides=["sent"], cost=1, tags=["irreversible"])
        domain.action("call", provides=["called"], cost=5)
        domain.action("courier", requires=["called", "notified"], provides=["sent"], cost=5, tags=["irreversible"])
        self.world = World(domain)
        for name in domain.model.actions:
            self.world.handler(name)(lambda name=name: self.do(name))
        made = {"stamped": "stamp", "notified": "notify", "called": "call"}
        for fact in ("stamped", "notified", *sees):
            self.world.observer(fact, conclusive=True)(lambda fact=fact: made[fact] in self.done)
        self.world.observer("sent", conclusive=True)(lambda: not {"post", "courier"}.isdisjoint(self.done))
        self.problem = domain.problem(goal=["sent"])

    def do(self, name):
        if name == "stamp":
            return ActionResult.failed("no stamps")
        self.done.append(name)
        return True


@pytest.mark.parametrize("model", MODELS)
def test_a_patch_that_can_never_be_done_is_not_begun(model):
    post = Post()
    outcome = run_virtual(Executor(post.world, model=model).run(post.problem))
    assert outcome.status is RunStatus.FAILED
    assert "notify" not in post.done
    assert "courier() can never begin: it rests on called, which call() changes" in outcome.reason
    seen = Post(sees=["called"])
    assert run_virtual(Executor(seen.world, model=model).run(seen.problem)).succeeded
    assert "notify" in seen.done


def test_what_a_handler_takes_back_holds_the_next_irreversible_step():
    domain, done = Domain("desk"), []
    domain.predicate("allowed")
    domain.action("prepare", provides=["ready"])
    domain.action("mail", requires=["ready"], provides=["mailed"], tags=["irreversible"])
    domain.action("publish", requires=["mailed", "allowed"], provides=["published"], tags=["irreversible"])
    world = World(domain)
    world.handler("prepare")(lambda: done.append("prepare") or ActionResult(observed=("allowed",)))
    for name in ("mail", "publish"):
        world.handler(name)(lambda name=name: done.append(name))
    made = {"ready": "prepare", "mailed": "mail", "published": "publish"}
    for fact, action in made.items():
        world.observer(fact, conclusive=True)(lambda action=action: action in done)
    plan = ActionPlan.of(solve(domain.problem(initial=["allowed"], goal=["published"])))
    outcome = run_virtual(Executor(world).run(plan))
    assert done == ["prepare"]
    assert "publish() can never begin: it rests on allowed" in outcome.reason
    assert [each.status for each in outcome.steps][1] is StepStatus.SKIPPED
