"""Questions about a small domain: what is asked and answered in the words of the input, and what is refused."""

from __future__ import annotations

import pytest

from planner import (
    Domain,
    InputError,
    PlanError,
    Problem,
    UnsupportedError,
    load,
    questions,
    read_documents,
    validate,
)
from planner.plan import Status, Step, StoppedBy

DOMAIN = """(define (domain Harbor) (:requirements :strips :typing)
  (:types Car Pier)
  (:predicates (At ?c - Car ?p - Pier) (Here ?p - Pier) (On ?c - Car) (Empty) (Lane ?a ?b - Pier))
  (:action Sail :parameters (?a ?b - Pier)
    :precondition (and (Here ?a) (Lane ?a ?b)) :effect (and (Here ?b) (not (Here ?a))))
  (:action Board :parameters (?c - Car ?p - Pier)
    :precondition (and (At ?c ?p) (Here ?p) (Empty)) :effect (and (On ?c) (not (At ?c ?p)) (not (Empty))))
  (:action Leave :parameters (?c - Car ?p - Pier)
    :precondition (and (On ?c) (Here ?p)) :effect (and (At ?c ?p) (Empty) (not (On ?c)))))"""
PROBLEM = """(define (problem one) (:domain Harbor)
  (:objects Beetle Mini - Car North South Isle - Pier)
  (:init (At Beetle North) (At Mini South) (Here North) (Empty) (Lane North South) (Lane South North))
  (:goal (At Beetle South)))"""
YAML = """
domain: harbor
types: [Car, Pier]
actions:
  sail:
    parameters: {here: Pier, there: Pier}
    requires: ["Here(here)"]
    provides: ["Here(there)"]
    modifies: ["Here(_)"]
---
problem: one
domain: harbor
objects: {North: Pier, South: Pier}
initial: ["Here(North)"]
goal: ["Here(South)"]
"""


@pytest.fixture(scope="module")
def harbor():
    return load(DOMAIN, PROBLEM)


def spelled(problem, items):
    return [questions.spell(problem, item) for item in items]


def test_steps_are_written_as_the_file_writes_them(harbor):
    assert spelled(harbor, questions.applicable(harbor)) == ["(Sail North South)", "(Board Beetle North)"]


def test_answers_about_yaml_are_in_our_notation():
    problem = load(YAML)
    assert spelled(problem, questions.applicable(problem)) == ["sail(North, North)", "sail(North, South)"]
    assert questions.progress(problem, "sail(North, South)").to_dict() == {
        "step": "sail(North, South)",
        "positive": ["Here(South)"],
        "negative": ["Here(North)"],
    }


def test_a_state_takes_the_place_of_the_initial_one_and_what_never_changes_stays(harbor):
    for state in ("(here south) (ON mini)", ["Here(South)", "on(mini)"]):
        assert spelled(harbor, questions.applicable(harbor, state)) == ["(Sail South North)", "(Leave Mini South)"]


def test_progress_gives_real_changes_only(harbor):
    found = questions.progress(harbor, "(board beetle north)")
    assert spelled(harbor, found.positive) == ["(On Beetle)"]
    assert spelled(harbor, found.negative) == ["(At Beetle North)", "(Empty)"]
    assert str(found) == "(Board Beetle North)\n+ (On Beetle)\n- (At Beetle North)\n- (Empty)"


def test_a_step_that_cannot_be_taken_is_refused_with_its_condition(harbor):
    with pytest.raises(PlanError, match=r"\(Sail South North\) cannot be taken: it requires \(Here South\)"):
        questions.progress(harbor, "(sail south north)")


def test_all_that_is_unreachable_is_found_in_one_call(harbor):
    found = questions.reachable_facts(harbor)
    assert spelled(harbor, found.unreachable) == ["(At Beetle Isle)", "(At Mini Isle)", "(Here Isle)"]
    assert not found.unknown
    assert found.stopped_by is StoppedBy.EXHAUSTED
    steps = questions.reachable_steps(harbor, steps=["(sail north isle)", "(board mini north)"])
    assert [str(each).partition(" (n")[0].partition(" (a")[0] for each in steps.answers] == [
        "(Sail North Isle): unreachable",
        "(Board Mini North): reachable",
    ]


def test_a_mutex_shows_that_no_car_is_on_an_empty_ferry():
    action = "(:action Doubt :parameters (?c - Car) :precondition (and (On ?c) (Empty)) :effect (Odd)))"
    problem = load(DOMAIN.replace("(Empty) (Lane", "(Empty) (Odd) (Lane")[:-1] + action, PROBLEM)
    (fact,) = questions.reachable_facts(problem, facts=["(odd)"]).answers
    assert fact.reachable is False
    (step,) = questions.reachable_steps(problem, steps=["(doubt mini)"]).answers
    assert step.reachable is False


def test_an_action_without_effect_is_reachable():
    text = DOMAIN[:-1] + "(:action Wait :parameters () :precondition (Empty) :effect (Empty)))"
    problem = load(text, PROBLEM)
    (answer,) = questions.reachable_steps(problem, steps=["(wait)"]).answers
    assert answer.reachable is True


def test_landmarks_have_proofs_and_say_whether_they_are_causal(harbor):
    found = questions.fact_landmarks(harbor)
    assert found.status is Status.SOLVED
    assert {str(each).partition(" (w")[0] for each in found.nontrivial} == {
        "(On Beetle): causal",
        "(Here South): causal",
    }
    assert validate(harbor, found.plan).valid
    assert found.judge(questions.read_fact(harbor, "(on beetle)")) is True
    assert found.judge(questions.read_fact(harbor, "(on mini)")) is False


def test_a_landmark_that_no_step_needs_is_not_causal():
    text = DOMAIN.replace("(On ?c) (not (At ?c ?p))", "(On ?c) (Horn) (not (At ?c ?p))").replace(
        "(Empty) (L", "(Empty) (Horn) (L"
    )
    problem = load(text, PROBLEM)
    found = {
        questions.spell(problem, each.fact): each.is_causal for each in questions.fact_landmarks(problem).nontrivial
    }
    assert found == {"(On Beetle)": True, "(Here South)": True, "(Horn)": False}


def test_without_a_plan_there_are_no_landmarks():
    found = questions.fact_landmarks(
        load(DOMAIN, PROBLEM.replace("(goal", "(goal").replace("(At Beetle South)))", "(Here Isle)))"))
    )
    assert found.status is Status.UNSOLVABLE
    assert found.landmarks == ()


PLAN = """(board beetle north) (leave beetle north) (board beetle north)
(sail north south) (leave beetle south) (sail south north)"""


def test_a_plan_is_simplified_alone_in_pairs_and_at_once(harbor):
    found = questions.simplify(harbor, PLAN)
    assert found.removals == ((0, 1), (1, 2), (5,))
    assert found.is_least
    assert (len(found.kept), found.saved) == (3, 3)
    for removal in found.removals:
        assert validate(harbor, found.plan_without(removal).steps).valid
    assert validate(harbor, found.plan).valid


def test_what_is_no_plan_is_not_simplified(harbor):
    with pytest.raises(PlanError, match="no plan that could be simplified"):
        questions.simplify(harbor, "(sail north south)")


def test_the_first_step_that_cannot_be_taken_has_an_index_from_0(harbor):
    found = questions.first_inapplicable(harbor, "(board beetle north)\n(leave mini north)")
    assert (found.index, found.reason) == (1, "it requires (On Mini), which does not hold")
    assert questions.first_inapplicable(harbor, PLAN) is None


def test_all_optimal_first_steps_are_given_with_the_cost(harbor):
    found = questions.optimal_first_steps(harbor)
    assert (found.status, found.cost) == (Status.OPTIMAL, 3)
    assert spelled(harbor, found.steps) == ["(Board Beetle North)"]
    assert questions.optimal_first_steps(harbor, "(at beetle south)").steps == ()


def test_a_limit_leaves_answers_unknown_and_never_wrong(harbor):
    facts = questions.reachable_facts(harbor, time_limit=0)
    assert facts.stopped_by is StoppedBy.TIME
    assert not facts.unreachable
    assert questions.fact_landmarks(harbor, time_limit=0).status is Status.UNKNOWN
    assert questions.optimal_first_steps(harbor, time_limit=0).status is Status.UNKNOWN
    simple = questions.simplify(harbor, PLAN, time_limit=0)
    assert not simple.is_least
    assert validate(harbor, simple.plan).valid


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: questions.applicable(p, "(att mini south)"), "no predicate 'att'; did you mean 'At'"),
        (lambda p: questions.applicable(p, ["(at mini)"]), r"\(At Mini\) has 1 arguments, expected 2"),
        (lambda p: questions.applicable(p, ["(at mini beetle)"]), "'Beetle' is of type Car, expected Pier"),
        (lambda p: questions.applicable(p, "(at mini moon)"), "names an object 'moon', and there is none"),
        (lambda p: questions.applicable(p, "(at mini south) oops"), "found 'oops' outside"),
        (lambda p: questions.applicable(p, 7), "a state is a list of facts, not an int"),
        (lambda p: questions.progress(p, "(fly north)"), "no action 'fly'"),
        (lambda p: questions.progress(p, None), "expected a step, got None"),
        (lambda p: questions.reachable_facts(p, facts="(on mini)"), "expected several"),
        (lambda p: questions.simplify(p, ["(sail north south)", "(sail)"]), r"step 2: \(Sail\) has 0 arguments"),
        (lambda _: questions.applicable("courier"), "expected a problem, got a str"),
        (lambda p: questions.reachable_facts(p, time_limit=-1), "the time limit must be"),
    ],
)
def test_mistakes_are_told_in_the_words_of_the_file(harbor, ask, message):
    with pytest.raises(InputError, match=message):
        ask(harbor)


def test_unknown_facts_are_refused():
    problem = load(
        YAML.replace('goal: ["Here(South)"]', 'unknown: ["Here(_)"]\ngoal: ["Here(South)"]').replace(
            'initial: ["Here(North)"]\n', ""
        )
    )
    with pytest.raises(UnsupportedError, match="unknown"):
        questions.reachable_facts(problem)


def test_questions_about_all_states_refuse_what_search_does_not_see_whole():
    outcomes = """    outcomes:
      - {probability: 0.5, provides: ["Here(here)"]}
      - {probability: 0.5, provides: ["Here(there)"]}
    modifies:"""
    problem = load(YAML.replace("    modifies:", outcomes))
    assert questions.applicable(problem)
    for ask in (questions.reachable_facts, questions.fact_landmarks):
        with pytest.raises(UnsupportedError, match="in questions about all states"):
            ask(problem)
    assert questions.optimal_first_steps(problem).status is Status.OPTIMAL


def test_a_plan_is_simplified_whose_costs_are_functions_of_the_parameters() -> None:
    text = """
domain: store
types: {crate: object}
functions: {weight: {parameters: {c: crate}}}
actions:
  lift: {parameters: {c: crate}, provides: ["lifted(c)"], cost: "weight(c)"}
---
problem: p
objects: {big: crate, small: crate}
values: {"weight(big)": 7, "weight(small)": 2}
goal: ["lifted(small)"]
"""
    (problem,) = read_documents(text).problems
    wasteful = [Step("lift", ("big",), 7), Step("lift", ("small",), 2)]
    found = questions.simplify(problem, wasteful)
    assert [found.given[place] for place in found.kept] == wasteful[1:]


def wishes() -> Problem:
    domain = Domain("wishes")
    domain.action("a", provides=["x"], cost=2)
    domain.action("b", provides=["y"], cost=2)
    domain.action("c", provides=["z"], cost=1)
    return domain.problem(goal={"hard": "x", "soft": {"y": 5}})


def test_first_steps_and_simplified_plans_look_at_soft_goals() -> None:
    first = questions.optimal_first_steps(wishes())
    assert (first.status, first.cost, [step.action for step in first.steps]) == (Status.OPTIMAL, 4, ["a", "b"])
    simpler = questions.simplify(wishes(), "a() c() b()")
    assert [step.action for step in simpler.plan.steps] == ["a", "b"]


def test_plans_are_not_simplified_where_numbers_count() -> None:
    domain = Domain("numbers")
    domain.function("x", low=0, high=20)
    domain.action("inc", modifies=["x += 3"], provides=["done"])
    problem = domain.problem(initial=["x = 0"], goal=["done"], objective="-x")
    with pytest.raises(UnsupportedError, match="numbers, such as 'x'"):
        questions.simplify(problem, "inc()")
