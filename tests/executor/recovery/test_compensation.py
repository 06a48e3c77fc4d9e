"""What a run does last: it undoes what it did, by a plan of its own."""

import contextlib
import json

import pytest

from executor import Context, ExecutionPolicy, Executor, Recovery, Rung, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain


class Trip:
    """Rooms and flights are booked and cancelled; insurance cannot be given back, and no visa is ever given."""

    def __init__(self):
        self.truth, self.deeds, self.got = set(), [], []
        self.domain = domain = Domain("trip")
        domain.action("book_room", {}, provides=["room"])
        domain.action("cancel_room", {}, requires=["room"], provides=["not room"])
        domain.action("book_flight", {}, requires=["room"], provides=["flight"])
        domain.action("cancel_flight", {}, requires=["flight"], provides=["not flight"])
        domain.action("insure", {}, requires=["flight"], provides=["insured"], tags=["irreversible"])
        domain.action("get_visa", {}, requires=["flight"], provides=["visa"])
        domain.action("fly", {}, requires=["insured"], provides=["gone"])
        self.world = World(domain)
        self.fails = {"get_visa", "fly"}
        for name, fact, holds in (
            ("book_room", "room", True),
            ("cancel_room", "room", False),
            ("book_flight", "flight", True),
            ("cancel_flight", "flight", False),
            ("insure", "insured", True),
            ("get_visa", "visa", True),
            ("fly", "gone", True),
        ):
            self.world.handler(name)(self.doing(name, fact, holds))
        for fact in ("room", "flight", "insured", "visa", "gone"):
            self.world.observer(fact, conclusive=True)(self.looking(fact))

    def doing(self, name, fact, holds):
        async def handler(context: Context):
            self.deeds.append(name)
            self.got.append([each["data"] for each in context.undoes])
            if name in self.fails:
                return False
            (self.truth.add if holds else self.truth.discard)(fact)
            return {"booking": name}

        return handler

    def looking(self, fact):
        async def look():
            return fact in self.truth

        return look

    def run(self, *goal, **options):
        return run_virtual(Executor(self.world, **options).run(self.domain.problem(goal=list(goal))))


def test_what_was_done_is_undone_where_nothing_else_helps():
    trip = Trip()
    outcome = trip.run("visa")
    assert outcome.status is RunStatus.COMPENSATED
    assert trip.truth == set()
    assert trip.deeds[-2:] in (["cancel_flight", "cancel_room"], ["cancel_room", "cancel_flight"])
    statuses = {each.step.action: each.status for each in outcome.steps}
    assert statuses["book_room"] is statuses["book_flight"] is StepStatus.COMPENSATED
    assert outcome.state.rungs[-1].rung is Rung.COMPENSATE
    assert "get_visa()" in outcome.reason


def test_a_step_that_undoes_gets_the_result_of_what_it_undoes():
    trip = Trip()
    trip.run("visa")
    got = dict(zip(trip.deeds, trip.got, strict=True))
    assert got["cancel_flight"] == [{"booking": "book_flight"}]
    assert got["cancel_room"] == [{"booking": "book_room"}]


def test_what_is_irreversible_stays_and_is_listed():
    trip = Trip()
    outcome = trip.run("gone")
    assert outcome.status is RunStatus.FAILED
    assert trip.truth == {"insured"}
    assert "insured was written by s3, which is irreversible" in outcome.reason


def test_what_is_irreversible_is_not_begun_where_a_reversible_step_fails():
    trip = Trip()
    outcome = trip.run("insured", "visa")
    assert outcome.status is RunStatus.COMPENSATED
    assert "insure" not in trip.deeds


def test_what_cannot_be_cancelled_is_said():
    trip = Trip()
    trip.fails.add("cancel_flight")
    outcome = trip.run("visa")
    assert outcome.status is RunStatus.FAILED
    assert trip.truth == {"flight"}


@pytest.mark.parametrize("rungs", [(), (Rung.PATCH, Rung.REPLAN)])
def test_who_does_not_want_it_leaves_it_out(rungs):
    trip = Trip()
    outcome = trip.run("visa", recovery=Recovery(rungs=rungs))
    assert outcome.status is RunStatus.FAILED
    assert trip.truth == {"room", "flight"}


def test_undoing_goes_on_after_a_restart(tmp_path):
    trip = Trip()
    journal = tmp_path / "runs.db"

    class Stop(KeyboardInterrupt):
        pass

    async def stops():
        raise Stop

    trip.world.handler("cancel_room")(stops)
    trip.world.handler("cancel_flight")(stops)
    with pytest.raises(Stop):
        trip.run("visa", journal=journal)
    [record] = Executor(trip.world, journal=journal).journal.runs()
    for name, fact in (("cancel_room", "room"), ("cancel_flight", "flight")):
        trip.world.handler(name)(trip.doing(name, fact, False))
    outcome = run_virtual(Executor(trip.world, journal=journal).resume(record.run))
    assert outcome.status is RunStatus.COMPENSATED
    assert trip.truth == set()


def test_what_undoing_changes_besides_is_said():
    domain = Domain("door")
    domain.action("open_door", {}, provides=["open"])
    domain.action("shut_door", {}, requires=["open"], provides=["not open", "noise"])
    domain.action("greet", {}, requires=["open"], provides=["greeted"])
    world, truth = World(domain), set()
    world.handler("open_door")(lambda: truth.add("open"))
    world.handler("shut_door")(lambda: truth.symmetric_difference_update({"open", "noise"}))
    world.handler("greet")(lambda: False)
    for fact in ("open", "noise", "greeted"):
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in truth)
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["greeted"])))
    assert outcome.status is RunStatus.FAILED
    assert truth == {"noise"}
    assert "noise holds, since u1" in outcome.reason


def test_what_is_refused_once_is_not_proposed_again():
    trip = Trip()
    trip.domain.action("beg", {}, requires=["flight"], provides=["visa"], tags=["needs_approval"])
    trip.world = World(trip.domain)
    asked = []
    for name, fact in (("book_room", "room"), ("book_flight", "flight"), ("beg", "visa"), ("get_visa", "visa")):
        trip.world.handler(name)(trip.doing(name, fact, True))
    trip.run("visa", approve=lambda request: asked.append(request.action) or False)
    assert asked.count("beg") <= 1


def test_the_record_says_what_is_proved_of_an_undo_plan():
    outcome = Trip().run("gone")
    [undone] = [each for each in outcome.state.rungs if each.rung is Rung.COMPENSATE]
    assert undone.reason.startswith("a plan, proved to cost the least; insured")
    assert undone.found


MODELS = ("sequential", "parallel", "dag", "reactive")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("unseen", "said"),
    [
        (["room"], "nobody has seen that room does not hold after u"),
        (["visa"], "nobody has seen that visa does not hold after s"),
        (["room", "flight", "insured", "visa"], "nobody has seen that flight does not hold"),
    ],
)
def test_what_nobody_has_seen_is_not_called_undone(model, unseen, said):
    trip = Trip()
    trip.world.handler("cancel_room")(lambda: None)
    world = World(trip.domain)
    world.skills.update(trip.world.skills)
    for fact in {"room", "flight", "insured", "visa"}.difference(unseen):
        world.observer(fact, conclusive=True)(trip.looking(fact))
    trip.world = world
    outcome = trip.run("visa", model=model)
    assert outcome.status is RunStatus.FAILED
    assert said in outcome.reason
    booked = {each.step.action: each.status for each in outcome.steps}["book_room"]
    assert booked is not StepStatus.COMPENSATED or "room" not in unseen


@pytest.mark.parametrize("model", MODELS)
def test_what_is_trusted_counts_as_undone(model):
    domain = Domain("trusting")
    domain.action("book", {}, provides=["booked"], tags=["trusted"])
    domain.action("cancel", {}, requires=["booked"], provides=["not booked"], tags=["trusted"])
    domain.action("fly", {}, requires=["booked"], provides=["there"])
    world, truth = World(domain), set()
    world.handler("book")(lambda: truth.add("booked"))
    world.handler("cancel")(lambda: truth.discard("booked"))
    world.handler("fly")(lambda: False)
    world.observer("there", conclusive=True)(lambda: False)
    outcome = run_virtual(Executor(world, model=model).run(domain.problem(goal=["there"])))
    assert (outcome.status, truth) == (RunStatus.COMPENSATED, set())


def test_what_is_undone_though_it_was_said_to_have_failed_is_seen_to_be_undone():
    trip = Trip()

    async def cancels_and_fails():
        trip.truth.discard("flight")
        raise OSError("connection lost")

    trip.world.handler("cancel_flight")(cancels_and_fails)
    outcome = trip.run("visa")
    assert (outcome.status, trip.truth) == (RunStatus.COMPENSATED, set())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dies_at", range(12))
def test_a_run_that_dies_while_it_undoes_ends_as_it_would_have(model, dies_at, tmp_path):
    class Dead(BaseException):
        pass

    trip, seen = Trip(), []
    executor = Executor(trip.world, journal=tmp_path / "runs.db", model=model)
    append = executor.journal.append

    def dying(run, kind, data, **options):
        if len(seen) > dies_at:
            raise Dead
        append(run, kind, data, **options)
        if seen or (kind == "PlanChanged" and json.loads(data)["undoes"]):
            seen.append(kind)

    executor.journal.append = dying
    with contextlib.suppress(Dead):
        run_virtual(executor.run(trip.domain.problem(goal=["visa"]), run="r"))
    executor.journal.close()
    for name in ("cancel_room", "cancel_flight"):
        trip.world.policy(name, ExecutionPolicy(retries=3))
    outcome = run_virtual(Executor(trip.world, journal=tmp_path / "runs.db").resume("r"))
    assert (outcome.status, trip.truth) == (RunStatus.COMPENSATED, set())
    assert "get_visa()" in outcome.reason
