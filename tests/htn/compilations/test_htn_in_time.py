"""Tasks in time: schedules keep the order of tasks, and deadlines are met where some schedule meets them."""

from __future__ import annotations

import json

import pytest

from htn.compilations.htn_in_time import UNPROVED, bound_time_of_tasks
from htn.language import hddl
from htn.language.declare import Methods
from htn.language.plan_drawing import draw_tree
from htn.language.plan_text import plan_from_text, write_plan
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.problem_kind import validate
from planner import Domain, Plan, Status, read_documents, solve
from planner.errors import UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.model import Atom, NumericEffect, Variable
from planner.model.formulas import conjunction
from planner.model.problem import Goal, Metric
from planner.model.timing import GoalDeadline, TimedEffect
from planner.plan import StepTime

KITCHEN = """
(define (domain kitchen)
  (:types cook dish - object)
  (:predicates (free ?c - cook) (raw ?d - dish) (cut ?d - dish) (cooked ?d - dish) (served ?d - dish))
  (:durative-action chop :parameters (?c - cook ?d - dish) :duration (= ?duration 3)
    :condition (and (at start (free ?c)) (at start (raw ?d)))
    :effect (and (at start (not (free ?c))) (at end (free ?c)) (at start (not (raw ?d))) (at end (cut ?d))))
  (:durative-action boil :parameters (?d - dish) :duration (= ?duration 10)
    :condition (at start (cut ?d)) :effect (at end (cooked ?d)))
  (:durative-action serve :parameters (?c - cook ?d - dish) :duration (= ?duration 1)
    :condition (and (at start (free ?c)) (at start (cooked ?d)))
    :effect (and (at start (not (free ?c))) (at end (free ?c)) (at end (served ?d)))))
"""
MEAL = """
(define (problem meal) (:domain kitchen)
  (:objects ann - cook soup pie - dish) (:init (free ann) (raw soup) (raw pie)) (:goal (and))
  (:metric minimize (total-time)))
"""
CLASSICAL = parse_problem(MEAL, parse_domain(KITCHEN))
BOTH = [Atom("meal", (dish,)) for dish in ("soup", "pie")]


def kitchen(network: Network, deadline: int | None = None) -> HtnProblem:
    steps = sequence(Atom("chop", ("?c", "?d")), Atom("boil", ("?d",)), Atom("serve", ("?c", "?d")))
    dish, cook = Variable("?d", ("dish",)), Variable("?c", ("cook",))
    method = Method("cook-it", Atom("meal", ("?d",)), (dish, cook), network=steps)
    domain = HtnDomain(CLASSICAL.domain, {"meal": Task("meal", (dish,))}, {"cook-it": method})
    return HtnProblem(domain, replace(CLASSICAL, deadline=deadline), network)


@pytest.mark.parametrize(
    ("network", "deadline", "at_most"),
    [
        (Network(tuple(map(Subtask, BOTH))), None, 18),
        (Network(tuple(map(Subtask, BOTH))), 18, 18),
        (Network(tuple(map(Subtask, BOTH))), 16, None),
        (sequence(*BOTH), None, 29),
        (sequence(*BOTH), 20, None),
    ],
)
def test_tasks_overlap_where_nothing_orders_them(network: Network, deadline: int | None, at_most: int | None) -> None:
    problem = kitchen(network, deadline)
    result = solve(problem, time_limit=2)
    if at_most is None:
        is_late = bound_time_of_tasks(problem) > (deadline or 0)
        assert result.status is (Status.UNSOLVABLE if is_late else Status.UNKNOWN)
        return
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan is not None
    assert plan.makespan <= at_most


def test_a_makespan_has_the_bound_of_the_sequence_where_all_is_in_order() -> None:
    result = solve(kitchen(sequence(*BOTH)), time_limit=60)
    assert result.status is Status.SOLVED
    assert (result.lower_bound, result.reason) == (28, UNPROVED)
    assert result.gap is not None
    assert result.gap < 0.001


def test_a_makespan_is_proved_by_that_of_any_plan_to_the_goal() -> None:
    problem = kitchen(Network(tuple(map(Subtask, BOTH))))
    served = conjunction([Atom("served", (dish,)) for dish in ("soup", "pie")])
    problem = replace(problem, classical=replace(problem.classical, goal=Goal(served)))
    result, any_way = solve(problem, time_limit=60), solve(problem.classical, time_limit=60)
    assert (result.status, any_way.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert 14 <= result.expect_plan().cost == any_way.cost


@pytest.mark.parametrize("is_ordered", [True, False])
def test_costs_are_proved_by_sequences_where_no_plan_is_anything_else(is_ordered: bool) -> None:
    classical = CLASSICAL.domain
    costs = {"chop": 4, "boil": 1, "serve": 2}
    actions = {name: replace(each, cost=(costs[name],)) for name, each in classical.actions.items()}
    quick = replace(actions["boil"], name="fry", duration=2, cost=(5,))
    domain = replace(classical, actions={**actions, "fry": quick})
    dish, cook = Variable("?d", ("dish",)), Variable("?c", ("cook",))
    methods = {
        f"by-{way}": Method(
            f"by-{way}",
            Atom("meal", ("?d",)),
            (dish, cook),
            network=sequence(Atom("chop", ("?c", "?d")), Atom(way, ("?d",)), Atom("serve", ("?c", "?d"))),
        )
        for way in ("fry", "boil")
    }
    tasks = {"meal": Task("meal", (dish,))}

    def with_deadline(deadline: int | None) -> HtnProblem:
        meal = replace(CLASSICAL, domain=domain, metric=Metric.COST, due=(GoalDeadline(Atom("served", ("pie",)), 100),))
        meal = replace(meal, deadline=deadline)
        network = sequence(*BOTH) if is_ordered else Network(tuple(map(Subtask, BOTH)))
        return HtnProblem(HtnDomain(domain, tasks, methods), meal, network)

    result = solve(with_deadline(None), time_limit=60)
    proved = (Status.OPTIMAL, 14, 14) if is_ordered else (Status.SOLVED, 14, None)
    assert (result.status, result.cost, result.lower_bound) == proved
    assert validate(with_deadline(None), result.expect_plan()).valid
    hurried = solve(with_deadline(12), time_limit=60)
    assert hurried.status in (Status.SOLVED, Status.UNKNOWN)


def test_times_are_printed_with_the_decomposition() -> None:
    problem = kitchen(sequence(*BOTH))
    plan = solve(problem, time_limit=60).expect_plan()
    text = write_plan(plan)
    assert text.startswith("; 0.000: (chop ann soup) [3.000]\n")
    assert f"; makespan = {plan.makespan}\n==>\n0 chop ann soup\n" in text
    again = plan_from_text(text, problem)
    assert [step.action for step in again.steps] == [step.action for step in plan.steps]
    assert validate(problem, again).valid
    late = plan_from_text(json.dumps(plan.to_dict()), problem)
    assert late.times == plan.times
    assert validate(problem, late).valid
    assert "1. chop(ann, soup)  0 to 3 s" in draw_tree(plan)


def test_a_task_that_comes_to_nothing_keeps_what_is_before_and_after_it_in_order() -> None:
    problem = kitchen(sequence(BOTH[0], Atom("rest"), BOTH[1]))
    tasks = {**problem.domain.tasks, "rest": Task("rest")}
    methods = {**problem.domain.methods, "at-once": Method("at-once", Atom("rest"))}
    problem = replace(problem, domain=replace(problem.domain, tasks=tasks, methods=methods))
    plan = solve(problem, time_limit=2).expect_plan()
    assert 28 <= plan.makespan <= 29
    early = [replace(time, start=time.start - 10) if place == 3 else time for place, time in enumerate(plan.times)]
    assert not validate(problem, replace(plan, times=tuple(early))).valid


def test_times_that_break_the_order_of_tasks_are_refused() -> None:
    problem = kitchen(sequence(*BOTH))
    plan = solve(kitchen(Network(tuple(map(Subtask, BOTH)))), time_limit=2).expect_plan()
    ordered = solve(problem, time_limit=2).expect_plan()
    early = Plan(ordered.steps, problem, ordered.tree, times=(*ordered.times[:3], StepTime(4, 3), *ordered.times[4:]))
    verdict = validate(problem, early)
    assert not verdict.valid
    assert "before" in verdict.reason
    assert not validate(problem, replace(plan, problem=problem)).valid


def test_a_late_step_is_named() -> None:
    problem = kitchen(Network(tuple(map(Subtask, BOTH))))
    plan = solve(problem, time_limit=2).expect_plan()
    worse = replace(plan, times=(*plan.times[:-1], replace(plan.times[-1], duration=7)))
    assert "its duration is 1 s" in validate(problem, worse).reason


def test_hddl_keeps_durations() -> None:
    problem = kitchen(Network(tuple(map(Subtask, BOTH))))
    texts = hddl.write(problem)
    again = hddl.parse_problem(texts["problem.hddl"], hddl.parse_domain(texts["domain.hddl"]))
    assert "(:durative-action chop" in texts["domain.hddl"]
    first, second = [solve(each, time_limit=5).expect_plan() for each in (problem, again)]
    assert first.makespan == second.makespan
    assert validate(problem, second).valid
    with pytest.raises(UnsupportedError, match="deadlines of goals"):
        hddl.write(replace(problem, classical=replace(CLASSICAL, due=(GoalDeadline(Atom("served", ("pie",)), 9),))))


WASHING = """\
domain: d
types: {item: object}
constants: {a: item, b: item}
functions: {size: {parameters: {x: item}}}
actions:
  wash: {parameters: {x: item}, provides: ["clean(x)"], duration: "size(x)"}
  dry: {parameters: {x: item}, requires: ["clean(x)"], provides: ["done(x)"], duration: "2..9"}
  buy: {parameters: {x: item}, provides: ["done(x)"], duration: 20, cost: 0}
tasks: {make: {parameters: {x: item}}, both: {}}
methods:
  carefully: {parameters: {x: item}, task: make(x), subtasks: [wash(x), dry(x)]}
  again: {parameters: {x: item}, task: make(x), subtasks: [dry(x), make(x)]}
  quickly: {parameters: {x: item}, task: make(x), subtasks: [buy(x)]}
  pair: {task: both, subtasks: [make(a), make(b)], ordered: ORDERED}
---
problem: p
values: {"size(a)": 3, "size(b)": 5}
tasks: [both]
"""


def washing(rest: str, ordered: str = "true") -> HtnProblem:
    (problem,) = read_documents(WASHING.replace("ORDERED", ordered) + rest).problems
    assert isinstance(problem, HtnProblem)
    return problem


@pytest.mark.parametrize(("ordered", "least"), [("true", 10), ("false", 5)])
def test_the_time_of_tasks_is_bounded_by_their_shortest_methods_and_longest_chains(ordered: str, least: int) -> None:
    problem = washing("objective: makespan", ordered)
    assert bound_time_of_tasks(problem) == least
    result = solve(problem, time_limit=30)
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    assert result.lower_bound is not None
    assert least <= result.lower_bound <= plan.cost


@pytest.mark.parametrize("ordered", ["true", "false"])
@pytest.mark.parametrize("asked", ["objective: makespan\n", ""])
def test_tasks_that_take_longer_than_the_deadline_are_proved_to_be_late(ordered: str, asked: str) -> None:
    least = bound_time_of_tasks(washing(asked, ordered))
    late = solve(washing(f"{asked}deadline: {least - 1}", ordered), time_limit=30)
    assert late.status is Status.UNSOLVABLE
    assert f"every plan takes at least {least} s" in late.reason
    problem = washing(f"{asked}deadline: 40", ordered)
    in_time = solve(problem, time_limit=30)
    assert validate(problem, in_time.expect_plan()).valid


def test_a_duration_that_changes_at_a_known_time_bounds_nothing() -> None:
    problem = washing("objective: makespan")
    shrinks = TimedEffect(1, (), (NumericEffect(Atom("size", ("b",)), ":=", 0),))
    changed = replace(problem, classical=replace(problem.classical, timed=(shrinks,)))
    assert bound_time_of_tasks(changed) == 4


def test_a_task_that_never_ends_has_no_bound_that_is_told() -> None:
    text = WASHING.replace("[make(a), make(b)]", "[both]")
    (problem,) = read_documents(text.replace("ORDERED", "true") + "deadline: 4").problems
    result = solve(problem, time_limit=30)
    assert not result.has_plan
    assert "every plan takes" not in result.reason


def declare_press(*, creates):
    domain = Domain("press", types=["page"])
    if creates:
        domain.action("write", creates={"new": "page"}, provides=["written(new)"], duration=2)
    else:
        requires = {"requires": ["unused(new)"], "provides": ["written(new)", "not unused(new)"]}
        domain.action("write", {"new": "page"}, duration=2, **requires)
    domain.action("print", {"page": "page"}, requires=["written(page)"], provides=["printed"], duration=1)
    how = Methods(domain)
    how.task("publish")
    how.method("once", {"page": "page"}, task="publish", subtasks=["write(page)", "print(page)"])
    return how


@pytest.mark.parametrize("more", [{"deadline": 9}, {"objective": "makespan"}])
def test_the_way_round_the_refusal_of_created_objects_in_time_works(more):
    found = solve(declare_press(creates=True).problem(tasks=["publish"], **more))
    assert found.status is Status.UNSUPPORTED
    assert "unused(t)" in found.reason
    assert solve(declare_press(creates=True).problem(tasks=["publish"])).has_plan
    given = {"objects": {"p1": "page"}, "initial": ["unused(p1)"]}
    problem = declare_press(creates=False).problem(tasks=["publish"], **given, **more)
    plan = solve(problem, time_limit=10).expect_plan()
    assert [step.action for step in plan.steps] == ["write", "print"]
    assert validate(problem, plan).valid
