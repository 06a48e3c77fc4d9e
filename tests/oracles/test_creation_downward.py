"""Problems whose actions create objects, with placeholders and written as PDDL: Fast Downward finds the same optima.

The random problems are small ones whose optima `creation_twin` gives; ORACLE_TASKS=1000 makes them more than 40.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

import creation_twin
import pytest
from brute_force import TooManyStates
from downward import optimal_plans

from planner import Domain, Status, compile_object_creation, created_by, solve, validate
from planner.language.pddl.export import export

pytestmark = pytest.mark.usefixtures("counted_clock")

BLOCK = 20
TASKS = int(os.environ.get("ORACLE_TASKS", "40"))
FEATURES = replace(creation_twin.SMALL, axioms=False)
LARGEST = 300
"""So many ground actions and effects at most: Fast Downward's translator takes seconds for thousands."""


def instances(problem):
    """Return about how many instances the actions of `problem` have, with those of their conditional effects."""
    objects = len(problem.all_objects)
    found = [(len(action.parameters), len(when.variables)) for action in actions_of(problem) for when in action.effects]
    return sum(objects ** (outer + inner) for outer, inner in found)


def actions_of(problem):
    return problem.domain.actions.values()


def small_problems(block):
    """Yield the problems of a block that have few states: seed, placeholders of each type, problem, and optimum."""
    for seed in range(4000 + BLOCK * block, 4000 + BLOCK * (block + 1)):
        problem = creation_twin.random_creation(seed, features=FEATURES)
        number = 1 + seed % 2
        if instances(compile_object_creation(problem, number).problem) <= LARGEST:
            with contextlib.suppress(TooManyStates):
                yield seed, number, problem, creation_twin.optimum(problem, number, 80)


@pytest.mark.parametrize("block", range(TASKS // BLOCK))
def test_optima_agree(block, tmp_path):
    tasks = list(small_problems(block))
    assert len(tasks) >= BLOCK // 5
    exports = [export(compile_object_creation(problem, number).problem) for _, number, problem, _ in tasks]
    foreign = optimal_plans(tmp_path, [(each.domain, each.problem) for each in exports])
    for (seed, number, problem, optimum), written, text in zip(tasks, exports, foreign, strict=True):
        assert (text is None) is (optimum is None), seed
        if text is None:
            continue
        plan = written.read_plan(text)
        assert validate(problem, plan.steps).valid, seed
        assert plan.cost == optimum, (seed, number)
        ours = solve(problem, time_limit=0.3)
        assert ours.status is not Status.UNSOLVABLE, seed
        if ours.status is Status.OPTIMAL:
            assert ours.cost <= optimum, seed


DESK = Domain("desk", types={"ticket": None, "bug": "ticket", "person": None})
DESK.action("create", {"p": "person"}, provides=["open(t)", "by(t, p)"], creates={"t": "ticket"})
DESK.action("report", provides=["open(b)", "reported(b)"], creates={"b": "bug"}, cost=2)
DESK.action(
    "split",
    {"t": "ticket"},
    requires=["open(t)"],
    provides=["not open(t)", "open(one)", "pair(one, two)"],
    creates={"one": "ticket", "two": "ticket"},
    cost=3,
)
DESK.action("configure", {"t": "ticket"}, requires=["open(t)"], provides=["configured(t)"])
DESK.action("greet", {"t": "ticket"}, provides=["greeted(t)"])
GOALS = {
    "(forall (?p - person) (exists (?t - ticket) (and (by ?t ?p) (configured ?t) (greeted ?t))))": 6,
    "(exists (?b - bug) (and (configured ?b) (not (greeted ?b))))": 3,
    "(exists (?t ?u - ticket) (and (pair ?t ?u) (configured ?t) (greeted ?u)))": 6,
    "(and (exists (?t - ticket) (by ?t bob)) (forall (?t - ticket) (greeted ?t)))": 2,
    "(exists (?b - bug) (by ?b alice))": None,
}


def test_a_table_of_goals(tmp_path):
    people = {"alice": "person", "bob": "person"}
    problems = [DESK.problem(objects=people, goal=goal) for goal in GOALS]
    exports = [export(compile_object_creation(problem, 3).problem) for problem in problems]
    foreign = optimal_plans(tmp_path, [(each.domain, each.problem) for each in exports])
    for problem, cost, written, text in zip(problems, GOALS.values(), exports, foreign, strict=True):
        assert (text is None) is (cost is None)
        if text is not None:
            plan = written.read_plan(text)
            assert validate(problem, plan.steps).valid
            assert any(created_by(problem, step) for step in plan.steps)
            assert plan.cost == cost == solve(problem).cost
