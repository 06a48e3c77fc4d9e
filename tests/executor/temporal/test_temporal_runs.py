"""What a run on Temporal waits for, hears, and survives; and who can read it."""

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from executor import (
    ActionResult,
    ExecutionPolicy,
    Metrics,
    ModelClient,
    RunError,
    RunExists,
    RunStatus,
    Wait,
    World,
    learn,
    summary,
)
from executor.events.stored_runs import load_runs
from executor.loop.parameters import Fillings
from executor.plans.action_plan import ActionPlan
from executor.testing import ScriptedModel
from planner import Domain, Entity, Objective, solve
from planner.errors import InputError, NoPlan

pytestmark = pytest.mark.timeout(300)


class Robot(Entity): ...


class Room(Entity): ...


class Bell(Entity): ...


QUICK = ExecutionPolicy(backoff=0.01, jitter=0.0)


@dataclass
class Office:
    """An office whose handlers note what they do, and do what `replies` say."""

    where: dict = field(default_factory=lambda: {"r": "a"})
    rung: set = field(default_factory=set)
    acts: list = field(default_factory=list)
    replies: dict = field(default_factory=dict)
    world: World = None
    domain: Domain = None

    def __post_init__(self):
        self.domain = Domain("office")
        self.domain.action(
            "move",
            {"robot": Robot, "origin": Room, "target": Room},
            requires=["at(robot, origin)", "door(origin, target)"],
            provides=["at(robot, target)"],
            modifies=["at(robot, _)"],
            tags=["by_robot"],
        )
        self.domain.action("ring", {"bell": Bell}, provides=["rung(bell)"])
        self.world = World(self.domain)
        self.world.handler("move")(self.move)
        self.world.handler("ring")(self.ring)
        self.world.observer("at(robot, _)", conclusive=True)(self.look)
        self.world.observer("rung(bell)", conclusive=True)(self.hear)
        for action in ("move", "ring"):
            self.world.policy(action, QUICK)

    async def move(self, robot: Robot, origin: Room, target: Room, context):
        self.acts.append((robot.name, origin.name, target.name))
        reply = self.replies.get(target.name)
        answer = await reply(context) if reply is not None else None
        self.where[robot.name] = target.name
        return answer

    async def ring(self, bell: Bell, context):
        self.acts.append(bell.name)
        reply = self.replies.get(bell.name)
        if reply is not None:
            return await reply(context)
        self.rung.add(bell.name)
        return None

    async def look(self, robot: Robot) -> Room:
        return Room(self.where[robot.name])

    async def hear(self, bell: Bell):
        return bell.name in self.rung

    def problem(self, goal, rooms="abcd"):
        objects = [Robot("r"), *map(Room, rooms), Bell("k")]
        doors = [f"door({a}, {b})" for a, b in pairwise(rooms)]
        return self.domain.problem(
            objects=objects, initial=["at(r, a)", *doors, *[f"door({each[8]}, {each[5]})" for each in doors]], goal=goal
        )


def until(condition, seconds=100.0):
    async def wait():
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - handlers tell nobody
                await asyncio.sleep(0.01)

    return wait()


async def see(run, kind, seconds=100.0):
    """Wait until an event of this kind is told."""
    async with asyncio.timeout(seconds):
        while not [each async for each in read(run) if type(each).__name__ == kind]:  # noqa: ASYNC110 - asked again
            await asyncio.sleep(0.05)


async def read(run):
    from temporalio.service import RPCError

    from executor.events.events import event_from_data
    from executor.temporal.value_data import unpack_entries
    from executor.tools.json_data import load_json

    try:
        told = await run._handle.query("told")
    except RPCError:  # it has not begun
        return
    for kind, data, _ in unpack_entries(told["entries"]):
        yield event_from_data(kind, load_json(data))


def later(office, bell, wait):
    async def reply(_):
        return wait

    office.replies[bell] = reply


def test_a_worker_plans_and_a_hopeless_problem_has_no_plan(on_temporal):
    office = Office()

    async def main():
        async with on_temporal(office.world) as executor:
            outcome = await executor.run(office.problem(["at(r, d)"]), mode="first")
            assert outcome.succeeded
            assert [str(each.step) for each in outcome.steps] == ["move(r, a, b)", "move(r, b, c)", "move(r, c, d)"]
            with pytest.raises(NoPlan, match="no plan"):
                await executor.run(
                    office.domain.problem(
                        objects=[Robot("r"), Room("a"), Room("z")], initial=["at(r, a)"], goal=["at(r, z)"]
                    )
                )
            again = await executor.run(office.problem(["at(r, d)"]), run=outcome.run)
            assert summary(again.state) == summary(outcome.state)
            with pytest.raises(RunExists, match="and it was begun for something else"):
                await executor.run(office.problem(["at(r, c)"]), run=outcome.run)
            with pytest.raises(RunExists, match="already a run"):
                await executor.run(office.problem(["at(r, d)"]), run=outcome.run, join=False)
            with pytest.raises(RunError, match="no run"):
                await executor.resume("nobody")
            with pytest.raises(RunError, match="no run"):
                await executor.state_of("nobody")

    asyncio.run(main())


def test_what_temporal_does_not_carry_out_is_refused_with_a_reason(on_temporal):
    from executor.temporal import TemporalExecutor

    office = Office()
    problem = office.problem(["at(r, d)"])

    async def main():
        async with on_temporal(office.world) as executor:
            for name in ("entities", "learned", "fill", "approve", "client", "enqueue"):
                with pytest.raises(InputError, match=f"no option '{name}'"):
                    executor.start(problem, **{name: {}})
            with pytest.raises(InputError, match="must be an Experience"):
                TemporalExecutor(office.world, executor.client, learned=True)
            with pytest.raises(InputError, match="'on_progress' does not go to the worker"):
                await executor.start(problem, on_progress=print)
            with pytest.raises(InputError):
                executor.start(object())

    asyncio.run(main())


def test_a_worker_decides_on_a_policy_and_takes_up_a_plan_among_alternatives(on_temporal):
    office, risky = Office(), Domain("risky")
    risky.action("try_it", {}, provides=["done"], risk="0.5")
    world, tried = World(risky), []

    @world.handler("try_it")
    async def try_it():
        tried.append(len(tried))
        return ActionResult(success=len(tried) > 1)

    @world.observer("done", conclusive=True)
    async def look():
        return len(tried) > 1

    async def main():
        async with on_temporal(world, model="policy") as executor:
            run = await executor.enqueue(risky.problem(goal=["done"]), objective=Objective.SUCCESS)
            outcome = await executor.follow(run)
            assert (outcome.status, tried) == (RunStatus.SUCCEEDED, [0, 1])
            assert outcome.state.plan.policy is not None
        problem = office.problem(["at(r, d)"])
        other = solve(problem)
        async with on_temporal(office.world) as executor:
            outcome = await executor.run(problem, alternatives=[other], mode="first")
            assert outcome.succeeded
            assert outcome.state.plan.alternatives == (("move(r, a, b)", "move(r, b, c)", "move(r, c, d)"),)

    asyncio.run(main())


def test_workers_fill_open_parameters_and_have_a_language_model(on_temporal):
    domain = Domain("mail")
    domain.action("write", {"to": Room, "text": str}, provides=["written(to)"])
    world, written = World(domain), []

    @world.handler("write")
    async def write(to, text, context):
        found = await context.model.ask("Which greeting?")
        written.append((to.name, text, found.text))

    asked = []

    async def fill(request):
        asked.append((request.record.id, request.state.run, [each.name for each in request.parameters]))
        return Fillings({"text": f"hello {request.record.step.arguments[0]}"}, "as always", metrics=Metrics(tokens=3))

    model = ScriptedModel([{"text": "dear"}])
    problem = domain.problem(objects={"a": Room}, goal=["written(a)"])

    async def main():
        options = {"fill": fill, "model_client": ModelClient(model)}
        async with on_temporal(world, **options) as executor:
            outcome = await executor.run(problem, run="mail-1")
            assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
            kinds = [type(each).__name__ async for each in executor.follow("mail-1").events()]
        assert asked == [("s1", "mail-1", ["text"])]
        assert written == [("a", "hello a", "dear")]
        assert {"ParametersFilled", "ModelAsked"} <= set(kinds)
        assert outcome.state.spent.asked["calls"] == 1

    asyncio.run(main())


@pytest.mark.parametrize("stay", [False, True])
def test_an_announced_event_completes_a_waiting_step(on_temporal, stay):
    office = Office()
    later(office, "k", Wait(event="bell"))

    async def main():
        async with on_temporal(office.world, stay=stay) as executor:
            run = executor.start(office.problem(["rung(k)"]))
            if not stay:
                outcome = await run
                assert outcome.status is RunStatus.WAITING
            await see(run, "StepWaiting")
            office.rung.add("k")
            assert await run.announce("bell") == 1
            return await run

    assert asyncio.run(main()).succeeded


def test_a_result_from_outside_completes_a_waiting_step_and_must_fit(on_temporal):
    office = Office()
    later(office, "k", Wait("somebody rings", choices=("rung", "broken")))

    async def main():
        async with on_temporal(office.world) as executor:
            outcome = await executor.run(office.problem(["rung(k)"]))
            assert outcome.status is RunStatus.WAITING
            with pytest.raises(InputError, match="say one of: rung, broken"):
                await executor.resume(outcome.run, results={"s1": "who knows"})
            with pytest.raises(RunError, match="waits for no result"):
                await executor.resume(outcome.run, results={"s7": "rung"})
            with pytest.raises(RunError, match="nobody has asked"):
                await executor.resume(outcome.run, answers={"approve:s1": True})
            office.rung.add("k")
            return await executor.resume(outcome.run, results={"s1": "rung"})

    assert asyncio.run(main()).succeeded


def test_a_callback_answers_what_a_step_waits_for(on_temporal):
    office = Office()
    later(office, "k", Wait("somebody rings", choices=("rung", "broken")))
    asked = []

    def answer(question):
        asked.append(question.question)
        office.rung.add("k")
        return "rung"

    async def main():
        async with on_temporal(office.world, ask=answer) as executor:
            return await executor.run(office.problem(["rung(k)"]))

    assert asyncio.run(main()).succeeded
    assert asked == ["wait:s1"]


def test_a_wait_is_a_timer_and_a_deadline_ends_a_wait(on_temporal):
    office = Office()
    later(office, "k", Wait(seconds=0.3))

    async def main():
        async with on_temporal(office.world) as executor:
            run = executor.start(office.problem(["rung(k)"]))
            await see(run, "StepWaiting")
            office.rung.add("k")
            assert (await run).succeeded
            office.rung.clear()
            later(office, "k", Wait(event="bell", deadline=1.5, conclusive=True))
            run = executor.start(office.problem(["rung(k)"]))
            assert (await run).status is RunStatus.WAITING
            async with asyncio.timeout(100):
                while not (outcome := await run).status.is_over:  # noqa: ASYNC110 - the deadline takes it up
                    await asyncio.sleep(0.1)
            assert outcome.status in (RunStatus.FAILED, RunStatus.COMPENSATED)
            assert "no answer came within 1.5 s" in outcome.reason

    asyncio.run(main())


def test_a_run_is_called_off_and_its_handler_hears_it(on_temporal):
    office = Office()
    heard = []

    async def reply(context):
        async with asyncio.timeout(100):
            await context.aborted.wait()
        heard.append(context.step)
        return ActionResult.failed("called off")

    office.replies["b"] = reply

    async def main():
        async with on_temporal(office.world) as executor:
            run = executor.start(office.problem(["at(r, d)"]))
            await until(lambda: office.acts)
            await run.cancel()
            outcome = await run
            assert outcome.status is RunStatus.CANCELLED
            assert heard == ["s1"]
            assert len(office.acts) == 1
            await run.cancel()  # a run that is over stays as it is
            assert (await run).status is RunStatus.CANCELLED

    asyncio.run(main())


def test_temporal_itself_may_call_a_run_off(on_temporal):
    office = Office()
    later(office, "k", Wait(event="bell"))

    async def main():
        async with on_temporal(office.world) as executor:
            outcome = await executor.run(office.problem(["rung(k)"]))
            await executor.client.get_workflow_handle(outcome.run).cancel()
            run = executor.follow(outcome.run)
            async with asyncio.timeout(100):
                while (outcome := await run).status is not RunStatus.CANCELLED:  # noqa: ASYNC110 - asked again
                    await asyncio.sleep(0.05)

    asyncio.run(main())


def test_an_interrupted_run_is_taken_up_and_its_goal_changes(on_temporal):
    office = Office()
    going = asyncio.Event()

    async def reply(_):
        await going.wait()

    office.replies["b"] = reply

    async def main():
        async with on_temporal(office.world) as executor:
            run = executor.start(office.problem(["at(r, d)"]))
            await until(lambda: office.acts)
            await run.interrupt()
            await asyncio.sleep(0.3)
            going.set()
            outcome = await run
            assert (outcome.status, outcome.reason) == (RunStatus.WAITING, "interrupted")
            assert office.where["r"] == "b"
            await run.change_goal(office.problem(["at(r, c)", "rung(k)"]), "somebody wants the bell")
            assert (await run).succeeded
            assert office.where["r"] == "c"
            assert office.rung == {"k"}

    asyncio.run(main())


def test_the_goal_changes_while_a_step_is_at_work_and_facts_are_reported(on_temporal):
    office = Office()
    going = asyncio.Event()

    async def reply(_):
        await going.wait()

    office.replies["b"] = reply
    office.world.observers.clear()
    office.world._looks.clear()

    async def main():
        async with on_temporal(office.world) as executor:
            problem = office.problem(["at(r, d)", "rung(k)"])
            run = executor.start(problem)
            await until(lambda: office.acts)
            await run.report(
                {next(each for each in solve(problem).plan.problem.goal.hard.parts if each.predicate == "rung"): True}
            )
            await run.change_goal(office.problem(["at(r, a)"]))
            going.set()
            outcome = await run
            assert outcome.status is RunStatus.UNVERIFIED
            assert office.where["r"] == "a"
            assert office.rung == set()

    asyncio.run(main())


def test_context_of_a_handler_is_that_of_its_run(on_temporal):
    office, seen = Office(), []

    async def first(context):
        context.memory.set("colour", "green", relevance=0.5)
        context.progress("half", 0.5)
        seen.append(
            (context.run, context.step, context.attempt, context.key, context.outline.number, context.outline.goal)
        )
        return ActionResult(data={"floor": 3}, values={"size": 7})

    async def second(context):
        seen.append(
            (
                context.memory.get("colour"),
                context.memory.get("size"),
                context.results["move"]["data"],
                context.results["s1"]["data"],
            )
        )
        context.request_replanning("look again")

    office.replies |= {"b": first, "c": second}

    async def main():
        async with on_temporal(office.world) as executor:
            outcome = await executor.run(office.problem(["at(r, d)"]), run="about", memory={"given": 1})
            assert outcome.succeeded
            assert seen[0] == ("about", "s1", 1, "about/s1", 1, ("at(r, d)",))
            assert seen[1] == ("green", 7, {"floor": 3}, {"floor": 3})
            assert outcome.state.memory.to_dict() == {"given": 1, "colour": "green", "size": 7}
            assert "PlanChanged" in [type(each).__name__ async for each in executor.follow("about").events()]

    asyncio.run(main())


def test_checks_hooks_and_policies_of_the_world_count(on_temporal):
    office, hooked = Office(), []

    @office.world.check("move")
    async def check(target: Room):
        return "c is locked" if target.name == "c" else True

    @office.world.around
    async def hook(call, proceed):
        hooked.append((call.action.name, call.context.step))
        return await proceed()

    async def fails(_):
        raise OSError("no power")

    office.replies["b"] = fails
    office.world.policy("move", ExecutionPolicy(retries=2, retry_on=(OSError,), backoff=0.01, jitter=0.0))

    async def main():
        async with on_temporal(office.world) as executor:
            outcome = await executor.run(office.problem(["at(r, b)"]))
            assert outcome.status is RunStatus.FAILED
            assert [each for each in hooked if each[1] == "s1"] == [("move", "s1")] * 3
            office.replies.clear()
            outcome = await executor.run(office.problem(["at(r, d)"]))
            assert outcome.status in (RunStatus.FAILED, RunStatus.COMPENSATED, RunStatus.IMPOSSIBLE)
            assert "c is locked" in outcome.reason

    asyncio.run(main())


def test_steps_go_to_the_queue_of_their_tags(on_temporal):
    office = Office()

    async def main():
        from executor.temporal import TemporalExecutor, TemporalWorker

        async with on_temporal(office.world) as executor:
            apart = TemporalExecutor(office.world, executor.client, queues={"by_robot": "robots"})
            run = apart.start(office.problem(["at(r, b)"]))
            await asyncio.sleep(1.0)
            assert not office.acts  # nobody serves the queue of robots
            async with TemporalWorker(office.world, executor.client, "robots", runs=False):
                assert (await run).succeeded

    asyncio.run(main())


def test_a_long_run_goes_on_in_a_new_history_and_tells_all_its_events(on_temporal):
    office = Office()
    rooms = "abcdefghijlmnopqstuvw"

    async def main():
        async with on_temporal(office.world, most_events=30) as executor:
            outcome = await executor.run(office.problem([f"at(r, {rooms[-1]})"], rooms), mode="first")
            assert outcome.succeeded
            assert len(office.acts) == len(rooms) - 1
            kinds = [type(each).__name__ async for each in executor.follow(outcome.run).events()]
            assert (kinds.count("RunStarted"), kinds.count("RunEnded"), kinds.count("RunResumed")) == (1, 1, 0)
            assert kinds.count("StepEnded") == len(rooms) - 1
            histories = [each async for each in executor.client.list_workflows(f'WorkflowId="{outcome.run}"')]
            assert len(histories) > 1

    asyncio.run(main())


def test_a_run_survives_a_new_version_of_the_domain(on_temporal):
    office, later_office = Office(), Office()
    later(office, "b", Wait(event="bell"))
    later_office.domain.action("hop", {"robot": Robot}, requires=["not hopped(robot)"], provides=["hopped(robot)"])
    later_office.world = World(later_office.domain)
    for action in ("move", "ring"):
        later_office.world.handler(action)(getattr(later_office, action))
    later_office.world.observer("at(robot, _)", conclusive=True)(later_office.look)
    later_office.world.observer("rung(bell)", conclusive=True)(later_office.hear)
    plan = ActionPlan.of(solve(office.problem(["at(r, c)"])).expect_plan())

    async def main():
        async with on_temporal(office.world, queue="versions") as executor:
            assert (await executor.run(plan, run="versioned")).status is RunStatus.WAITING
        later_office.where["r"] = office.where["r"]
        async with on_temporal(later_office.world, queue="versions") as executor:
            run = executor.follow("versioned")
            await run.announce("bell")
            outcome = await run
            assert outcome.succeeded, outcome
            assert later_office.where["r"] == "c"
            reasons = [each.reason async for each in run.events() if type(each).__name__ == "PlanChanged"]
            assert reasons == ["the rest of the plan still works"]

    asyncio.run(main())


def test_children_are_runs_within_runs(on_temporal):
    outer, inner = Office(), Office()
    made = {}

    async def reply(_):
        outcome = await made["inner"].run(inner.problem(["at(r, c)"]))
        return ActionResult(success=outcome.succeeded, data=outcome.run)

    outer.replies["b"] = reply

    async def main():
        async with on_temporal(outer.world) as executor, on_temporal(inner.world, queue="inner") as made["inner"]:
            outcome = await executor.run(outer.problem(["at(r, b)"]), run="outer")
            assert outcome.succeeded
            assert inner.where["r"] == "c"
            assert outcome.steps[0].result["data"] == "outer/s1"
            assert (await executor.client.get_workflow_handle("outer/s1").describe()).close_time is not None

    asyncio.run(main())


def test_the_journal_of_temporal_reads_as_any_journal(on_temporal, server):
    from executor.desk.pages.run_page import run_page
    from executor.temporal import TemporalJournal

    office = Office()

    async def main():
        async with on_temporal(office.world, queue="read") as executor:
            outcome = await executor.run(office.problem(["at(r, d)"]), run="kept")
            await asyncio.to_thread(wait_until_listed)
            infos = await executor.runs()
            assert (infos["kept"].status, infos["kept"].plan) == (RunStatus.SUCCEEDED, outcome.state.plan.id)
            assert summary(await executor.state_of("kept")) == summary(outcome.state)

    def wait_until_listed():
        import time

        with TemporalJournal(server, queue="read") as journal:
            until = time.monotonic() + 20
            while not journal.runs() and time.monotonic() < until:
                time.sleep(0.1)

    asyncio.run(main())
    with TemporalJournal(server, queue="read") as journal:  # no worker is needed for a run that is over
        assert next(each.kind for each in journal.read("kept")) == "RunStarted"
        assert load_runs(journal)["kept"].status is RunStatus.SUCCEEDED
        assert "move" in str(run_page(journal, "kept"))
        assert "move" in str(learn(journal).tallies())
        from executor import NoRunError

        with pytest.raises(NoRunError):
            list(journal.read("nobody"))
