"""A run on Temporal ends as on one machine, with the same events and the same world."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from executor import ExecutionPolicy, Executor
from executor.events.events import event_to_data
from executor.plans.action_plan import ActionPlan
from executor.testing import Fault, FaultKind, Observe, SimulatedWorld
from executor.testing.virtual_time import now
from planner import Domain, Entity, Outcome, decide, load, solve
from planner.model import Problem, is_temporal

pytestmark = [pytest.mark.timeout(300)]
EVERYTHING = Observe()
QUICK = ExecutionPolicy(backoff=0.01, jitter=0.0)


class Robot(Entity): ...


class Room(Entity): ...


office = Domain("office")
office.action(
    "move",
    {"robot": Robot, "origin": Room, "target": Room},
    requires=["at(robot, origin)", "door(origin, target)"],
    provides=["at(robot, target)"],
    modifies=["at(robot, _)"],
    cost=2,
)
office.action(
    "ring",
    {"robot": Robot, "room": Room},
    requires=["at(robot, room)"],
    provides=["rung(room)"],
    tags=["needs_approval"],
)
office.action(
    "knock",
    {"robot": Robot, "room": Room},
    requires=["at(robot, room)"],
    provides=["knocked(room)"],
    tags=["irreversible"],
)


def rooms(goal, doors=("ab", "bc", "cd", "ae", "ed")):
    """A problem about one robot in rooms with doors."""
    objects = {"r": Robot, **dict.fromkeys(sorted(set("".join(doors))), Room)}
    both = [each for door in doors for each in (door, door[::-1])]
    return office.problem(objects=objects, initial=["at(r, a)", *[f"door({a}, {b})" for a, b in both]], goal=goal)


desk = Domain("desk")
desk.action(
    "send",
    {},
    requires=["here"],
    provides=["there", "not here"],
    cost=2,
    outcomes=[
        Outcome("0.6", ["there", "not here"]),
        Outcome("0.3", ["lost", "not here"], name="lost"),
        Outcome("0.1", ["late"], name="late"),
    ],
)
desk.action("search", {}, requires=["lost"], provides=["here", "not lost"], cost=1, risk="0.5")
desk.action("carry", {}, requires=["here"], provides=["there", "not here"], cost=8)
desk.action("buy", {}, requires=["gone"], provides=["here", "not gone"], cost=20)
parcel = desk.problem(initial=["here"], goal=["there"])

house = Domain("house", types=["room"])
ROOMS = {"a": "room", "b": "room"}
through = ["at(a)", "door(a, b)", "not locked(a, b)"]
house.action("go", ROOMS, requires=through, provides=["at(b)"], modifies=["at(_)"], cost=4)
house.action("walk", ROOMS, requires=["at(a)", "path(a, b)"], provides=["at(b)"], modifies=["at(_)"], cost=9)
house.action("look", ROOMS, requires=["at(a)", "door(a, b)"], senses=["locked(a, b)"], cost=1)
dark = house.problem(
    objects={"hall": "room", "lab": "room"},
    initial=["at(hall)", "door(hall, lab)", "path(hall, lab)"],
    goal=["at(lab)"],
    unknown=["locked(_, _)"],
)

kitchen = Domain("kitchen", types=["dish"])
kitchen.action("cook", {"d": "dish"}, provides=["cooked(d)"], duration="0.4", holds={"stove": 1})
kitchen.action("fry", {"d": "dish"}, provides=["cooked(d)"], duration="0.6")
kitchen.action("chop", {"d": "dish"}, provides=["chopped(d)"], duration="0.3")
kitchen.action("serve", {"d": "dish"}, requires=["cooked(d)", "chopped(d)", "laid"], provides=["on(d)"], duration="0.2")


def supper(goal=("on(soup)", "on(pie)")):
    """A problem in time: one stove for two dishes, and a table that somebody lays."""
    given = {"objective": "makespan", "capacity": {"stove": 1}, "timed": {"0.5": "laid"}}
    return kitchen.problem(objects={"soup": "dish", "pie": "dish"}, goal=list(goal), **given)


def follow_policy(problem):
    """Return the plan that follows the best policy."""
    return ActionPlan.of(decide(problem).expect_policy())


def best(problem):
    """Return the best plan."""
    return ActionPlan.of(solve(problem).expect_plan())


@dataclass
class Case:
    """A run: what happens in the world, and what is done with the run; `then` are answers given one after another."""

    problem: object
    faults: tuple = ()
    observe: Observe = EVERYTHING
    policy: ExecutionPolicy = QUICK
    options: dict = field(default_factory=dict)
    model: str = "sequential"
    then: tuple = ()
    memory: dict = field(default_factory=dict)
    make: object = None
    """How its plan is made, if not by the first that is found."""
    world: dict = field(default_factory=dict)
    """More about the simulated world."""

    @property
    def is_free(self):
        """Whether the order of events is nobody's choice, or their data have times."""
        return self.model in ("parallel", "dag") or self.is_in_time

    @property
    def is_in_time(self):
        """Whether its plan is one in time."""
        return isinstance(self.problem, Problem) and is_temporal(self.problem)


def fault(kind, at="", **more):
    return Fault(FaultKind[kind], at, **more)


ANYWHERE = {"approve": lambda _: True}
CASES = {
    "plain": Case(rooms(["at(r, d)"])),
    "at_once": Case(rooms(["at(r, a)"])),
    "fails_once": Case(rooms(["at(r, d)"]), (fault("FAILS", "move(r, b, c)"),)),
    "fails_for_good": Case(rooms(["at(r, d)"]), (fault("FAILS", "move(r, b, c)", times=None),)),
    "nothing_helps": Case(rooms(["at(r, d)"]), (fault("FAILS", times=None),)),
    "raises_done": Case(rooms(["at(r, d)"]), (fault("RAISES_DONE", "move"),)),
    "lies": Case(rooms(["at(r, d)"]), (fault("LIES", "move(r, a, b)"),)),
    "carried_off": Case(
        rooms(["at(r, d)"]), (fault("CHANGE_AFTER", "move(r, a, b)", facts=("at(r, e)", "not at(r, b)")),)
    ),
    "hangs": Case(rooms(["at(r, c)"]), (fault("HANGS", "move(r, b, c)"),), policy=ExecutionPolicy(0.3, backoff=0.01)),
    "hangs_done": Case(
        rooms(["at(r, c)"]), (fault("HANGS_DONE", "move(r, b, c)"),), policy=ExecutionPolicy(0.3, backoff=0.01)
    ),
    "hangs_in_a_thread": Case(
        rooms(["at(r, c)"]),
        (fault("HANGS", "move(r, b, c)"),),
        policy=ExecutionPolicy(0.3, backoff=0.01),
        world={"plain": 1.0},
    ),
    "blind_doubt": Case(
        rooms(["at(r, c)"]),
        (fault("HANGS_DONE", "move(r, b, c)"),),
        Observe(predicates=()),
        ExecutionPolicy(0.3, backoff=0.01),
        then=({"doubt:s2": "it happened"},),
    ),
    "unseen": Case(rooms(["at(r, c)"]), observe=Observe(predicates=())),
    "observer_fails": Case(rooms(["at(r, c)"]), (fault("OBSERVER_FAILS", times=None),)),
    "observer_cannot_say": Case(rooms(["at(r, c)"]), (fault("OBSERVER_CANNOT_SAY", "at(r, b)"),)),
    "settles": Case(rooms(["at(r, c)"]), observe=Observe(lag=0.1, settle_within=0.5)),
    "approved": Case(rooms(["rung(c)"]), options=ANYWHERE),
    "refused": Case(rooms(["rung(c)"]), options={"approve": lambda _: "no: not today"}),
    "permitted": Case(rooms(["at(r, b)"]), options={"permit": lambda request: request.action == "move"}),
    "asks_for_approval": Case(rooms(["rung(c)", "at(r, d)"]), then=({"approve:s3": True},)),
    "asks_in_vain": Case(rooms(["rung(c)"]), then=({"approve:s3": "no"},)),
    "asks_what_now": Case(
        rooms(["at(r, d)"], ("ab", "bd")),
        (fault("FAILS", "move(r, b, d)", times=5),),
        options={"ask": lambda question: "try again" if question.question.endswith("1") else "give up"},
    ),
    "irreversible_last": Case(rooms(["knocked(a)", "at(r, d)"]), (fault("FAILS", "move(r, b, c)", times=None),)),
    "impossible": Case(
        rooms(["at(r, d)"], ("ab", "bd")), (fault("CHANGE_AFTER", "move(r, a, b)", facts=("not door(b, d)",)),)
    ),
    "parallel": Case(load("courier", "two-robots"), (fault("FAILS", "pick_up(r1, _, _, _)"),), model="parallel"),
    "dag": Case(load("courier", "two-robots"), (fault("RAISES", "pick_up(r1, _, _, _)"),), model="dag"),
    "reactive": Case(
        rooms(["at(r, d)"]),
        (fault("CHANGE_AFTER", "move(r, a, b)", facts=("at(r, c)", "not at(r, b)")),),
        model="reactive",
    ),
    "hierarchical": Case(load("household", "supper"), (fault("FAILS", skip=2),), model="hierarchical"),
    "policy": Case(parcel, make=follow_policy, world={"chances": True, "seed": 4}),
    "policy_with_luck": Case(parcel, make=follow_policy, world={"chances": True, "seed": 1}),
    "policy_decided_again": Case(
        parcel,
        (fault("CHANGE_AFTER", "send", facts=("gone", "not here", "not there", "not lost", "not late")),),
        make=follow_policy,
    ),
    "policy_fails": Case(parcel, (fault("FAILS", times=None),), make=follow_policy),
    "unknown": Case(dark, make=best, world={"seed": 1}),
    "unknown_otherwise": Case(dark, make=best, world={"seed": 3}),
    "timed": Case(supper(), make=best),
    "timed_tried_again": Case(supper(), (fault("RAISES", "chop(pie)"),), make=best),
    "timed_planned_anew": Case(supper(["cooked(soup)"]), (fault("FAILS", "cook", times=None),), make=best),
    "creates": Case(load("helpdesk", "new-account"), (fault("LIES", skip=1),)),
    "creates_much": Case(load("assistant", "with-chart"), (fault("FAILS", skip=1),)),
}


def build(case):
    seconds = None if case.is_in_time else 0.0
    simulated = SimulatedWorld(case.problem, faults=case.faults, observe=case.observe, seconds=seconds, **case.world)
    simulated.truth.began = now()
    for action in simulated.problem.domain.actions:
        simulated.world.policy(action, case.policy)
    if case.make is None:
        plan = ActionPlan.of(solve(case.problem, mode="first").expect_plan(), model=case.model)
    else:
        plan = case.make(case.problem)
    memory = {
        name: value
        for action in simulated.problem.domain.actions
        for name, value in simulated.parameters(action).items()
    }
    return simulated, plan, memory


@asynccontextmanager
async def on_one_machine(world, **options):
    yield Executor(world, **options)


async def carry_out(make, case, listen=None):
    """Carry out a case; return the outcomes, one after each answer, and the world."""
    simulated, plan, memory = build(case)
    async with make(simulated.world, **case.options) as executor:
        outcomes = [
            await executor.run(plan, run="r", memory=memory) if listen is None else await listen(executor, plan, memory)
        ]
        for answers in case.then:
            outcomes.append(await executor.resume(outcomes[0].run, answers=answers))
    return outcomes, simulated


def describe(outcome):
    steps = [(each.id, str(each.step), each.status.name, each.attempts, each.reason) for each in outcome.steps]
    return outcome.status, outcome.reason, steps, [each.question for each in outcome.questions]


def describe_world(simulated):
    acts = [(str(act.step), sorted(map(str, act.added)), sorted(map(str, act.removed))) for act in simulated.acts]
    return sorted(map(str, simulated.facts)), sorted(acts, key=str)


VARIES = {"run", "key", "duration", "seconds", "since", "created", "metrics", "id"}
"""Fields that differ from run to run: names, and times on the clock."""


def normalise(data):
    if isinstance(data, dict):
        return {key: normalise(each) for key, each in data.items() if key not in VARIES}
    if isinstance(data, list):
        return [normalise(each) for each in data]
    return data


def normalise_event(event):
    data = json.loads(json.dumps(event_to_data(event), default=str))
    for name in ("facts", "awaited"):
        if name in data:
            data[name] = sorted(data[name], key=str)
    return type(event).__name__, normalise(data)


@pytest.fixture(scope="module")
def histories(tmp_path_factory):
    """A folder for the histories of all cases."""
    return tmp_path_factory.mktemp("histories")


@pytest.mark.parametrize("name", CASES)
def test_a_run_ends_as_on_one_machine(name, on_temporal, histories):
    case, told = CASES[name], []

    async def both():
        here, there = {}, []

        @asynccontextmanager
        async def listening(world, **options):
            yield Executor(world, listeners=(told.append,), **options)

        outcomes, simulated = await carry_out(listening, case)
        here = [describe(each) for each in outcomes], describe_world(simulated)
        events = []

        async def listen(executor, plan, memory):
            begun = executor.start(plan, run=f"case-{name}", memory=memory)
            return await begun

        @asynccontextmanager
        async def reading(world, **options):
            async with on_temporal(world, **options) as executor:
                yield executor
                events.extend([each async for each in executor.follow(f"case-{name}").events()])
                history = await executor.client.get_workflow_handle(f"case-{name}").fetch_history()
                (histories / f"{name}.json").write_text(history.to_json())

        outcomes, simulated = await carry_out(reading, case, listen)
        there = [describe(each) for each in outcomes], describe_world(simulated)
        return here, there, events

    here, there, events = asyncio.run(both())
    if case.is_free:
        assert [each[0] for each in there[0]] == [each[0] for each in here[0]]
        assert there[1][0] == here[1][0] or not case.is_in_time
        return
    assert there == here
    one = [normalise_event(each) for each in told if type(each).__name__ != "StepProgress"]
    other = [normalise_event(each) for each in events]
    assert other == one


@pytest.mark.parametrize("hashes", ["1", "2"])
def test_histories_replay_in_processes_with_other_hashes(hashes, histories):
    if not list(histories.iterdir()):
        pytest.skip("no case ran before")
    replayed = subprocess.run(
        [sys.executable, Path(__file__), str(histories)],
        env={**os.environ, "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.split() == sorted(each.stem for each in histories.iterdir())


async def replay_all(folder):
    """Replay the histories in `folder`, each with the world of its case, and print their names."""
    from temporalio.client import WorkflowHistory
    from temporalio.worker import Replayer

    from executor.temporal.activities import WorldActivities
    from executor.temporal.outside import HostRunner
    from executor.temporal.plan_run import PlanRun

    for path in sorted(Path(folder).iterdir(), key=lambda path: path.stem):  # noqa: ASYNC240 - nobody else waits
        host = WorldActivities(build(CASES[path.stem])[0].world)
        history = WorkflowHistory.from_json(f"case-{path.stem}", path.read_text())
        replayer = Replayer(workflows=[PlanRun], workflow_runner=HostRunner(host), debug_mode=True)
        await replayer.replay_workflow(history)
        print(path.stem)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(replay_all(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)  # threads of the SDK may be at work while the interpreter ends, which kills it
