"""The lab by hand: what tiny problems have, and what is said about odd inputs."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from domains import elevator, stacking
from planner import Domain, Problem, Step, forbidden, lab, load, solve
from planner.errors import InputError, PlanError, UnsupportedError
from planner.heuristics import REGISTRY
from planner.lab import GroundProblem, Order, ground
from planner.model import Atom, Goal, Not

ROOT = Path(__file__).parents[3]


def office(*, goal: str = "with_boss(memo)", **rest) -> Problem:
    """Return the problem of a robot that carries a memo along three rooms; each move costs 1.5, all else 1."""
    domain = Domain("office", types=["robot", "room", "paper"])
    at = {"r": "robot", "x": "room"}
    domain.action(
        "move",
        {**at, "y": "room"},
        requires=["at(r, x)", "door(x, y)"],
        provides=["at(r, y)"],
        modifies=["at(r, _)"],
        cost="1.5",
    )
    domain.action(
        "take", {**at, "p": "paper"}, requires=["at(r, x)", "lies(p, x)"], provides=["has(r, p)", "not lies(p, x)"]
    )
    domain.action(
        "hand_over", {**at, "p": "paper"}, requires=["at(r, x)", "boss(x)", "has(r, p)"], provides=["with_boss(p)"]
    )
    domain.action("dream", {"r": "robot"}, requires=["asleep(r)"], provides=["dreamt(r)"])
    domain.action("sing", {"r": "robot"}, requires=["not sung(r)"], provides=["sung(r)"])
    return domain.problem(
        objects={"r2": "robot", "hall": "room", "lab": "room", "attic": "room", "memo": "paper"},
        initial=[
            *["at(r2, hall)", "door(hall, lab)", "door(lab, hall)", "door(lab, attic)", "door(attic, lab)"],
            *["lies(memo, attic)", "boss(hall)"],
        ],
        goal=[goal],
        **rest,
    )


@pytest.fixture(scope="module")
def task() -> GroundProblem:
    return ground(office())


def test_states_are_read_as_they_are_written(task):
    assert str(task.initial) == "at(r2, hall), lies(memo, attic)"
    assert repr(task.initial) == "<at(r2, hall), lies(memo, attic)>"
    assert [*task.initial] == [Atom("at", ("r2", "hall")), Atom("lies", ("memo", "attic"))]
    for text in ("at(r2, hall)", "(at r2 hall)", " at( r2 ,hall ) ", "not at(r2, lab)", "(not (at r2 lab))"):
        assert text in task.initial
    assert "at(r2, lab)" not in task.initial
    assert Not(Atom("at", ("r2", "hall"))) not in task.initial
    assert task.state(["lies(memo, attic)", "(at r2 hall)"]) == task.initial
    assert task.initial != ground(office()).initial
    assert len({task.initial, task.state(task.initial)}) == 1
    assert str(task.state([])) == "no atom holds"


def test_actions_have_names_conditions_effects_and_costs(task):
    (move,) = task.find_actions("move(r2, hall, lab)")
    assert (move.name, move.arguments, str(move.cost)) == ("move", ("r2", "hall", "lab"), "1.5")
    assert [str(fact) for fact in move.precondition] == ["at(r2, hall)"]
    assert [str(fact) for fact in move.adds] == ["at(r2, lab)"]
    assert [str(fact) for fact in move.deletes] == ["at(r2, hall)"]
    assert move.conditional == ()
    assert move.step == Step("move", ("r2", "hall", "lab"), move.cost)
    assert sorted(map(str, task.actions)) == [
        "hand_over(r2, hall, memo)",
        *("move(r2, attic, lab)", "move(r2, hall, lab)", "move(r2, lab, attic)", "move(r2, lab, hall)"),
        "take(r2, attic, memo)",
    ]


def test_what_does_not_matter_stays_if_the_problem_is_whole(task):
    assert not [action for action in task.actions if action.name == "sing"]
    whole = ground(office(), whole=True)
    assert [str(action) for action in whole.applicable(whole.initial)] == ["move(r2, hall, lab)", "sing(r2)"]
    assert "not sung(r2)" in whole.initial
    assert "sung(r2)" in whole.apply("sing(r2)", whole.initial)


def test_a_plan_is_replayed(task):
    plan = solve(task.problem).expect_plan()
    states = task.replay(plan)
    assert len(states) == len(plan) + 1
    assert task.is_goal(states[-1])
    assert not task.is_goal(states[0])
    assert states == task.replay(plan.steps) == task.replay([str(step) for step in plan.steps])
    assert task.replay([], states[2]) == (states[2],)
    [only] = task.successors(task.initial)
    assert (str(only), only.state) == ("move(r2, hall, lab) [1.5]: at(r2, lab), lies(memo, attic)", states[1])
    with pytest.raises(
        PlanError, match=re.escape("step 2: move(r2, hall, lab) is not applicable in this state; it needs")
    ):
        task.replay(["move(r2, hall, lab)"] * 2)


def test_estimates_are_in_the_units_of_the_problem(task):
    at_start = {name: task.heuristic(name)(task.initial) for name in REGISTRY}
    assert {name: float(value) for name, value in at_start.items()} == {
        "blind": 1.0,
        "goalcount": 1.0,
        "hmax": 5.0,
        "hadd": 5.0,
        "hff": 5.0,
        "lmcut": 5.0,
        "scp": 2.0,
        "scp+lmcut": 5.0,
    }
    assert task.heuristic("hff", unit_costs=True)(task.initial) == 4
    assert solve(task.problem).expect_plan().cost == 8
    assert task.heuristic("hff").prefer(task.initial) == task.find_actions("move(r2, hall, lab)")
    assert task.heuristic("lmcut").prefer(task.initial) == ()
    cuts = task.lmcut()
    assert next(str(each) for each in cuts.landmarks) == "hand_over(r2, hall, memo) [1]"
    assert cuts.estimate == 5


def test_landmarks_are_ordered(task):
    graph = task.landmarks()
    by_name = {str(each): each for each in graph.landmarks}
    assert {*by_name} == {
        *("at(r2, hall)", "at(r2, lab)", "at(r2, attic)", "lies(memo, attic)", "has(r2, memo)", "with_boss(memo)")
    }
    assert [each for each in by_name if by_name[each].is_goal] == ["with_boss(memo)"]
    assert [str(action) for action in by_name["has(r2, memo)"].achievers] == ["take(r2, attic, memo)"]
    assert by_name["at(r2, hall)"].is_initial
    assert not by_name["at(r2, hall)"].achievers
    orders = {(str(each.before), str(each.after)): each.order for each in graph.orderings}
    assert orders["at(r2, attic)", "has(r2, memo)"] is Order.GREEDY_NECESSARY
    assert orders["at(r2, lab)", "has(r2, memo)"] is Order.NATURAL
    assert "has(r2, memo) before with_boss(memo) (greedy-necessary)" in str(graph)


def test_mutexes_are_found(task):
    assert {frozenset(map(str, group)) for group in task.mutex_groups()} >= {
        frozenset({"at(r2, hall)", "at(r2, lab)", "at(r2, attic)"})
    }
    found = task.h2()
    assert found.solvable
    assert found.complete
    assert found.are_mutex("at(r2, hall)", "at(r2, lab)")
    assert found.are_mutex("lies(memo, attic)", "with_boss(memo)")
    assert not found.are_mutex("at(r2, hall)", "has(r2, memo)")
    assert not task.h2(time_limit=0).complete


def test_a_relaxed_plan_without_actions_is_one(task):
    goal = task.replay(solve(task.problem).expect_plan())[-1]
    assert task.is_goal(goal)
    found = task.relaxed_plan(goal)
    assert len(found) == 0
    assert found


def test_relaxed_plans_are_in_order(task):
    found = task.relaxed_plan(optimal=True)
    assert str(found).splitlines() == [
        *("1. move(r2, hall, lab)", "2. move(r2, lab, attic)", "3. take(r2, attic, memo)"),
        "4. hand_over(r2, hall, memo)",
    ]
    assert (found.cost, found.lower_bound, found.is_optimal, len(found)) == (5, 5, True, 4)
    assert task.relaxed_plan(optimal=True, time_limit=0).lower_bound <= 5


def test_abstractions_of_the_corridor(task):
    [rooms] = [each for each in task.variables if "at(r2, hall)" in map(str, each.values)]
    assert rooms.size == 3
    made = task.projection([rooms])
    assert made == task.projection([rooms.number]) == task.projection(["at(r2, lab)"])
    assert sorted(map(str, made.states)) == ["at(r2, attic)", "at(r2, hall)", "at(r2, lab)"]
    assert len(made.transitions) == 4
    assert {each.distance for each in made.states} == {0}
    carried = task.projection(["with_boss(memo)", "at(r2, lab)"])
    assert {str(each): float(each.distance) for each in carried.states if not each.is_goal} == {
        "at(r2, hall), none": 1,
        "at(r2, lab), none": 2.5,
        "at(r2, attic), none": 4,
    }
    whole = task.projection(task.variables)
    assert whole(task.initial) == 8
    assert whole.find_state(task.initial).distance == 8
    made = task.cartesian(100)
    assert made(task.initial) == 8
    assert task.cartesian(1)(task.initial) <= 8
    assert made.find_state(task.replay(solve(task.problem).expect_plan())[-1]).is_goal


def test_an_unreachable_goal_leaves_the_rest():
    task = ground(office(goal="dreamt(r2)"))
    assert str(task.unreachable_goal) == "dreamt(r2)"
    assert task.goal == (Atom("dreamt", ("r2",)),)
    assert not task.is_goal(task.initial)
    assert len(task.successors(task.initial)) == 2
    for name in REGISTRY:
        if name not in ("blind", "goalcount"):
            assert task.heuristic(name)(task.initial) == math.inf, name
    assert task.relaxed_plan() is None
    assert task.relaxed_plan(optimal=True) is None
    assert task.landmarks().landmarks == ()
    assert task.lmcut().estimate == math.inf
    assert not task.h2().solvable
    assert task.cartesian()(task.initial) == math.inf
    assert task.projection(["dreamt(r2)"])(task.initial) == math.inf


def test_a_negative_goal_may_be_unreachable():
    task = ground(office(goal="not door(hall, lab)"))
    assert str(task.unreachable_goal) == "not door(hall, lab)"
    assert "door(hall, lab)" in task.initial
    assert "not door(hall, lab)" not in task.initial
    assert task.state(task.initial.atoms) == task.initial
    assert not task.is_goal(task.initial)
    assert task.heuristic("hff")(task.initial) == math.inf


def test_a_goal_of_which_no_alternative_is_reachable():
    task = ground(office(goal="(or (asleep r2) (dreamt r2))"))
    assert task.unreachable_goal is not None
    assert str(task.goal[0]) == str(task.unreachable_goal)
    assert not task.is_goal(task.initial)
    assert task.relaxed_plan() is None


def test_a_problem_without_anything():
    task = ground(Domain("nothing").problem(objects={}, initial=[], goal=[]))
    assert (task.facts, task.actions, task.variables, task.goal) == ((), (), (), ())
    assert task.is_goal(task.initial)
    assert task.successors(task.initial) == ()
    assert {name: task.heuristic(name)(task.initial) for name in REGISTRY} == dict.fromkeys(REGISTRY, 0)
    assert task.relaxed_plan(optimal=True).actions == ()
    assert task.landmarks().landmarks == ()
    assert task.h2().solvable
    assert task.cartesian()(task.initial) == 0
    with pytest.raises(InputError, match="the pattern is empty"):
        task.projection([])


def test_axioms_and_conditional_effects_hold_in_states():
    tasks = [ground(problem) for problem in elevator.problems().values()]
    task = next(task for task in tasks if task.derived_facts)
    assert any(action.conditional for each in tasks for action in each.actions)
    for state in task.replay(solve(task.problem).expect_plan()):
        assert all(atom in state for atom in (*state.atoms, *state.derived))
    with pytest.raises(InputError, match="is derived"):
        task.state([next(fact for fact in task.derived_facts if isinstance(fact, Atom))])


@pytest.mark.parametrize("name", ["stacking", "courier", "elevator", "runbook", "assistant"])
def test_plans_of_shipped_domains_are_replayed(name):
    task = ground(name)
    result = solve(task.problem)
    states = task.replay(result.expect_plan())
    assert task.is_goal(states[-1])
    assert task.heuristic("lmcut")(task.initial) <= result.plan.cost


def test_constraints_are_part_of_the_ground_problem():
    task = ground(office(constraints=[forbidden("take")]))
    assert task.unreachable_goal is not None or not solve(task.problem).plan


@pytest.mark.parametrize(
    ("problem", "what"),
    [
        (office(budgets={"cost": 9}), "budgets"),
        (office(deadline=9), "deadlines"),
        (replace(office(), unknown=(Atom("lies", ("memo", "_")),)), "unknown facts"),
        (replace(office(), goal=Goal()), None),
    ],
)
def test_what_one_ground_problem_does_not_express_is_refused(problem, what):
    if what is None:
        assert ground(problem).goal == ()
    else:
        with pytest.raises(UnsupportedError, match=what):
            ground(problem)


@pytest.mark.parametrize("name", ["outing", "helpdesk"])
def test_shipped_problems_with_wishes_or_created_objects_are_refused(name):
    with pytest.raises(UnsupportedError):
        ground(name)


def test_hierarchical_problems_are_ground_without_their_tasks():
    problem = load("travel")
    with pytest.raises(InputError, match=re.escape("ground(problem.classical)")):
        ground(problem)
    task = ground(problem.classical)
    assert task.successors(task.initial)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda t: t.state("at(r2, hall)"), "several atoms"),
        (lambda t: t.state(7), "list of atoms, not an int"),
        (lambda t: t.state(["at(r2, hall)", "at(r2, lab)"]), "no reachable state has both"),
        (lambda t: t.state(["at(r2, hal)"]), re.escape("did you mean 'at(r2, hall)'?")),
        (lambda t: t.state(["door(hall, lab)"]), "is not a fact of this ground problem"),
        (lambda t: t.state(["not at(r2, hall)"]), "is a negation"),
        (lambda t: t.state([7]), "expected a fact, got an int"),
        (lambda t: "at(r2" in t.initial, re.escape("lacks a ')'")),
        (lambda t: "" in t.initial, "an empty text"),
        (lambda t: "a == b" in t.initial, "is an equality"),
        (lambda t: t.successors(None), "expected a state"),
        (lambda t: t.successors(t.initial.bits), "expected a state, got an int"),
        (lambda t: t.successors(ground(office()).initial), "belongs to another ground problem"),
        (lambda t: t.apply(ground(office()).actions[0], t.initial), "belongs to another ground problem"),
        (lambda t: t.apply("fly(r2)", t.initial), "is not an action of this ground problem"),
        (lambda t: t.apply("move(r2, lab, hall)", t.initial), re.escape("it needs at(r2, lab)")),
        (lambda t: t.apply(3, t.initial), "expected an action"),
        (lambda t: t.apply("not move(r2, lab, hall)", t.initial), "is no action"),
        (lambda t: t.replay("move(r2, hall, lab)"), "a plan is a list of steps"),
        (lambda t: t.replay(None), "a plan is a list of steps, not None"),
        (lambda t: t.heuristic("lmcutt"), "did you mean 'lmcut'"),
        (lambda t: t.heuristic(None), "there is no heuristic None"),
        (lambda t: t.heuristic("hff")(ground(office()).initial), "belongs to another ground problem"),
        (lambda t: t.projection([99]), "there is no variable 99"),
        (lambda t: t.projection([True]), "there is no variable True"),
        (lambda t: t.projection([-1]), "there is no variable -1"),
        (lambda t: t.projection("at(r2, hall)"), "a pattern is a list"),
        (lambda t: t.projection(3), "a pattern is a list"),
        (lambda t: t.projection([ground("courier").variables[0]]), "belongs to another ground problem"),
        (lambda t: t.cartesian(0), "must be an integer from 1"),
        (lambda t: t.cartesian("many"), "must be an integer from 1"),
        (lambda t: t.h2(time_limit=-1), "time limit"),
        (lambda t: t.h2().are_mutex("at(r2, hall)", "nothing"), "is not a fact"),
        (lambda _: ground(office(), "p01.pddl"), "the problem comes with its domain"),
        (lambda _: ground(7), "expected a problem"),
        (lambda _: ground("no-such-domain"), "there is no file, folder or shipped domain"),
        (lambda _: ground("courier", "no-such-problem"), "has no problem"),
    ],
)
def test_odd_inputs_are_explained(task, ask, said):
    with pytest.raises(InputError, match=said):
        ask(task)


def test_patterns_that_are_too_large_are_refused():
    task = ground(stacking.generate(seed=1, size=8))
    with pytest.raises(InputError, match="abstract states; at most 100000"):
        task.projection(task.variables)


def test_values_are_frozen(task):
    for value in (task.initial, task.actions[0], task.variables[0], task.landmarks(), task.h2(), task.projection([0])):
        with pytest.raises(AttributeError):
            value.number = 3  # type: ignore[union-attr]


def test_files_are_ground(tmp_path):
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:predicates (p ?x)) "
        "(:action a :parameters (?x) :precondition (not (p ?x)) :effect (p ?x)))"
    )
    (tmp_path / "problem.pddl").write_text("(define (problem q) (:domain d) (:objects b) (:goal (p b)))")
    task = ground(tmp_path / "domain.pddl", str(tmp_path / "problem.pddl"))
    assert repr(task) == "<GroundProblem q: 2 facts, 1 variables, 1 actions>"
    [only] = task.successors(task.initial)
    assert only.cost == 1
    assert task.is_goal(only.state)


def test_importing_planner_does_not_load_the_lab():
    code = "import sys, planner; assert 'planner.lab' not in sys.modules; planner.lab.ground; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "networkx", "unified_planning"} & {*done.stdout.split()}


def test_every_public_name_is_documented():
    page = (ROOT / "docs/reference/lab.md").read_text(encoding="utf-8")
    assert [name for name in lab.__all__ if f"`{name}" not in page and f".{name}" not in page] == []
    classes = [value for name in lab.__all__ if isinstance(value := getattr(lab, name), type) and value is not Order]
    members = {member for each in classes for member in dir(each) if not member.startswith("_")}
    assert len(members) > 50
    assert [member for member in members if f".{member}" not in page] == []
