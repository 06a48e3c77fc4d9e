"""The simulated world: handlers do what actions declare, observers see what holds, and faults strike as said."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from benchmarks.faults.reachable_goal import are_tasks_reachable, is_goal_reachable
from benchmarks.random_problems import ALL, key_of, random_problem, successors
from executor import Executor, RunStatus
from executor.testing import (
    NOBODY,
    Crash,
    Fault,
    FaultKind,
    Observe,
    SimulatedError,
    SimulatedWorld,
    run_virtual,
    virtual_time,
)
from executor.tools.observers import CANNOT_SAY, Seen
from executor.tools.results import ActionResult
from executor.tools.returned_values import result_of
from planner.errors import InputError
from planner.language.declare import Domain, Entity, From, Outcome
from planner.language.loading.load import load
from planner.lightweight import replace
from planner.model import Atom, Case, Problem
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.solve import solve


class Robot(Entity): ...


class Room(Entity): ...


class Door(Entity): ...


def office(**more: Any) -> Domain:
    domain = Domain("office")
    domain.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires=["at(robot, origin)", "way(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)"],
        **more,
    )
    domain.action("paint", {"door": Door}, requires=["door(door)"], provides=["dry(door)"], modifies=["door(door)"])
    return domain


def problem(domain: Domain | None = None) -> Problem:
    ways = ["way(hall, lab)", "way(lab, hall)", "way(lab, attic)"]
    return (domain or office()).problem(
        objects=[Robot("r1"), Room("hall"), Room("lab"), Room("attic"), Door("d1")],
        initial=["at(r1, hall)", "door(d1)", *ways],
        goal=["at(r1, lab)"],
    )


async def call(simulated: SimulatedWorld, action: str, *names: str, key: str = "run/s1", skill: int = 0) -> Any:
    """Call a handler as an executor does: by name, and a plain one in a thread."""
    found = simulated.world.skills[action][skill]
    parameters = dict(zip([each.name[1:] for each in found.action.parameters], names, strict=True))
    run, _, step = key.rpartition("/")
    arguments = {**parameters, "context": SimpleNamespace(run=run, step=step)}
    return await (found.function(**arguments) if found.is_async else asyncio.to_thread(found.function, **arguments))


async def look(simulated: SimulatedWorld, fact: str) -> Any:
    """Return what the first observer says of `fact`."""
    atom = Atom(fact.split("(", maxsplit=1)[0], tuple(fact[:-1].split("(")[1].split(", ")))
    observer, about = simulated.world.observers_of(atom)[0]
    return observer.read(about, await observer.function(**dict(observer.bind(about)))).about(atom)


MOVE = ("move", "r1", "hall", "lab")
HALL, LAB = "at(r1, hall)", "at(r1, lab)"


@pytest.mark.parametrize("plain", [0.0, 1.0])
def test_a_handler_does_what_the_action_declares(plain: float) -> None:
    simulated = SimulatedWorld(problem(), plain=plain)
    result = run_virtual(call(simulated, *MOVE))
    assert result.success
    assert (simulated.holds(LAB), simulated.holds(HALL)) == (True, False)
    assert simulated.applied == {"move(r1, hall, lab)": 1, "run/s1": 1}


def test_what_cannot_be_done_changes_nothing_and_says_why() -> None:
    simulated = SimulatedWorld(problem())
    result = run_virtual(call(simulated, "move", "r1", "lab", "hall"))
    assert not result.success
    assert "requires at(r1, lab)" in result.error
    assert not simulated.applied
    assert simulated.facts == Simulation(problem()).facts


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000))
def test_it_goes_as_the_validator_says(seed: int) -> None:
    """Whatever is done, by handlers or by others, the true state is the one that a simulation of its own comes to."""
    drawn = random_problem(seed, ALL)
    simulated, twin = SimulatedWorld(drawn, seed=seed), Simulation(drawn)
    dice = simulated.faults.dice("walk")

    async def walk() -> None:
        for number in range(6):
            steps = list(twin.applicable())
            if not steps:
                return
            step = dice.choice(steps)
            result = await call(simulated, step.action, *step.arguments, key=f"s{number}")
            assert result.success, result
            twin.apply(step)
            assert simulated.facts == twin.facts
            assert simulated.holds(drawn.goal.hard) is twin.holds(drawn.goal.hard)

    run_virtual(walk())


ANSWERS = {
    # kind: (what the answer says, how often it was done)
    FaultKind.FAILS: (False, 0),
    FaultKind.RAISES: (SimulatedError, 0),
    FaultKind.FAILS_DONE: (False, 1),
    FaultKind.RAISES_DONE: (SimulatedError, 1),
    FaultKind.LIES: (True, 0),
    FaultKind.TWICE: (True, 2),
    FaultKind.LATE: (TimeoutError, 0),
    FaultKind.SLOW: (TimeoutError, 1),
    FaultKind.HANGS: (TimeoutError, 0),
    FaultKind.HANGS_DONE: (TimeoutError, 1),
    FaultKind.CRASH_BEFORE: (Crash, 0),
    FaultKind.CRASH_AFTER: (Crash, 1),
}


@pytest.mark.parametrize("plain", [0.0, 1.0], ids=["async", "plain"])
@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.name)
def test_faults_of_handlers(kind: FaultKind, plain: float) -> None:
    simulated = SimulatedWorld(problem(), faults=[Fault(kind, "move")], plain=plain, seconds=1)

    async def attempt() -> ActionResult:
        async with asyncio.timeout(30):
            return result_of(await call(simulated, *MOVE))

    said, done = ANSWERS[kind]
    if isinstance(said, bool):
        assert run_virtual(attempt()).success is said
    else:
        with pytest.raises(said) as caught:
            run_virtual(attempt())
        if isinstance(caught.value, Crash):
            caught.value.bury()
    assert simulated.applied.get("run/s1", 0) == done
    assert simulated.holds(LAB) is bool(done)


@pytest.mark.parametrize("plain", [0.0, 1.0], ids=["async", "plain"])
def test_what_is_late_happens_though_nobody_waits(plain: float) -> None:
    simulated = SimulatedWorld(problem(), faults=[Fault(FaultKind.LATE, seconds=20)], plain=plain)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await call(simulated, *MOVE)
        assert simulated.holds(HALL)
        await asyncio.sleep(11)
        assert simulated.holds(LAB)

    run_virtual(main())


def test_a_part_of_the_effects_is_missing() -> None:
    ends = set()
    for seed in range(30):
        simulated = SimulatedWorld(problem(), seed=seed, faults=[Fault(FaultKind.PARTLY)])
        assert run_virtual(call(simulated, *MOVE)).success
        ends.add((simulated.holds(HALL), simulated.holds(LAB)))
    assert ends == {(False, False), (True, True)}


@pytest.mark.parametrize("kind", [FaultKind.CHANGE_BEFORE, FaultKind.CHANGE_DURING, FaultKind.CHANGE_AFTER])
def test_changes_from_outside(kind: FaultKind) -> None:
    fault = Fault(kind, "move", seconds=5, facts=("not at(r1, hall)", "not at(r1, lab)", "at(r1, attic)"))
    simulated = SimulatedWorld(problem(), faults=[fault])

    async def main() -> tuple[bool, bool]:
        result = await call(simulated, *MOVE)
        before = simulated.holds("at(r1, attic)")
        await asyncio.sleep(6)
        return result.success, before

    assert (
        run_virtual(main())
        == {
            FaultKind.CHANGE_BEFORE: (False, True),
            FaultKind.CHANGE_DURING: (True, True),
            FaultKind.CHANGE_AFTER: (True, False),
        }[kind]
    )
    assert simulated.holds("at(r1, attic)")


def test_somebody_else_does_what_can_be_done_and_it_is_not_counted_as_ours() -> None:
    for seed in range(20):
        simulated = SimulatedWorld(problem(), seed=seed, faults=[Fault(FaultKind.CHANGE_DURING)])
        run_virtual(call(simulated, *MOVE))
        [ours, theirs] = simulated.acts
        assert (ours.by, theirs.by) == ("run/s1", "")
        assert theirs.step.predicate in ("move", "paint")
        assert simulated.applied.total() == 2


def test_faults_strike_where_and_as_often_as_they_are_said_to() -> None:
    faults = [Fault(FaultKind.FAILS, "move(r1, hall, _)", skip=1, times=2), Fault(FaultKind.FAILS, "paint", times=None)]
    simulated = SimulatedWorld(problem(), faults=faults)

    async def main() -> list[bool]:
        steps = [MOVE, ("move", "r1", "lab", "hall"), MOVE, MOVE, MOVE, *[("paint", "d1")] * 4]
        return [(await call(simulated, *step)).success for step in steps]

    assert run_virtual(main()) == [True, True, False, False, True, False, False, False, False]


def test_a_rate_is_a_probability_and_the_seed_decides() -> None:
    async def main(seed: int) -> list[bool]:
        faults = [Fault(FaultKind.FAILS, times=None, rate=0.3)]
        simulated = SimulatedWorld(problem(), seed=seed, faults=faults)
        return [(await call(simulated, "paint", "d1")).success for _ in range(100)]

    first = run_virtual(main(1))
    assert 15 < first.count(False) < 45
    assert run_virtual(main(1)) == first != run_virtual(main(2))


def test_one_skill_is_broken_and_the_other_is_not() -> None:
    simulated = SimulatedWorld(problem(), skills=2, faults=[Fault(FaultKind.FAILS, "move", times=None, skill="main")])
    assert [each.name for each in simulated.world.skills["move"]] == ["main", "skill-2"]

    async def main() -> list[bool]:
        return [(await call(simulated, *MOVE, skill=skill)).success for skill in (0, 1)]

    assert run_virtual(main()) == [False, True]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"at": "move(r1"}, "move"),
        ({"rate": 2}, "probability"),
        ({"seconds": -1}, "time"),
        ({"skip": -1}, "at least 0"),
    ],
)
def test_faults_that_mean_nothing(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Fault(FaultKind.FAILS, **wrong)


def test_observers_see_what_holds() -> None:
    simulated = SimulatedWorld(problem())

    async def main() -> None:
        assert [await look(simulated, fact) for fact in (HALL, LAB, "way(hall, lab)")] == [True, False, True]
        await call(simulated, *MOVE)
        assert [await look(simulated, fact) for fact in (HALL, LAB)] == [False, True]

    run_virtual(main())


def test_what_is_changed_in_place_has_a_version() -> None:
    simulated = SimulatedWorld(problem())

    async def main() -> list[Seen]:
        observer, about = simulated.world.observers_of(Atom("door", ("d1",)))[0]
        found = [await observer.function(**dict(observer.bind(about)))]
        await call(simulated, "paint", "d1")
        return [*found, await observer.function(**dict(observer.bind(about)))]

    before, after = run_virtual(main())
    assert (before.value, after.value) == (True, True)
    assert after.version > before.version


def test_observers_can_be_late_to_see() -> None:
    """As a ledger does that shows a payment two seconds late."""
    simulated = SimulatedWorld(problem(), observe=Observe(lag=2, settle_within=3))

    async def main() -> list[bool]:
        found = []
        await call(simulated, *MOVE)
        for pause in (1, 0.9, 0.2):
            await asyncio.sleep(pause)
            found.append(await look(simulated, LAB))
        return found

    assert run_virtual(main()) == [False, False, True]
    assert all(each.settle_within == 3 and each.conclusive for each in simulated.world.observers)


def test_faults_of_observers() -> None:
    kinds = [FaultKind.OBSERVER_FAILS, FaultKind.OBSERVER_CANNOT_SAY, FaultKind.OBSERVER_LATE, FaultKind.OBSERVER_WRONG]
    simulated = SimulatedWorld(problem(), faults=[Fault(kind, "at", seconds=5) for kind in kinds[:1]])
    late = SimulatedWorld(problem(), faults=[Fault(kinds[2], "at", seconds=5)])
    silent = SimulatedWorld(problem(), faults=[Fault(kinds[1], "at")])
    liar = SimulatedWorld(problem(), faults=[Fault(kinds[3], "way")])

    async def main() -> None:
        with pytest.raises(SimulatedError):
            await look(simulated, HALL)
        assert await look(simulated, HALL) is True
        observer, about = silent.world.observers_of(Atom("at", ("r1", "hall")))[0]
        assert await observer.function(**dict(observer.bind(about))) is CANNOT_SAY
        before = virtual_time.now()
        assert await look(late, HALL) is True
        assert virtual_time.now() - before == pytest.approx(5)
        assert [await look(liar, "way(hall, lab)") for _ in range(2)] == [False, True]
        assert liar.lies == [Atom("way", ("hall", "lab"))]

    run_virtual(main())


@given(st.integers(0, 300))
def test_a_wrong_observer_of_values_is_wrong(seed: int) -> None:
    simulated = SimulatedWorld(problem(), seed=seed, faults=[Fault(FaultKind.OBSERVER_WRONG, "at")])

    async def main() -> None:
        observer, about = simulated.world.observers_of(Atom("at", ("r1", "hall")))[0]
        assert (await observer.function(**dict(observer.bind(about)))) != ["hall"]
        assert (await observer.function(**dict(observer.bind(about)))) == ["hall"]

    run_virtual(main())


def test_who_can_be_looked_at() -> None:
    def seen(observe: Observe, seed: int = 0) -> set[str]:
        return {
            each.pattern.predicate for each in SimulatedWorld(problem(), seed=seed, observe=observe).world.observers
        }

    assert seen(NOBODY) == set()
    assert seen(Observe(["at"])) == {"at"}
    assert seen(Observe()) == {"at", "way", "door", "dry"}
    halves = {frozenset(seen(Observe(share=0.5), seed)) for seed in range(20)}
    assert len(halves) > 3


class Found(BaseModel):
    titles: list[str]
    when: int


def test_results_carry_what_others_take() -> None:
    domain = Domain("mail")
    domain.action("list_tasks", {"room": Room}, provides=["listed(room)"])
    domain.action(
        "choose",
        {
            "room": Room,
            "tasks": Annotated[list[str], From("listed(room)", "data.tasks")],
            "all": Annotated[Found, From("listed(room)", "data.found")],
            "note": str,
        },
        requires=["listed(room)"],
        provides=["chosen(room)"],
    )
    simulated = SimulatedWorld(domain.problem(objects=[Room("hall")], initial=[], goal=["chosen(hall)"]))
    result = run_virtual(call(simulated, "list_tasks", "hall"))
    assert result.data["tasks"] == ["tasks of list_tasks(hall)"]
    assert isinstance(result.data["found"], Found)
    assert simulated.parameters("choose") == {"note": "note of choose"}
    assert run_virtual(choose(simulated, result)).success


async def choose(simulated: SimulatedWorld, result: ActionResult) -> ActionResult:
    data = {"tasks": result.data["tasks"], "all": result.data["found"], "note": ""}
    found: ActionResult = await simulated.world.skills["choose"][0].function(room="hall", **data)
    return found


def test_what_is_created_exists_from_then_on() -> None:
    domain = Domain("desk")
    domain.action("file", {"room": Room}, provides=["open(ticket, room)"], creates={"ticket": Door})
    domain.action("close", {"ticket": Door, "room": Room}, requires=["open(ticket, room)"], provides=["closed(ticket)"])
    simulated = SimulatedWorld(domain.problem(objects=[Room("hall")], initial=[], goal=[]))

    async def main() -> None:
        for name in ("door-1", "door-2"):
            result = await call(simulated, "file", "hall", key=name)
            assert result.created == {"ticket": name}
        assert (await call(simulated, "close", "door-2", "hall")).success
        assert not (await call(simulated, "close", "door-3", "hall")).success

    run_virtual(main())
    assert simulated.holds("closed(door-2)")
    assert not simulated.holds("closed(door-1)")


def test_what_the_problem_leaves_unknown_is_decided_by_the_seed() -> None:
    domain = office()

    def where(seed: int) -> frozenset[Atom]:
        asked = domain.problem(
            objects=[Robot("r1"), Room("hall"), Room("lab")], initial=[], goal=["at(r1, lab)"], unknown=["at(r1, _)"]
        )
        return SimulatedWorld(asked, seed=seed).facts

    assert {where(seed) for seed in range(20)} == {
        frozenset({Atom("at", ("r1", "hall"))}),
        frozenset({Atom("at", ("r1", "lab"))}),
    }


def test_a_world_in_a_file_outlives_its_process(tmp_path: Path) -> None:
    faults = [Fault(FaultKind.CRASH_AFTER, "move")]
    for _ in range(2):
        simulated = SimulatedWorld(problem(), faults=faults, ledger=tmp_path / "world.jsonl")
        if not simulated.acts:
            with pytest.raises(Crash) as crash:
                run_virtual(call(simulated, *MOVE))
            crash.value.bury()
    assert simulated.holds(LAB)
    assert simulated.applied == {"move(r1, hall, lab)": 1, "run/s1": 1}
    assert run_virtual(call(simulated, "move", "r1", "lab", "hall", key="run/s2")).success


KILLED = """
import asyncio, sys
from pathlib import Path
from executor import Executor
from executor.testing import Fault, FaultKind, SimulatedWorld
from planner import load

problem, folder = load("courier", "one-parcel"), Path(sys.argv[1])
faults = [Fault(FaultKind[sys.argv[2]], "pick_up")]
simulated = SimulatedWorld(problem, faults=faults, ledger=folder / "world", deadly=True)
executor = Executor(simulated.world, journal=folder / "runs.db")
known = [each.run for each in executor.journal.runs()]
outcome = asyncio.run(executor.resume("r") if known else executor.run(problem, run="r"))
print(outcome.status.name, simulated.holds(problem.goal.hard), max(simulated.applied.values()))
"""


@pytest.mark.parametrize("kind", ["CRASH_BEFORE", "CRASH_AFTER"])
def test_a_deadly_fault_kills_the_process_and_the_world_goes_on(tmp_path: Path, kind: str) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path), kind]
    killed, resumed = (subprocess.run(words, capture_output=True, text=True, check=False) for _ in range(2))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert resumed.returncode == 0, resumed.stderr
    if kind == "CRASH_AFTER":
        assert resumed.stdout.split() == ["SUCCEEDED", "True", "1"]
    else:
        assert resumed.stdout.split()[-1] == "1"


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([], True),
        ([Fault(FaultKind.FAILS, "move(r1, hall, lab)", times=None)], False),
        ([Fault(FaultKind.LIES, "move", times=None)], False),
        ([Fault(FaultKind.FAILS, "move(r1, hall, lab)", times=5)], True),
        ([Fault(FaultKind.FAILS, "move(r1, lab, _)", times=None)], True),
        ([Fault(FaultKind.FAILS_DONE, "move", times=None)], True),
        ([Fault(FaultKind.FAILS, "move", times=None, skill="main")], True),
        ([Fault(FaultKind.FAILS, "move", times=None, skill=each) for each in ("main", "skill-2")], False),
    ],
)
def test_what_can_still_be_reached(faults: list[Fault], expected: bool) -> None:
    assert is_goal_reachable(SimulatedWorld(problem(), skills=2).truth.simulation, faults, skills=2) is expected


def reached(problem: Problem, broken: Step | None, most: int, where: frozenset[Atom] | None = None) -> bool | None:
    """Return whether the goal can be reached without the step that is broken, or broken `where` these facts hold."""
    start = Simulation(problem)
    seen, queue = {key_of(start)}, [start]
    for state in queue:
        if state.holds(problem.goal.hard):
            return True
        if len(seen) > most:
            return None
        for step, after in successors(state):
            is_broken = broken is not None and str(step) == str(broken) and where in {None, state.facts}
            if not is_broken and key_of(after) not in seen:
                seen.add(key_of(after))
                queue.append(after)
    return False


@given(st.integers(0, 2000))
def test_what_can_be_reached_is_what_is_reached_state_by_state(seed: int) -> None:
    drawn = random_problem(seed)
    steps = list(Simulation(drawn).applicable())
    broken = steps[seed % len(steps)] if steps and seed % 3 else None
    expected = reached(drawn, broken, most=300)
    faults = [Fault(FaultKind.FAILS, str(broken), times=None)] if broken else []
    simulation = SimulatedWorld(drawn).truth.simulation
    assert expected is None or is_goal_reachable(simulation, faults) is expected
    if broken is not None:
        expected = reached(drawn, broken, most=300, where=simulation.facts)
        found = is_goal_reachable(simulation, not_where={Atom(broken.action, broken.arguments): simulation.facts})
        assert expected is None or found is expected


@pytest.mark.parametrize(
    "name", ["assistant", "courier", "elevator", "helpdesk", "household", "incident", "runbook", "secretary"]
)
def test_every_shipped_domain_has_a_simulated_world(name: str) -> None:
    simulated = SimulatedWorld(load(name))
    assert not simulated.world.without_handler()
    assert {each.pattern.predicate for each in simulated.world.observers} == set(
        simulated.problem.domain.predicates
    ) - simulated.problem.domain.derived


def test_tasks_can_be_done_as_long_as_a_method_is_left() -> None:
    problem = load("travel", "board")
    plan = solve(problem).expect_plan()
    simulation = SimulatedWorld(problem).truth.simulation
    flights, trains = (Fault(FaultKind.FAILS, name, times=None) for name in ("book_flight", "book_train"))
    assert are_tasks_reachable(problem, plan, (), simulation) is True
    assert are_tasks_reachable(problem, plan, (), simulation, [flights]) is True
    assert are_tasks_reachable(problem, plan, (), simulation, [flights, trains]) is False
    assert (
        are_tasks_reachable(problem, plan, (), simulation, [flights], unused=[Atom("book_train", ("_", "_", "_"))])
        is False
    )


def test_objects_that_nobody_knows_of_are_of_no_use() -> None:
    problem = load("helpdesk", "new-account")
    simulated = SimulatedWorld(problem)
    [made] = simulated.truth.create(problem.domain.actions["open_ticket"])
    simulated.truth.apply(Step("open_ticket", ("login", made[0])), "", (made,))
    now, no_more = simulated.truth.simulation, [Atom("open_ticket", ("login",))]
    assert is_goal_reachable(now, stated=problem) is True
    assert is_goal_reachable(now, stated=problem, unused=no_more, created=[made[0]]) is True
    assert is_goal_reachable(now, stated=problem, unused=no_more) is False


def uncertain(**declared: Any) -> Problem:
    domain = Domain("table", types=["coin"])
    domain.action("toss", {"coin": "coin"}, provides=["heads(coin)", "not tails(coin)"], **declared)
    return domain.problem(objects={"c1": "coin", "c2": "coin"}, goal=["heads(c1)"])


def test_a_run_comes_out_as_the_seed_says_whatever_it_is_called() -> None:
    problem = uncertain(risk="0.5")
    worked = []
    for name in ("run", "other", "named/otherwise"):
        simulated = SimulatedWorld(problem, seed=4, chances=True)
        each = [run_virtual(call(simulated, "toss", "c1", key=f"{name}/s{number}")).success for number in range(50)]
        worked.append(each)
        assert each != [run_virtual(call(simulated, "toss", "c1", key=f"2/s{number}")).success for number in range(50)]
    assert worked[0] == worked[1] == worked[2]


SIDES = [
    Outcome("0.25", ["heads(coin)", "not tails(coin)"]),
    Outcome("0.75", ["tails(coin)", "not heads(coin)"]),
]


@pytest.mark.parametrize("chances", [False, True])
def test_outcomes_come_about_as_often_as_declared_where_that_is_asked_for(*, chances: bool) -> None:
    shown: Counter[str] = Counter()
    simulated = SimulatedWorld(uncertain(risk="0.2", outcomes=SIDES), seed=3, chances=chances)
    for number in range(400):
        result = run_virtual(call(simulated, "toss", "c1", key=f"run/{number}"))
        facts = [fact.predicate for fact in simulated.facts]
        assert len(facts) <= 1
        shown[facts[0] if result.success else "nothing"] += 1
    if not chances:
        assert shown == {"heads": 400}
    else:
        expected = {"nothing": 80, "heads": 80, "tails": 240}
        assert all(abs(shown[each] - number) < 30 for each, number in expected.items())


def test_chances_are_those_of_the_arguments_and_independent_in_each_attempt() -> None:
    problem = uncertain(risk="0.5")
    cases = (Case(("c1",), Decimal("0.9999")), Case(("c2",)))
    domain = problem.domain
    action = replace(domain.actions["toss"], cases=cases)
    told = replace(problem, domain=replace(domain, actions={"toss": action}))
    simulated = SimulatedWorld(told, chances=True)
    assert not run_virtual(call(simulated, "toss", "c1")).success
    assert run_virtual(call(simulated, "toss", "c2")).success
    simulated = SimulatedWorld(problem, chances=True)
    worked = [run_virtual(call(simulated, "toss", "c1")).success for _ in range(100)]
    assert 30 < sum(worked) < 70
    again = SimulatedWorld(problem, chances=True)
    assert worked == [run_virtual(call(again, "toss", "c1")).success for _ in range(100)]


def test_objects_that_the_planner_does_not_know_turn_up_in_listings_and_to_observers() -> None:
    domain = Domain("shop", types=["order"])
    domain.action("list_orders", lists="pending(_)")
    domain.action("handle", {"o": "order"}, requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
    goal = "(forall (?o - order) (not (pending ?o)))"
    objects = {"o7": "order", "o8": "order", "late": "order"}
    true = domain.problem(objects=objects, initial=["pending(o7)", "pending(o8)"], goal=goal)
    late = Fault(FaultKind.CHANGE_AFTER, "handle(o7)", facts=("pending(late)",))
    for observe in (Observe(), Observe(share=0.0)):
        simulated = SimulatedWorld(true, faults=[late], observe=observe)
        outcome = run_virtual(Executor(simulated.world).run(domain.problem(goal=goal)))
        handled = sorted(str(act.step) for act in simulated.acts if act.step and act.step.predicate == "handle")
        if observe.share:
            assert outcome.succeeded
            assert handled == ["handle(late)", "handle(o7)", "handle(o8)"]
            assert simulated.holds(true.goal.hard)
        else:
            assert outcome.status is RunStatus.UNVERIFIED
            assert handled == ["handle(o7)", "handle(o8)"]


@pytest.mark.parametrize("tags", [[], ["irreversible"]], ids=["reversible", "irreversible"])
def test_what_was_done_is_told_with_its_run_and_step(tags: list[str]) -> None:
    domain = Domain("till")
    domain.action("pay", provides=["paid"], tags=tags)
    simulated = SimulatedWorld(domain.problem(goal=["paid"]))
    run_virtual(Executor(simulated.world).run(domain.problem(goal=["paid"]), run="r"))
    assert [each.by for each in simulated.acts] == [each.by for each in simulated.calls] == ["r/s1"]
    assert simulated.applied["r/s1"] == 1
