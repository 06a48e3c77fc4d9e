"""Why there is no decomposition: which task fails, by which methods, for want of what."""

from __future__ import annotations

import json
import sys
import threading
from itertools import pairwise

import pytest
from htn_towers import tower_plan

from htn import problem_kind
from htn.explain.task_explanations import explain_plan, explain_unsolvable
from htn.language.hddl import parse_domain, parse_problem
from htn.model import Decomposition, Node
from planner import read_documents, solve
from planner.errors import PlanError
from planner.explain.near_misses import _close
from planner.limits import LimitReached, Limits
from planner.plan import Plan, Status, Step, StoppedBy

reasons = sys.modules["htn.explain.task_explanations"]
DOMAIN = """
(define (domain errands) (:types item place)
 (:constants home - place)
 (:predicates (at ?p - place) (road ?a ?b - place) (fuel ?i - item) (got ?i - item) (here ?i - item ?p - place) (shut))
 (:task collect :parameters (?i - item))
 (:task go :parameters (?p - place))
 (:task wander :parameters ())
 (:task rest :parameters ())
 (:method fetch :parameters (?i - item ?p - place) :task (collect ?i) :precondition (here ?i ?p)
   :ordered-subtasks (and (go ?p) (take ?i ?p)))
 (:method stay :parameters (?p - place) :task (go ?p) :precondition (at ?p) :ordered-subtasks ())
 (:method hop :parameters (?a ?p - place ?f - item) :task (go ?p)
   :precondition (and (at ?a) (road ?a ?p) (fuel ?f)) :ordered-subtasks (drive ?a ?p ?f))
 (:method about :parameters () :task (wander) :ordered-subtasks (roam))
 (:task roam :parameters ())
 (:method on :parameters () :task (roam) :ordered-subtasks (and (roam) (lock)))
 (:action take :parameters (?i - item ?p - place) :precondition (and (at ?p) (here ?i ?p) (not (shut)))
   :effect (and (got ?i) (not (here ?i ?p))))
 (:action lock :parameters () :effect (shut))
 (:action drive :parameters (?a ?b - place ?f - item) :precondition (and (at ?a) (road ?a ?b) (fuel ?f))
   :effect (and (not (at ?a)) (at ?b) (not (fuel ?f)))))
"""
OBJECTS = "a b - place can x y - item"
NETWORK = "(:htn :ordered-subtasks (and {}))"
INITIAL = "(at a) (road a b) (road b home) (road a home) (fuel can) (here x b) (here y home)"


def problem_of(tasks: str, *, initial: str = INITIAL, goal: str = ""):
    """The errands with these tasks."""
    wanted = f"(:goal {goal})" if goal else ""
    text = (
        f"(define (problem round) (:domain errands) (:objects {OBJECTS}) "
        f"{NETWORK.format(tasks)} (:init {initial}) {wanted})"
    )
    return parse_problem(text, parse_domain(DOMAIN))


HEAD = "no decomposition, proved: these tasks can never be done, even if nothing that holds ever ended\n"
EVERYTHING = "no plan, proved: everything was tried, and each way ends; the furthest:\n"
CASES = {
    "a task without methods": (
        problem_of("(collect x) (rest)"),
        HEAD
        + """\
rest
  no method is for this task""",
        "no method is for rest",
    ),
    "a condition deep below": (
        problem_of("(collect x)", initial="(at a) (road b home) (road a home) (fuel can) (here x b)"),
        HEAD
        + """\
go(b), for collect(x)
  stay(b) needs at(b), which does not hold, and nothing that the tasks lead to makes it true
  hop(a, b, can) needs road(a, b), which does not hold, and no action makes it true
take(x, b), for collect(x)
  the action needs at(b), which does not hold, and nothing that the tasks lead to makes it true
collect(x)
  fetch(x, b) leads to go(b), take(x, b), which cannot be done""",
        (
            "go(b) cannot be done: stay(b) needs at(b), which does not hold, and nothing that the tasks lead to makes"
            " it true"
        ),
    ),
    "what holds for ever": (
        problem_of("(take x b)", initial="(at b) (here x b) (shut)"),
        HEAD
        + """\
take(x, b)
  the action needs not shut, but it holds, and nothing that the tasks lead to ends it""",
        (
            "take(x, b) cannot be done: the action needs not shut, but it holds, and nothing that the tasks lead to"
            " ends it"
        ),
    ),
    "a task that is needed for itself": (
        problem_of("(wander)"),
        HEAD
        + """\
roam, for wander
  on() leads to roam, which cannot be done
wander
  about() leads to roam, which cannot be done""",
        "roam cannot be done: on() leads to roam, which cannot be done",
    ),
    "a goal that the tasks do not lead to": (
        problem_of("(collect x)", goal="(and (got x) (got y))"),
        (
            "no plan, proved: the goal requires got(y), which does not hold, and nothing that the tasks lead to makes"
            " it true"
        ),
        "nothing makes this part of the goal true: got(y)",
    ),
    "what one task uses up and another needs": (
        problem_of("(collect x) (collect y)"),
        EVERYTHING
        + """\
after 1. drive(a, b, can), 2. take(x, b):
  go(home), for collect(y)
    stay(home) needs at(home), which is false in the initial state and never provided before
    hop(a, home, can) needs at(a), which was retracted by step 1 drive(a, b, can)
    hop(b, home, can) needs fuel(can), which was retracted by step 1 drive(a, b, can)""",
        (
            "the furthest way ends after 2 steps with go(home): stay(home) needs at(home), which is false in the"
            " initial state and never provided before"
        ),
    ),
    "an action that comes too late": (
        problem_of("(collect x) (lock) (take y home)", initial=f"{INITIAL} (at home)"),
        EVERYTHING
        + """\
after 1. drive(a, b, can), 2. take(x, b), 3. lock():
  take(y, home)
    the action needs not shut, which ended when step 3 lock() provided shut""",
        (
            "the furthest way ends after 3 steps with take(y, home): the action needs not shut, which ended when step 3"
            " lock() provided shut"
        ),
    ),
    "a goal that is lost again": (
        problem_of("(collect x) (lock)", goal="(and (got x) (not (shut)))"),
        EVERYTHING
        + """\
after 1. drive(a, b, can), 2. take(x, b), 3. lock():
  all tasks are done, but the goal requires not shut, which ended when step 3 lock() provided shut""",
        "the furthest way ends after 3 steps: the goal requires not shut, which ended when step 3 lock() provided shut",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_deepest_reason_comes_first(name):
    problem, text, reason = CASES[name]
    found = explain_unsolvable(problem, Limits())
    assert str(found) == text
    assert found.proved
    result = solve(problem)
    assert result.status is Status.UNSOLVABLE
    assert result.reason == reason
    assert json.loads(json.dumps(found.to_dict()))["proved"] is True


def test_where_there_is_a_plan_it_is_said():
    found = explain_unsolvable(problem_of("(collect x)"), Limits())
    assert (found.proved, found.solvable, str(found)) == (False, True, "there is a plan")


def test_limits_are_told_and_not_raised():
    cancelled = threading.Event()
    cancelled.set()
    found = explain_unsolvable(problem_of("(collect x) (collect y)"), Limits(cancel=cancelled))
    assert (found.proved, found.stopped_by) == (False, StoppedBy.CANCELLED)
    assert str(found) == "not followed further; ended: cancellation"


@pytest.mark.parametrize("name", CASES)
def test_what_is_proved_in_a_hurry_is_proved_anyway(name, monkeypatch):
    """Where there is no time for the exact relaxed world, what is missing shows in a smaller one."""
    monkeypatch.setattr("htn.explain.impossible_tasks.EXACT_SECONDS", 0.0)
    problem, _, _ = CASES[name]
    found = explain_unsolvable(problem, Limits(60))
    assert found.proved
    assert found.stopped_by is None


def test_objects_that_one_subtask_alone_is_about_are_told_with_it(monkeypatch):
    monkeypatch.setattr("htn.explain.impossible_tasks.EXACT_SECONDS", 0.0)
    text = "(define (problem p) (:domain errands) (:objects a b - place can x y - item) (:init (at a) (road a b))"
    network = "(:htn :parameters (?i ?j - item) :ordered-subtasks (and (collect ?i) (collect ?j)))"
    found = explain_unsolvable(parse_problem(f"{text} {network})", parse_domain(DOMAIN)), Limits(60))
    assert [each.task for each in found.failures][-1] == "task 1 of the problem"
    assert "@" not in str(found)


def no_room(*_given, **_options):
    raise LimitReached(StoppedBy.MEMORY)


def test_without_room_for_the_relaxed_world_some_ways_are_tried(monkeypatch):
    monkeypatch.setattr("htn.explain.impossible_tasks.relax", no_room)
    found = explain_unsolvable(problem_of("(go b) (collect y) (go a)"), Limits(60))
    assert (found.proved, found.solvable, found.stopped_by) == (False, False, StoppedBy.MEMORY)
    lines = str(found).splitlines()
    assert lines[0] == "of what was tried, these ways got furthest:"
    assert lines[-1] == "not followed further; ended: the memory limit"
    assert "    hop: no choice of objects can work here" in lines
    assert explain_unsolvable(problem_of("(collect x)"), Limits(60)).solvable


def test_the_closure_of_the_relaxed_world_keeps_to_its_budget():
    assert _close([1], [([1], [2, 3])], Limits()) == {1, 2, 3}
    with pytest.raises(LimitReached):
        _close([1], [([1], [2])], Limits(0))


def test_many_tasks_and_choices_are_told_in_part():
    items = [f"i{n}" for n in range(100)]
    tasks = " ".join(f"(collect {each})" for each in items)
    facts = " ".join(f"(here {each} b)" for each in items)
    domain = parse_domain(DOMAIN)
    text = (
        f"(define (problem many) (:domain errands) (:objects {' '.join(items)} - item b - place) "
        f"{NETWORK.format(tasks)} (:init {facts} (at home)))"
    )
    lines = str(explain_unsolvable(parse_problem(text, domain), Limits())).splitlines()
    assert lines[1] == "go(b), for collect(i0)"
    assert len(lines) < 100


def test_the_deepest_reason_is_found_however_deep():
    levels = [f"n{n}" for n in range(500)]
    text = """
    (define (domain ladder) (:types level) (:predicates (above ?a ?b - level) (open ?a - level))
      (:task climb :parameters (?a - level))
      (:method up :parameters (?a ?b - level) :task (climb ?a) :precondition (above ?b ?a) :ordered-subtasks (climb ?b))
      (:method out :parameters (?a - level) :task (climb ?a) :precondition (open ?a) :ordered-subtasks ()))
    """
    above = " ".join(f"(above {high} {low})" for low, high in pairwise(levels))
    problem = parse_problem(
        f"(define (problem p) (:domain ladder) (:objects {' '.join(levels)} - level)"
        f" (:htn :subtasks (climb n0)) (:init {above}))",
        parse_domain(text),
    )
    found = explain_unsolvable(problem, Limits())
    assert found.failures[0].task == "climb(n499)"
    assert len(found.failures[0].above) == 499
    assert str(found).splitlines()[1].endswith(" ← climb(n492) ← climb(n491) ← …")
    assert len(str(found).splitlines()) < 100


def test_steps_are_there_for_tasks():
    problem = problem_of("(collect x) (lock)")
    plan = solve(problem).expect_plan()
    text = """\
1. drive(a, b, can)
   for go(b), by hop
   ← collect(x), by fetch
2. take(x, b)
   for collect(x), by fetch
3. lock()
   a task of the problem itself"""
    assert str(explain_plan(problem, plan)) == text
    assert str(explain_plan(problem, Plan(plan.steps, problem))) == text
    assert explain_plan(problem, plan).to_dict()["steps"][1]["for"] == [{"task": "collect(x)", "method": "fetch"}]


def test_the_tasks_above_a_step_are_kept_up_to_a_hundred():
    plan = tower_plan(6)
    chain = [node.task for node in plan.tree.nodes]
    assert max(map(len, explain_plan(plan.problem, plan).purposes)) == 6
    levels = tuple([Node(chain[0], None, "through", (), (place + 1,)) for place in range(300)])
    deep = Plan(plan.steps[:1], plan.problem, Decomposition((*levels, Node(plan.tree.nodes[-1].task, 0)), (0,)))
    assert len(explain_plan(plan.problem, deep).purposes[0]) == 100


def test_steps_of_no_task_are_refused():
    problem = problem_of("(lock)")
    with pytest.raises(PlanError, match="no decomposition of the tasks gives these steps"):
        explain_plan(problem, Plan((Step("lock"), Step("lock")), problem))


def test_constraints_count_among_the_reasons() -> None:
    text = """
domain: errand
types: {room: object}
actions:
  move:
    parameters: {origin: room, target: room}
    requires: ["at(origin)", "door(origin, target)"]
    provides: ["at(target)"]
    modifies: ["at(_)"]
tasks:
  go: {parameters: {room: room}}
methods:
  there: {task: "go(room)", parameters: {room: room}, requires: ["at(room)"]}
  onwards:
    task: go(room)
    parameters: {here: room, next: room, room: room}
    requires: ["at(here)", "door(here, next)"]
    subtasks: ["move(here, next)", "go(room)"]
---
problem: to-the-lab
objects: {hall: room, lab: room}
initial: ["at(hall)", "door(hall, lab)"]
tasks: ["go(lab)"]
constraints: [{forbidden: "move(hall, _)"}]
"""
    (problem,) = read_documents(text).problems
    assert solve(problem).status is Status.UNSOLVABLE
    found = problem_kind.explain_unsolvable(problem, Limits(10))
    assert found.proved
    assert not found.solvable
    assert "move(hall, lab)" in found.describe()
