"""What the search without grounding makes of each construct, and what it leaves to others."""

import pytest

from htn.language.hddl import parse_domain, parse_problem
from htn.lifted.compiled_problem import compile_problem, plan_by
from htn.lifted.depth_first import DepthFirst
from htn.lifted.generated_code import Unfit
from htn.verification.plan_verification import validate
from planner.errors import UnsupportedError
from planner.plan import Status
from planner.solve import solve

DOMAIN = """
(define (domain lamps)
  (:types lamp room - object hall - room)
  (:constants main - hall)
  (:predicates (in ?l - lamp ?r - room) (lit ?l - lamp) (dark ?r - room) (seen ?r - room) (next ?r ?s - room) %(more)s)
  (:task light-all :parameters ())
  (:task light :parameters (?r - room))
  (:task go :parameters (?r - room))
  %(method)s
  (:method nothing-left :parameters () :task (light-all)
    :precondition (forall (?l - lamp) (lit ?l)) :ordered-subtasks ())
  (:method one-more :parameters (?r - room) :task (light-all)
    :precondition (exists (?l - lamp) (and (in ?l ?r) (not (lit ?l))))
    :ordered-subtasks (and (light ?r) (light-all)))
  (:method by-switch :parameters (?r - (either hall room)) :task (light ?r)
    :precondition (or (dark ?r) (not (= ?r main))) :ordered-subtasks (and (switch ?r) (look main ?r)))
  (:action switch :parameters (?r - room)
    :effect (and (not (dark ?r)) (forall (?l - lamp) (when (in ?l ?r) (lit ?l))) (when (dark main) (seen ?r))))
  (:action look :parameters (?h - hall ?r - room) :precondition (imply (dark ?r) (seen ?r)) :effect (seen ?r))
  %(rest)s)
"""
PROBLEM = """
(define (problem evening) (:domain lamps)
  (:objects one two three - lamp cellar attic - room)
  (:htn :parameters () :ordered-subtasks (and (light-all)))
  (:init (in one main) (in two cellar) (in three cellar) (dark cellar) (dark main))
  %s)
"""


def problem(goal="(:goal (and))", **parts):
    text = DOMAIN % {"more": "", "method": "", "rest": "", **parts}
    return parse_problem(PROBLEM % goal, parse_domain(text))


def plan_of(given, *, backwards=False):
    made = compile_problem(given, backwards=backwards)
    search = DepthFirst(made)
    for _ in search.steps():
        pass
    return plan_by(search.ways, made, given)


@pytest.mark.parametrize("backwards", [False, True])
def test_quantifiers_conditional_effects_constants_and_several_types(backwards):
    given = problem()
    plan = plan_of(given, backwards=backwards)
    assert validate(given, plan).valid
    assert len(plan) == 4


def test_what_puts_the_goal_out_of_reach_is_not_tried():
    given = problem("(:goal (seen attic))")
    assert compile_problem(given).goals == 1
    ways = DepthFirst(compile_problem(given))
    for _ in ways.steps():
        pass
    assert not ways.ways, "no task looks into the attic, which has no lamps: nothing is left to try"


def test_indexes_follow_what_changes():
    given = problem(
        "(:goal (lit two))",
        method="""(:method carry :parameters (?r - room ?l - lamp ?s - room) :task (go ?r)
          :precondition (and (in ?l ?s) (next ?s ?r)) :ordered-subtasks (and (bring ?l ?s ?r) (go ?r)))
        (:method there :parameters (?r - room) :task (go ?r)
          :precondition (not (exists (?l - lamp ?s - room) (and (in ?l ?s) (next ?s ?r)))) :ordered-subtasks ())
        (:method carry-first :parameters (?r - room) :task (light-all)
          :precondition (and (not (next ?r main)) (dark ?r) (not (= ?r main)))
          :ordered-subtasks (and (open ?r main) (go main) (light main)))""",
        rest="""(:action open :parameters (?r ?s - room) :effect (next ?r ?s))
        (:action bring :parameters (?l - lamp ?s ?r - room) :precondition (and (in ?l ?s) (next ?s ?r))
          :effect (and (in ?l ?r) (not (in ?l ?s))))""",
    )
    plan = plan_of(given)
    assert validate(given, plan).valid
    assert [step.action for step in plan.steps] == ["open", "bring", "bring", "switch", "look"]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"more": "(bright ?r - room)", "rest": "(:derived (bright ?r - room) (not (dark ?r)))"}, "derived"),
        (
            {"method": "(:method many :parameters ({}) :task (light-all) :precondition (and {}) :ordered-subtasks ())"},
            "loops",
        ),
    ],
    ids=["axioms", "loops"],
)
def test_what_it_does_not_take_is_left_to_others(parts, reason):
    names = [f"?r{number}" for number in range(20)]
    atoms = " ".join(f"(next main {name})" for name in names)
    given = problem(
        **{name: text.format(" ".join(f"{each} - room" for each in names), atoms) for name, text in parts.items()}
    )
    with pytest.raises(Unfit, match=reason):
        compile_problem(given)
    with pytest.raises(UnsupportedError, match=f"{reason}.* in depth-first search"):
        solve(given, search="depth-first")
    result = solve(given, mode="first", time_limit=30)
    assert result.status in (Status.SOLVED, Status.OPTIMAL)
    assert validate(given, result.plan).valid


def test_quantifiers_that_are_nested_deep():
    alike = chained = "(dark main)"
    for depth in range(20, 0, -1):
        alike = f"(forall (?l - lamp) (or (lit ?l) {alike}))"
        chained = f"(forall (?r{depth} - room) (or (next ?r{depth - 1} ?r{depth}) {chained}))"
    given = problem(f"(:goal (not {alike.replace('lit ?l', 'in ?l attic')}))")
    assert validate(given, plan_of(given)).valid
    with pytest.raises(Unfit, match="conditions about more than 1,000,000 combinations of objects"):
        compile_problem(problem(f"(:goal (forall (?r0 - room) {chained}))"))
