"""Runs of plans in time: steps start by the temporal network, and deadlines are watched."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from executor import ExecutionPolicy, Executor, RunOutcome, RunStatus
from executor.dispatching.dispatcher import Dispatcher
from executor.events.events import Event, GoalDropped, RungTaken, StepEnded, StepStarted, TimePassed
from executor.plans.action_plan import ActionPlan
from executor.testing import Crash, Fault, FaultKind, SimulatedWorld, VirtualClock, run_virtual
from executor.testing.virtual_time import now
from planner import Domain
from planner.language.loading.load import load
from planner.lightweight import replace
from planner.model import Goal, Problem, SoftGoal
from planner.model.problem import seal
from planner.plan import Plan, Step
from planner.solve import solve

TRIP = """
(define (domain trip)
  (:requirements :typing :durative-actions :timed-initial-literals :negative-preconditions)
  (:types person)
  (:predicates (packed ?p - person) (there ?p - person) (fed ?p - person) (rested ?p - person) (open))
  (:durative-action pack :parameters (?p - person) :duration (= ?duration 10)
    :condition () :effect (at end (packed ?p)))
  (:durative-action walk :parameters (?p - person) :duration (= ?duration 20)
    :condition (at start (packed ?p)) :effect (at end (there ?p)))
  (:durative-action fly :parameters (?p - person) :duration (= ?duration 5)
    :condition (at start (packed ?p)) :effect (at end (there ?p)))
  (:durative-action shop :parameters (?p - person) :duration (= ?duration 3)
    :condition (and (at start (there ?p)) (over all (open))) :effect (at end (fed ?p)))
  (:durative-action rest :parameters (?p - person) :duration (= ?duration 8)
    :condition (at start (there ?p)) :effect (at end (rested ?p))))
"""
FUSE = """
(define (domain fuses)
  (:requirements :typing :durative-actions :negative-preconditions)
  (:types match fuse)
  (:predicates (unused ?m - match) (lit) (here ?f - fuse) (mended ?f - fuse))
  (:durative-action fetch :parameters (?f - fuse) :duration (= ?duration 20)
    :condition () :effect (at end (here ?f)))
  (:durative-action light :parameters (?m - match) :duration (= ?duration 8)
    :condition (at start (unused ?m))
    :effect (and (at start (not (unused ?m))) (at start (lit)) (at end (not (lit)))))
  (:durative-action mend :parameters (?f - fuse) :duration (= ?duration 5)
    :condition (and (at start (here ?f)) (over all (lit))) :effect (at end (mended ?f))))
"""
OPEN = "(at 30 (open)) (at 40 (not (open)))"
Stretch = Callable[[Step, random.Random], float]


def read(folder: Path, domain: str, objects: str, goal: str, initial: str = "", **fields: Any) -> Problem:
    (folder / "domain.pddl").write_text(domain)
    name = domain.split("(domain ")[1].split(")", maxsplit=1)[0]
    text = f"(define (problem p) (:domain {name}) (:objects {objects}) (:init {initial}) (:goal (and {goal})))"
    (folder / "problem.pddl").write_text(text)
    problem = load(str(folder / "domain.pddl"), str(folder / "problem.pddl"))
    assert isinstance(problem, Problem)
    return seal(replace(problem, **fields))


def trip(folder: Path, goal: str = "(there ada)", initial: str = "", **fields: Any) -> Problem:
    return read(folder, TRIP, "ada - person", goal, initial, **fields)


def slower(**factors: float) -> Stretch:
    return lambda step, _: factors.get(step.action, 1.0)


class Watched:
    """A run in a simulated world, with the times of its events."""

    def __init__(self, problem: Problem, stretch: Stretch | None = None, **world: Any) -> None:
        self.problem = problem
        self.world = SimulatedWorld(problem, stretch=stretch, **world)
        for action in problem.domain.actions:
            self.world.world.policy(action, ExecutionPolicy(timeout=1000))
        self.events: list[tuple[float, Event]] = []

    def executor(self, **options: Any) -> Executor:
        listeners = (lambda event: self.events.append((now(), event)),)
        return Executor(self.world.world, clock=VirtualClock(), listeners=listeners, **options)

    def run(self, what: Any, **options: Any) -> RunOutcome:
        outcome = run_virtual(self.executor(**options).run(what))
        assert not self.world.refusals, self.world.refusals
        return outcome

    def starts(self) -> dict[str, float]:
        return {self._name(each.step): at for at, each in self.events if isinstance(each, StepStarted)}

    def ends(self) -> dict[str, float]:
        return {self._name(each.step): at for at, each in self.events if isinstance(each, StepEnded)}

    def _name(self, id_: str) -> str:
        done = (str(act.step) for act in self.world.acts if act.by.endswith(f"/{id_}"))
        return next(done, "").replace(" starts", "")

    def of(self, kind: type[Any]) -> list[tuple[float, Any]]:
        return [(at, each) for at, each in self.events if isinstance(each, kind)]


def plan_of(problem: Problem) -> Plan:
    return solve(problem, mode="first", time_limit=10).expect_plan()


def by_hand(problem: Problem, *steps: str) -> ActionPlan:
    """Return the plan of `steps`, such as `pack(ada)`, without times: each comes after the one before."""
    made = Plan(tuple([Step(each.split("(")[0], (each.split("(")[1].rstrip(")"),)) for each in steps]), problem)
    return ActionPlan.of(made, model="timed")


def test_a_window_is_waited_for(tmp_path: Path) -> None:
    watched = Watched(trip(tmp_path, "(fed ada)", OPEN))
    outcome = watched.run(by_hand(watched.problem, "pack(ada)", "fly(ada)", "shop(ada)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert watched.starts()["fly(ada)"] == pytest.approx(10.001)
    assert watched.starts()["shop(ada)"] == pytest.approx(30.001)
    assert [at for at, _ in watched.of(TimePassed)] == pytest.approx([30])


def test_what_is_late_shifts_what_follows(tmp_path: Path) -> None:
    watched = Watched(trip(tmp_path, "(fed ada)", OPEN), slower(pack=2.5, fly=2))
    outcome = watched.run(by_hand(watched.problem, "pack(ada)", "fly(ada)", "shop(ada)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert watched.starts()["shop(ada)"] == pytest.approx(25.001 + 10 + 0.001)
    taken = {record.step.action: record.ended - record.started for record in outcome.steps}  # type: ignore[operator]
    assert taken == pytest.approx({"pack": 25, "fly": 10, "shop": 3})


def test_independent_steps_run_at_once(tmp_path: Path) -> None:
    problem = read(tmp_path, TRIP, "ada bob cyd - person", "(packed ada) (packed bob) (packed cyd)")
    watched = Watched(problem)
    outcome = watched.run(by_hand(problem, "pack(ada)", "pack(bob)", "pack(cyd)"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert set(watched.starts().values()) == {0}


@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
def test_a_match_burns_while_the_fuse_is_mended(tmp_path: Path, factor: float) -> None:
    problem = read(tmp_path, FUSE, "m1 - match f1 - fuse", "(mended f1)", "(unused m1)")
    watched = Watched(problem, slower(fetch=factor))
    outcome = watched.run(plan_of(problem))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert watched.starts()["light(m1)"] >= watched.ends()["fetch(f1)"] - 0.002, "it is not lit before it is needed"


@pytest.mark.parametrize(
    ("deadline", "factor", "start"),
    [(None, 1.0, 10.001), (20, 1.0, 10.001), (12, 1.0, 0.0), (16, 1.4, 11.0)],
    ids=["no deadline", "time enough", "no time to wait", "no time any more"],
)
def test_an_irreversible_step_waits_for_the_others_as_long_as_time_allows(
    tmp_path: Path, deadline: int | None, factor: float, start: float
) -> None:
    problem = read(tmp_path, TRIP, "ada bob - person", "(there ada) (packed bob)", "(packed ada)", deadline=deadline)
    fly = replace(problem.domain.actions["fly"], tags=frozenset({"irreversible"}))
    problem = replace(problem, domain=replace(problem.domain, actions={**problem.domain.actions, "fly": fly}))
    watched = Watched(problem, slower(pack=factor))
    outcome = watched.run(by_hand(problem, "fly(ada)", "pack(bob)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert watched.starts() == pytest.approx({"fly(ada)": start, "pack(bob)": 0}, abs=0.002)
    assert not watched.of(RungTaken)


def test_a_late_run_takes_the_quicker_way(tmp_path: Path) -> None:
    problem = trip(tmp_path, deadline=40)
    watched = Watched(problem, slower(pack=1.8))
    outcome = watched.run(by_hand(problem, "pack(ada)", "walk(ada)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert watched.starts()["walk(ada)"] == pytest.approx(18.001), "the plan can still be kept"
    watched = Watched(problem, slower(pack=2.2))
    outcome = watched.run(by_hand(problem, "pack(ada)", "walk(ada)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert "fly(ada)" in watched.starts()
    (at, _), *_ = watched.of(RungTaken)
    assert at == pytest.approx(19.999, abs=1e-5), "the plan is changed as soon as it cannot be kept"


def test_a_run_that_is_too_late_gives_up_soft_goals(tmp_path: Path) -> None:
    problem = trip(tmp_path, deadline=24)
    rested = trip(tmp_path, "(rested ada)").goal.hard
    problem = seal(replace(problem, goal=Goal(problem.goal.hard, (SoftGoal(rested, 3),))))
    watched = Watched(problem, slower(pack=1.3))
    outcome = watched.run(by_hand(problem, "pack(ada)", "fly(ada)", "rest(ada)"))
    assert outcome.status is RunStatus.LOWERED, outcome.reason
    (at, dropped), *_ = watched.of(GoalDropped)
    assert dropped.condition == "rested(ada)"
    assert at < 12, "before the step that is late has ended"


def test_a_run_says_that_it_will_be_late_before_it_is(tmp_path: Path) -> None:
    problem = trip(tmp_path, deadline=35)
    watched = Watched(problem, slower(pack=3.3))
    outcome = watched.run(by_hand(problem, "pack(ada)", "walk(ada)"))
    assert outcome.status is RunStatus.FAILED
    assert "the deadline at 35 s cannot be met any more" in outcome.reason
    said = [(at, each) for at, each in watched.of(RungTaken) if not each.found]
    assert said[0][0] == pytest.approx(30, abs=0.01)
    assert "walk(ada)" not in watched.starts()
    assert watched.events[-1][0] < 35


def test_a_step_that_fails_is_planned_around(tmp_path: Path) -> None:
    problem = trip(tmp_path, deadline=60)
    watched = Watched(problem, faults=[Fault(FaultKind.FAILS, "fly", times=None)])
    outcome = watched.run(by_hand(problem, "pack(ada)", "fly(ada)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert "walk(ada)" in watched.starts()


def test_a_run_goes_on_after_its_process_was_killed(tmp_path: Path) -> None:
    problem = trip(tmp_path, "(fed ada)", OPEN)
    watched = Watched(problem, faults=[Fault(FaultKind.CRASH_AFTER, "pack")])
    plan = by_hand(problem, "pack(ada)", "fly(ada)", "shop(ada)")
    with pytest.raises(Crash) as died:
        run_virtual(watched.executor(journal=tmp_path / "runs.db").run(plan, run="r"))
    loop = died.value.loop
    assert loop is not None
    died.value.bury()
    outcome = run_virtual(watched.executor(journal=tmp_path / "runs.db").resume("r"), start=loop.now + 16)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert watched.starts()["fly(ada)"] == pytest.approx(26, abs=0.01)
    assert watched.starts()["shop(ada)"] == pytest.approx(31.002, abs=0.01), "time went on meanwhile"


def test_a_run_that_was_dead_for_too_long_gives_up(tmp_path: Path) -> None:
    problem = trip(tmp_path, "(fed ada)", OPEN)
    watched = Watched(problem, faults=[Fault(FaultKind.CRASH_AFTER, "pack")])
    plan = by_hand(problem, "pack(ada)", "fly(ada)", "shop(ada)")
    with pytest.raises(Crash) as died:
        run_virtual(watched.executor(journal=tmp_path / "runs.db").run(plan, run="r"))
    died.value.bury()
    outcome = run_virtual(watched.executor(journal=tmp_path / "runs.db").resume("r"), start=41)
    assert outcome.status is RunStatus.FAILED
    assert "shop(ada)" not in watched.starts()


def test_what_comes_after_a_step_without_a_duration_waits_until_its_handler_returned() -> None:
    door = Domain("door")
    door.action("close", {}, provides="not open")
    door.action("reopen", {}, provides="open", modifies="open")
    door.action("wait", {}, provides="waited", duration=1)
    problem = door.problem(initial="open", goal=["open", "waited"])
    world = SimulatedWorld(problem, faults=[Fault(FaultKind.SLOW, "close", seconds=12)], seconds=1)
    plan = ActionPlan.of(Plan((Step("close"), Step("reopen"), Step("wait")), problem), model="timed")
    events: list[Event] = []

    executor = Executor(world.world, clock=VirtualClock(), listeners=(events.append,))
    assert run_virtual(executor.run(plan)).status is RunStatus.SUCCEEDED
    done = [str(act.step) for act in world.acts]
    assert sorted(done) == ["close", "reopen", "wait"]
    order = [(type(each), each.step) for each in events if isinstance(each, StepStarted | StepEnded)]
    assert order.index((StepEnded, "s1")) < order.index((StepStarted, "s2"))


def test_a_run_that_reached_its_goal_too_late_has_failed(tmp_path: Path) -> None:
    problem = trip(tmp_path, deadline=22)
    watched = Watched(problem, slower(walk=1.5))
    outcome = watched.run(by_hand(problem, "pack(ada)", "fly(ada)"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    watched = Watched(problem, slower(fly=3))
    outcome = watched.run(by_hand(problem, "pack(ada)", "fly(ada)"))
    assert outcome.status is RunStatus.FAILED
    assert "the deadline was at 22 s, and a step ended at 25.001 s" in outcome.reason


def test_what_was_due_and_came_too_late_ends_the_run() -> None:
    post = Domain("post")
    post.action("write", {}, provides="written", duration=3)
    post.action("post", {}, requires="written", provides="posted", duration=3)
    problem = post.problem(goal=["written", "posted"], due={"written": 4})
    watched = Watched(problem, slower(write=2))
    made = Plan((Step("write"), Step("post")), problem)
    outcome = watched.run(ActionPlan.of(made, model="timed"))
    assert outcome.status is RunStatus.FAILED
    assert "written was due at 4 s, and it was reached at 6 s" in outcome.reason
    assert [each.step for _, each in watched.of(StepStarted)] == ["s1"], "nothing is begun in vain"


@pytest.mark.parametrize(("closes", "deadline", "starts"), [(20, 90, 3), (40, 20, 3), (40, 90, 4)])
def test_a_step_is_tried_again_only_if_there_is_time(tmp_path: Path, closes: int, deadline: int, starts: int) -> None:
    problem = trip(tmp_path, "(fed ada)", f"(at 1 (open)) (at {closes} (not (open)))", deadline=deadline)
    watched = Watched(problem, faults=[Fault(FaultKind.RAISES, "shop", times=1)])
    for action in problem.domain.actions:
        watched.world.world.policy(action, ExecutionPolicy(timeout=1000, retries=2))
    outcome = watched.run(by_hand(problem, "pack(ada)", "fly(ada)", "shop(ada)"))
    assert (outcome.status is RunStatus.SUCCEEDED) is (starts == 4)
    assert len(watched.of(StepStarted)) == starts
    assert ("it is not tried again" in outcome.reason) is (starts == 3)


def test_a_run_sleeps_while_a_step_takes_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    find = Dispatcher.seconds_to_news

    def count(self: Dispatcher) -> float | None:
        looks.append(now())
        return find(self)

    monkeypatch.setattr(Dispatcher, "seconds_to_news", count)
    watched = Watched(trip(tmp_path), slower(pack=5))
    assert watched.run(by_hand(watched.problem, "pack(ada)", "fly(ada)")).status is RunStatus.SUCCEEDED
    assert len(looks) < 20, "it does not look every millisecond"


def test_a_killed_step_starts_anew_by_the_clock(tmp_path: Path) -> None:
    problem = trip(tmp_path, deadline=34)
    watched = Watched(problem, faults=[Fault(FaultKind.CRASH_BEFORE, "walk")])
    plan = by_hand(problem, "pack(ada)", "walk(ada)")
    with pytest.raises(Crash) as died:
        run_virtual(watched.executor(journal=tmp_path / "runs.db").run(plan, run="r"))
    died.value.bury()
    outcome = run_virtual(watched.executor(journal=tmp_path / "runs.db").resume("r"), start=25)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert "fly(ada)" in [str(act.step) for act in watched.world.acts], "there is no time for another walk"


@dataclass
class SlowClock(VirtualClock):
    """A clock of a busy machine: each time that somebody reads it, `pace` seconds have passed."""

    pace: float
    epoch: float = 0.0

    def time(self) -> float:
        self.epoch += self.pace
        return super().time()


@pytest.mark.parametrize("pace", [0.00001 * number for number in range(10, 30)])
def test_a_start_that_becomes_possible_while_it_is_looked_for_is_not_slept_through(tmp_path: Path, pace: float) -> None:
    problem = read(tmp_path, TRIP, "ada bob - person", "(packed ada) (packed bob)")
    watched = Watched(problem)
    executor = watched.executor(concurrency=1)
    executor.clock = SlowClock(pace)
    outcome = run_virtual(executor.run(by_hand(problem, "pack(ada)", "pack(bob)")))
    assert outcome.succeeded
    assert max(watched.starts().values()) < 10.1
