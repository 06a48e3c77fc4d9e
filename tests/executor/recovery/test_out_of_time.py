"""Searches that run out of time: the run says so, tries once more with more time, and never ends by an exception."""

import asyncio
import time
from importlib import import_module

import pytest

import executor.agent.plan_search
import executor.recovery.ladder
import executor.recovery.replanning
from executor import ActionResult, Agent, Executor, PlannedCalls, Recovery, RunStatus, World
from executor.agent.proposals import Standing
from executor.background_searches import SearchStopped, search_in_turn
from executor.recovery.recovery_policy import MORE
from executor.workers.worker import Worker
from htn.language.declare import Methods
from planner import Domain, NoPlan, Outcome, decide
from planner.limits import LimitReached, Limits, read_clock
from planner.plan import Result, Status, StoppedBy
from planner.repair.patching import Patch

SOLVING, DECIDING = import_module("planner.solve"), import_module("planner.policies.decide")


def make_road(*, pays=False, supposes=False):
    """Return a world in which the first way to walk is closed, and the problem to get to the shop."""
    road, seen = Domain("road"), set()
    if pays:
        road.function("coins", low=0)
    modifies, requires = ["coins -= 1"] if pays else [], ["open"] if supposes else []
    road.action("walk", requires=requires, provides=["there"], modifies=modifies)
    road.action("ride", provides=["there"], modifies=modifies, cost=2)
    road.action("leave", requires=["there"], provides=["not there"])
    world = World(road)

    @world.handler("walk")
    def walk():
        raise OSError("the road is closed")

    world.handler("ride")(lambda: seen.add("there"))
    world.handler("leave")(lambda: seen.discard("there"))
    world.observer("there", conclusive=True)(lambda: "there" in seen)
    given = {"values": {"coins": 5}} if pays else {"unknown": ["open"]} if supposes else {}
    return world, road.problem(goal=["there"], **given)


def make_shop():
    """Return a world in which orders turn up, and the problem to handle each of them."""
    shop, left = Domain("shop", types=["order"]), {"o1", "o2", "o3"}
    shop.action("list", lists="pending(_)")
    shop.predicate("pending", "order")
    shop.action("handle", {"order": "order"}, requires="pending(order)", provides="not pending(order)")
    world = World(shop)
    world.handler("list")(lambda: sorted(left))
    world.handler("handle")(lambda order: left.remove(str(order)))
    world.observer("pending(_)", conclusive=True)(lambda: sorted(left))
    return world, shop.problem(goal="(forall (?order - order) (not (pending ?order)))")


ROADS = {
    "facts": make_road,
    "numbers": lambda: make_road(pays=True),
    "unknown facts": lambda: make_road(supposes=True),
    "objects that turn up": make_shop,
}


async def carry_out_by_worker(world, problem, journal):
    executor = Executor(world, journal)
    run = await executor.enqueue(problem)
    await Worker(executor).work(once=True)
    return executor.state_of(run)


def carry_out(world, problem, journal=None):
    """Return status and reason of a run, or why there is no plan; with a `journal`, a worker carries it out."""
    run = Executor(world).run(problem) if journal is None else carry_out_by_worker(world, problem, journal)
    try:
        outcome = asyncio.run(run)
    except NoPlan as error:
        return RunStatus.PROPOSED, str(error)
    return outcome.status, outcome.reason


@pytest.mark.parametrize("number", [0, 1, 2, 5, 10, 20, 50, 100])
@pytest.mark.parametrize("kind", ROADS)
@pytest.mark.parametrize("by", ["executor", "worker"])
def test_a_run_ends_with_a_status_whichever_check_of_the_time_ends_a_search(by, kind, number, monkeypatch, tmp_path):
    world, problem = ROADS[kind]()
    checks, check = iter(range(number)), Limits.check

    def count(limits):
        if next(checks, None) is None:
            raise LimitReached(StoppedBy.TIME)
        check(limits)

    monkeypatch.setattr(Limits, "check", count)
    status, reason = carry_out(world, problem, tmp_path / "runs.db" if by == "worker" else None)
    assert status in {RunStatus.PROPOSED, RunStatus.SUCCEEDED, RunStatus.FAILED}
    assert status is RunStatus.SUCCEEDED or "the time limit" in reason


def fail_first(found, times, searched):
    """Return a search that runs out of time so many `times`, and is `searched` with these limits; `found` goes on."""

    def search(*given, time_limit, **options):
        searched.append(time_limit)
        if len(searched) <= times:
            return Patch(Status.UNKNOWN, StoppedBy.TIME, reason="no patch was found: the time limit")
        return found(*given, time_limit=time_limit, **options)

    return search


def test_a_patch_that_ran_out_of_time_is_searched_once_more_with_more_time(monkeypatch):
    world, problem = make_road()
    searched = []
    patch = fail_first(executor.recovery.replanning.patch, 1, searched)
    monkeypatch.setattr(executor.recovery.replanning, "patch", patch)
    outcome = asyncio.run(Executor(world, recovery=Recovery(time_limit=5)).run(problem))
    assert outcome.succeeded
    assert searched == [5, MORE * 5]
    assert [each.reason for each in outcome.recovery if not each.found] == [
        "patch: no patch was found: the time limit (5 s of processor time)"
    ]


def test_the_reason_of_a_run_says_which_times_its_searches_ran_out_of(monkeypatch):
    world, problem = make_road()
    searched = []
    monkeypatch.setattr(executor.recovery.replanning, "patch", fail_first(None, 99, searched))
    outcome = asyncio.run(Executor(world, recovery=Recovery(time_limit=5)).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert searched[:2] == [5, MORE * 5]
    assert "(5 s of processor time)" in outcome.reason
    assert "(20 s of processor time)" in outcome.reason


def run_out(times, limits, raises=False):
    """Return `solve`, which runs out of time so many `times`, or `raises` then; `limits` gets the time limits."""
    solve = SOLVING.solve

    def search(problem, *, time_limit=None, **options):
        limits.append(time_limit)
        if len(limits) > times:
            return solve(problem, time_limit=time_limit, **options)
        if raises:
            raise LimitReached(StoppedBy.TIME)
        return Result(Status.UNKNOWN, StoppedBy.TIME)

    return search


@pytest.fixture(params=[False, True], ids=["without a result", "by an exception"])
def let_run_out(request, monkeypatch):
    """Let searches for plans run out of time so many `times`; return a list that gets their time limits."""

    def let(times):
        limits = []
        search = run_out(times, limits, request.param)
        monkeypatch.setattr(SOLVING, "solve", search)
        monkeypatch.setattr(executor.agent.plan_search, "solve", search)
        return limits

    return let


def test_an_executor_says_that_both_searches_for_the_first_plan_ran_out_of_time(let_run_out):
    world, problem = make_road()
    limits = let_run_out(2)
    with pytest.raises(NoPlan, match=r"10 s of processor time did not suffice, and neither did 40 s at another try"):
        asyncio.run(Executor(world).run(problem))
    assert limits == [None, 40]


def test_an_agent_searches_once_more_with_more_time(let_run_out):
    world, problem = make_road()
    limits = let_run_out(1)
    achieved = asyncio.run(Agent(world, problem, time_limit=5).achieve(["there"]))
    assert achieved.outcome.succeeded
    assert limits == [5, MORE * 5]


def test_an_agent_says_that_both_searches_ran_out_of_time(let_run_out):
    world, problem = make_road()
    limits = let_run_out(2)
    achieved = asyncio.run(Agent(world, problem).achieve(["there"]))
    assert achieved.proposal.standing is Standing.UNPLANNED
    assert "10 s of processor time did not suffice, and neither did 40 s at another try" in achieved.proposal.reason
    assert limits == [10, 40]


def test_planned_calls_search_once_more_with_more_time(let_run_out):
    world, problem = make_road()
    limits = let_run_out(1)
    (offer,) = asyncio.run(PlannedCalls(world, problem).offers())
    assert offer.name == "walk"
    assert limits == [5, MORE * 5]


def test_planned_calls_begin_without_a_plan_where_both_searches_ran_out_of_time(let_run_out):
    world, problem = make_road()
    limits = let_run_out(2)
    assert asyncio.run(PlannedCalls(world, problem, time_limit=3).offers())
    assert limits == [3, MORE * 3]


def make_ford():
    """Return a world in which a policy fails at its first step, in a state that it does not foresee, and the policy."""
    ford, seen = Domain("ford"), set()
    ford.action("go", outcomes=[Outcome("0.5", ["there"]), Outcome("0.5", ["lost"])])
    ford.action("back", requires=["lost"], provides=["not lost"])
    ford.action("swim", provides=["there"], cost=5)
    world = World(ford)

    @world.handler("go")
    def go():
        return ActionResult.failed("closed")

    world.handler("back")(lambda: seen.discard("lost"))
    world.handler("swim")(lambda: seen.add("there"))
    for fact in ("there", "lost"):
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in seen)
    return world, decide(ford.problem(goal=["there"]))


@pytest.mark.parametrize("raises", [False, True], ids=["without a result", "by an exception"])
def test_a_policy_is_searched_once_more_with_more_time(raises, monkeypatch):
    world, policy = make_ford()
    limits = []

    def search(problem, *, time_limit, **options):
        limits.append(time_limit)
        if len(limits) == 1 and raises:
            raise LimitReached(StoppedBy.TIME)
        return decide(problem, time_limit=0 if len(limits) == 1 else time_limit, **options)

    monkeypatch.setattr(DECIDING, "decide", search)
    outcome = asyncio.run(Executor(world, recovery=Recovery(time_limit=5)).run(policy))
    assert outcome.succeeded
    assert limits == [5, MORE * 5]
    told = [(each.found, "the time limit (5 s of processor time)" in each.reason) for each in outcome.recovery]
    assert told == [(False, True), (True, False)]


def make_errand():
    """Return a world with tasks, and the problem to do one."""
    road = Domain("road")
    road.action("walk", provides=["there"])
    methods = Methods(road)
    methods.task("go")
    methods.method("on-foot", {}, task="go()", subtasks=["walk()"])
    world = World(methods.model)
    world.handler("walk")(lambda: None)
    return world, methods.problem(tasks=["go()"])


async def search_for_temporal(world, problem):
    """Search as an executor of Temporal does for a plan with tasks; no server is needed for that."""
    client_module = pytest.importorskip("temporalio.client", reason="the extra `temporal` is not installed")
    from executor.temporal import TemporalExecutor

    client = await client_module.Client.connect("localhost:1", lazy=True)
    return await TemporalExecutor(world, client)._search_here(problem, {}, {})


def test_a_plan_with_tasks_for_temporal_is_searched_once_more_with_more_time(let_run_out):
    world, problem = make_errand()
    limits = let_run_out(1)
    made = asyncio.run(search_for_temporal(world, problem))
    assert [each.action for each in made.plan.steps] == ["walk"]
    assert limits == [None, 40]


def test_a_search_for_temporal_that_ran_out_of_time_finds_no_plan(let_run_out):
    world, problem = make_errand()
    limits = let_run_out(2)
    with pytest.raises(NoPlan, match="processor time"):
        asyncio.run(search_for_temporal(world, problem))
    assert limits == [None, 40]


def test_the_search_for_a_plan_with_tasks_for_temporal_counts_processor_time(monkeypatch):
    world, problem = make_errand()
    solve, passed = SOLVING.solve, []

    def search_late(problem, **options):
        began = read_clock()
        time.sleep(0.1)
        passed.append(read_clock() - began)
        return solve(problem, **options)

    monkeypatch.setattr(SOLVING, "solve", search_late)
    asyncio.run(search_for_temporal(world, problem))
    assert passed[0] < 0.05


def test_the_first_plan_is_searched_once_more_with_more_time(monkeypatch):
    world, problem = make_road()
    limits = []
    monkeypatch.setattr(SOLVING, "solve", run_out(1, limits))
    assert asyncio.run(Executor(world).run(problem)).succeeded
    assert limits == [None, 40]


def test_a_time_limit_of_the_caller_is_kept(monkeypatch):
    world, problem = make_road()
    limits = []
    monkeypatch.setattr(SOLVING, "solve", run_out(9, limits))
    with pytest.raises(NoPlan, match="time limit"):
        asyncio.run(Executor(world).run(problem, time_limit=3))
    assert limits == [3]


def test_a_limit_that_a_search_in_a_thread_raises_becomes_an_error():
    def search():
        raise LimitReached(StoppedBy.MEMORY)

    with pytest.raises(SearchStopped, match="stopped by the memory limit"):
        asyncio.run(search_in_turn(search))


def test_a_proof_that_runs_out_of_time_is_none(monkeypatch):
    world, problem = make_road()

    def explain(*_, **__):
        raise LimitReached(StoppedBy.TIME)

    monkeypatch.setattr(executor.recovery.ladder, "explain_unsolvable", explain)
    monkeypatch.setattr(executor.recovery.ladder, "answer", lambda *_: Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED))
    world.handler("ride")(lambda: None)
    outcome = asyncio.run(Executor(world).run(problem))
    assert outcome.missing is None
    assert outcome.status in {RunStatus.FAILED, RunStatus.COMPENSATED}
