"""Engines of unified-planning on hierarchical problems: Aries where it is installed, and engines made up for the tests.

Aries (PyPI `up-aries`) may have an environment of its own, as the benchmarks have it (`FORETHOUGHT_PEERS`).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from effort import share
from unified_planning.environment import get_environment

from benchmarks.planners.environments import find_peers_folder, interpreter_of
from benchmarks.random_hierarchies import USUAL, HtnFeatures, random_htn
from htn import problem_kind
from htn.compilations.methods_from_actions import as_htn
from htn.language.hddl import parse_domain, parse_problem, read, write
from htn.model import HtnProblem
from htn.verification.plan_verification import validate
from planner import load
from planner.errors import EngineError
from planner.model import Problem
from planner.plan import Status, StoppedBy
from planner.solve import solve
from planner.solve import solve as solve_htn

GUEST = Path(__file__).parents[2] / "benchmarks" / "planners" / "guest_script.py"
TASKS = Path(__file__).parents[3] / "shared" / "data" / "ipc2020-htn"
SMALL = {
    "partial-order/Satellite": "1obs-1sat-1mod",
    "partial-order/Transport": "pfile01",
    "total-order/AssemblyHierarchical": "genericLinearProblem_depth01",
    "total-order/Blocksworld-GTOHP": "p01",
    "total-order/Childsnack": "p01",
    "total-order/Depots": "p01",
    "total-order/Elevator-Learned-ECAI-16": "s01-0",
    "total-order/Factories-simple": "pfile01",
}
SECONDS = 40

FAKES = """
from unified_planning.model import ProblemKind
from unified_planning.plans import HierarchicalPlan, SequentialPlan
from unified_planning.plans.hierarchical_plan import Decomposition
from planner.unified_planning.engine import ForethoughtEngine

FEATURES = {"HIERARCHICAL", "TASK_ORDER_TOTAL", "TASK_ORDER_PARTIAL", "METHOD_PRECONDITIONS", "ACTIONS_COST",
            "INT_NUMBERS_IN_ACTIONS_COST", "PLAN_LENGTH"}


class Plain(ForethoughtEngine):
    name = "plain"

    @staticmethod
    def supported_kind():
        return ProblemKind(FEATURES, version=2)


class Rich(ForethoughtEngine):
    name = "rich"


class Liar(ForethoughtEngine):
    name = "liar"

    def _solve(self, problem, *args, **options):
        result = super()._solve(problem, *args, **options)
        steps = result.plan.action_plan.actions
        result.plan = HierarchicalPlan(SequentialPlan(steps + steps), result.plan.decomposition)
        return result
"""

ROOMS = """(define (domain rooms) (:requirements :adl :hierarchy :typing :method-preconditions)
(:types room) (:predicates (at ?x - room) (seen ?x - room) (door ?x ?y - room))
(:task tour :parameters ()) (:task visit :parameters (?x - room))
(:method done :parameters () :task (tour) :precondition (forall (?x - room) (seen ?x)) :subtasks ())
(:method more :parameters (?x - room) :task (tour) :precondition (not (seen ?x))
  :ordered-subtasks (and (visit ?x) (tour)))
(:method look :parameters (?x ?y - room) :task (visit ?x) :precondition (at ?y) :ordered-subtasks (and (go ?y ?x)))
(:action go :parameters (?x ?y - room) :precondition (and (at ?x) (or (door ?x ?y) (door ?y ?x)))
  :effect (and (not (at ?x)) (at ?y) (when (door ?x ?y) (seen ?y)) (when (not (door ?x ?y)) (seen ?x)))))"""
HOUSE = """(define (problem house) (:domain rooms) (:objects hall kitchen attic - room)
(:htn :parameters () :subtasks (and (tour)))
(:init (at hall) (seen hall) (door hall kitchen) (door kitchen attic)))"""

GRIPPER = """(define (domain gripper) (:requirements :strips :typing) (:types room ball hand)
(:predicates (here ?r - room) (at ?b - ball ?r - room) (free ?h - hand) (carry ?b - ball ?h - hand))
(:action move :parameters (?from ?to - room) :precondition (here ?from) :effect (and (here ?to) (not (here ?from))))
(:action pick :parameters (?b - ball ?r - room ?h - hand) :precondition (and (at ?b ?r) (here ?r) (free ?h))
  :effect (and (carry ?b ?h) (not (at ?b ?r)) (not (free ?h))))
(:action drop :parameters (?b - ball ?r - room ?h - hand) :precondition (and (carry ?b ?h) (here ?r))
  :effect (and (at ?b ?r) (free ?h) (not (carry ?b ?h)))))"""
BALLS = """(define (problem balls) (:domain gripper) (:objects a b - room one - ball left right - hand)
(:init (here a) (at one a) (free left) (free right)) (:goal (at one b)))"""


@pytest.fixture
def aries(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of the engine, made importable for the process that it runs in."""
    if importlib.util.find_spec("up_aries") is None:
        places = [str(path) for path in (find_peers_folder() / "up-aries" / "lib").glob("python*/site-packages")]
        if not places:
            pytest.skip("up-aries is not installed")
        monkeypatch.setattr(sys, "path", [*sys.path, *places])
    return "aries"


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fake_htn_engines.py").write_text(FAKES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    factory = get_environment().factory
    for name in ("Plain", "Rich", "Liar"):
        if f"fake-{name}" not in factory.engines:
            factory.add_engine(f"fake-{name}", "fake_htn_engines", name)


def house() -> HtnProblem:
    return parse_problem(HOUSE, parse_domain(ROOMS))


@pytest.mark.parametrize("engine", ["fake-Rich", "fake-Plain"])
@pytest.mark.usefixtures("fakes")
def test_each_engine_gets_the_form_that_it_takes(engine: str) -> None:
    problem = house()
    result = solve(problem, engine=engine, time_limit=60)
    assert result.status is Status.OPTIMAL, result.describe()
    assert result.cost == solve(problem).cost
    verdict = validate(problem, result.expect_plan())
    assert (verdict.valid, verdict.cost) == (True, result.cost)
    assert result.plan.tree.roots
    assert result.plan.problem is problem


TANK = """(define (domain tank) (:requirements :hierarchy :numeric-fluents) (:functions (level))
(:task top :parameters ())
(:method full :task (top) :precondition (>= (level) 3) :ordered-subtasks (and))
(:method more :task (top) :precondition (< (level) 3) :ordered-subtasks (and (fill) (top)))
(:action fill :effect (increase (level) 1.25)))"""
FILLED = "(define (problem p) (:domain tank) (:htn :ordered-subtasks (and (top))) (:init (= (level) 0)))"


@pytest.mark.usefixtures("fakes")
def test_numbers_go_as_they_are_written() -> None:
    problem = parse_problem(FILLED, parse_domain(TANK))
    result = solve(problem, engine="fake-Rich", time_limit=60)
    assert (result.status, result.cost) == (Status.SOLVED, 3), result.reason  # whatever engines prove with numbers
    assert validate(problem, result.expect_plan()).valid
    refused = solve(problem, engine="fake-Plain", time_limit=60)
    assert refused.status is Status.UNSUPPORTED
    assert "numeric fluents" in refused.reason


@pytest.mark.usefixtures("fakes")
def test_plans_are_checked() -> None:
    with pytest.raises(EngineError, match="fake-Liar gave an invalid plan"):
        solve(house(), engine="fake-Liar", time_limit=60)


def test_an_engine_without_tasks_refuses_and_others_are_named() -> None:
    result = solve(house(), engine="pyperplan", time_limit=60)
    assert result.status is Status.UNSUPPORTED
    assert result.reason.startswith("hierarchical task networks")


@pytest.mark.usefixtures("fakes")
def test_what_grounding_excludes_needs_no_engine() -> None:
    shut = parse_problem(HOUSE.replace("(door kitchen attic)", ""), parse_domain(ROOMS))
    result = solve(shut, engine="fake-Plain", time_limit=60)
    assert (result.status, result.stopped_by) == (Status.UNSOLVABLE, StoppedBy.EXHAUSTED)
    assert result.reason == "proved while grounding: nothing reaches tour"


@pytest.mark.drawn
@pytest.mark.parametrize("name", share(["travel", "incident", "household"], 3))
def test_aries_solves_what_is_shipped(name: str, aries: str) -> None:
    problem = load(name)
    result = solve(problem, engine=aries, time_limit=SECONDS)
    assert result.has_plan, result.describe()
    verdict = validate(problem, result.plan)
    assert (verdict.valid, verdict.cost) == (True, result.cost)
    assert result.cost >= solve_htn(problem, mode="optimal", time_limit=SECONDS).cost


@pytest.mark.drawn
@pytest.mark.parametrize("place", share([*SMALL], 4))
def test_aries_solves_tasks_of_the_competition(place: str, aries: str) -> None:
    folder = TASKS / place
    if not folder.exists():
        pytest.skip("the competition's tasks are not at hand")
    problem = read(folder / "domain.hddl", folder / f"{SMALL[place]}.hddl")
    result = solve(problem, engine=aries, time_limit=SECONDS)
    assert result.has_plan, result.describe()
    assert validate(problem, result.plan).valid


@pytest.mark.parametrize("seed", range(8))
def test_aries_and_ours_agree_on_what_can_be_done(seed: int, aries: str) -> None:
    problem = random_htn(seed, HtnFeatures(classical=replace(USUAL, quantified=False)))
    ours = solve(problem)
    theirs = solve(problem, engine=aries, time_limit=SECONDS if ours.has_plan else 5)
    assert theirs.has_plan is ours.has_plan, (ours.describe(), theirs.describe())
    if theirs.has_plan:
        assert validate(problem, theirs.plan).valid
        assert theirs.cost >= ours.cost


def derived() -> list[Problem]:
    return [parse_classical(GRIPPER, BALLS), load("stacking", "swap")]


def parse_classical(domain: str, problem: str) -> Problem:
    from planner.language.pddl import parse_domain as parse_plain_domain
    from planner.language.pddl import parse_problem as parse_plain_problem

    return parse_plain_problem(problem, parse_plain_domain(domain))


@pytest.mark.parametrize("problem", derived(), ids=lambda problem: problem.domain.name)
def test_aries_solves_derived_methods(problem: Problem, aries: str) -> None:
    hierarchy = as_htn(problem)
    result = solve(hierarchy, engine=aries, time_limit=SECONDS)
    assert result.has_plan, result.describe()
    assert validate(hierarchy, result.plan).valid


def test_aries_solves_derived_methods_written_in_hddl(tmp_path: Path) -> None:
    python = interpreter_of("up-aries")
    if not python.exists():
        pytest.skip("up-aries has no environment of its own")
    texts = write(parse_classical(GRIPPER, BALLS))
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("domain.hddl", "problem.hddl")]
    command = [str(python), "-I", str(GUEST), "aries", "{}", *files, str(SECONDS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS + 15)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["status"] == "solved", told
    problem = parse_problem(texts["problem.hddl"], parse_domain(texts["domain.hddl"]))
    assert problem_kind.validate(problem, problem_kind.read_plan(problem, told["plan"])).valid
