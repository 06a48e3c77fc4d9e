"""Whatever way a problem is made, its names are looked up once before it is searched."""

import copy
import pickle
from pathlib import Path

import pytest

from domains.travel.instances import couple
from planner import Budget, Domain, candidates, decide, done, explain_unsolvable, k_best, load, mandatory, never, solve
from planner.errors import InputError
from planner.model import Action, Atom, Constraint, ConstraintKind, DomainModel, Done, Goal, Object, Problem
from planner.plan import Status
from planner.records import replace
from planner.repair import patch
from planner.validate import validate

ROBOT = """
(define (domain rooms) (:requirements :typing) (:types key-thing place)
  (:predicates (in ?k - key-thing ?p - place) (held ?k - key-thing))
  (:action pickup :parameters (?p - place ?k - key-thing) :precondition (in ?k ?p)
    :effect (and (held ?k) (not (in ?k ?p))))
  (:action putdown :parameters (?p - place ?k - key-thing) :precondition (held ?k)
    :effect (and (in ?k ?p) (not (held ?k)))))
"""
FLOOR = """
(define (problem floor) (:domain rooms) (:objects key0-0 - key-thing f3-1f f0-0f - place)
  (:init (held key0-0)) (:goal (in key0-0 f0-0f)))
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Problem:
    (tmp_path / "d.pddl").write_text(ROBOT)
    (tmp_path / "p.pddl").write_text(FLOOR)
    return load(tmp_path / "d.pddl", tmp_path / "p.pddl")


def declared() -> Problem:
    domain = Domain("d", types=["x"])
    domain.action("a", {"o": "x"}, provides=["p(o)"])
    domain.action("b", provides=["q"])
    return domain.problem(objects={"o1": "x"}, goal=["p(o1)"])


def test_demands_are_read_whatever_the_problem_came_from(loaded: Problem) -> None:
    asked = replace(loaded, goal=Goal(), constraints=(mandatory("putdown(f3-1f, key0-0)"),))
    found = solve(asked)
    assert (found.status, str(found.plan.steps[0])) == (Status.OPTIMAL, "putdown(f3-1f, key0-0)")
    assert validate(found.plan.problem, found.plan.steps).valid
    found = solve(replace(loaded, constraints=(never(done("putdown(f0-0f, _)")),)))
    assert found.status is Status.UNSOLVABLE
    found = solve(replace(loaded, constraints=(never("in(key0-0, f3-1f)"),)))
    assert found.status is Status.OPTIMAL
    assert [len(each.steps) for each in k_best(replace(loaded, constraints=[mandatory("pickup")]), 1).plans] == [3]
    assert decide(replace(declared(), constraints=(never("q"),))).has_policy


MISTAKES = {
    "no predicate 'zz'": {"goal": Goal(Atom("zz", ("o1",)))},
    "'o9' in p(o9) is no object": {"goal": Goal(Atom("p", ("o9",)))},
    "p gives predicate 'p' no arguments": {"goal": Goal(Atom("p", ()))},
    "initial: 'o9' in p(o9) is no object": {"initial": (Atom("p", ("o9",)),)},
    "constraints: nope: domain 'd' has no action 'nope'": {
        "constraints": (Constraint(ConstraintKind.SOMETIME, Done(Atom("nope", ()))),)
    },
    "a budget of 'money', which no action uses": {"budgets": {"money": 3}},
    "ran: nope: domain": {"ran": (Atom("nope", ()),)},
    "is of the unknown type 'y'": {"objects": (Object("o1", ("y",)),)},
    "object 'o1' is there twice": {"objects": (Object("o1", ("x",)), Object("o1", ("x",)))},
    "7 is no object": {"objects": (7,)},
    "the domain is": {"domain": 7},
}


@pytest.mark.parametrize("search", ["solve", "decide", "k_best", "candidates", "explain_unsolvable"])
@pytest.mark.parametrize("message", MISTAKES)
def test_names_that_mean_nothing_are_mistakes_and_no_proofs(message: str, search: str) -> None:
    problem = replace(declared(), **MISTAKES[message])
    searches = {
        "solve": solve,
        "decide": decide,
        "k_best": lambda problem: k_best(problem, 2),
        "candidates": candidates,
        "explain_unsolvable": lambda problem: explain_unsolvable(problem, Budget(5)),
    }
    with pytest.raises(InputError) as refused:
        searches[search](problem)
    assert message in str(refused.value)


def test_problems_made_by_hand_are_looked_up() -> None:
    domain = declared().domain
    made = Problem("by-hand", domain, (Object("o1", ("x",)),), (), Goal(Atom("p", ("o1",))))
    assert solve(made).status is Status.OPTIMAL
    with pytest.raises(InputError, match="no predicate 'zz'"):
        solve(Problem("by-hand", domain, (), (), Goal(Atom("zz"))))
    broken = DomainModel("broken", actions={"a": Action("a", (), provides=(Atom("p", ("?x",)),))})
    with pytest.raises(InputError, match=r"domain 'broken'"):
        solve(Problem("by-hand", broken, (), (), Goal()))


def test_hierarchical_problems_are_looked_up() -> None:
    problem = couple()
    classical = replace(problem.classical, goal=Goal(Atom("zz")))
    with pytest.raises(InputError, match="no predicate 'zz'"):
        solve(replace(problem, classical=classical))


def test_a_seal_is_broken_by_what_is_replaced_and_by_nothing_else(loaded: Problem) -> None:
    for problem in (loaded, declared()):
        assert problem.unsealed == ()
        assert replace(problem, goal=Goal()).unsealed == ("goal",)
        assert replace(problem, name="other").unsealed == ()
        assert pickle.loads(pickle.dumps(problem)).unsealed == ()
        assert copy.deepcopy(problem).unsealed == ()
        assert problem == replace(problem, seal=())


@pytest.mark.parametrize(
    "goal", [["(or)", "(or (p) (q))"], ["(or (p) (q))", "(or)"], ["(or (or) (and (or) (p)))", "(or (p) (q))"]]
)
def test_parts_that_are_always_false_make_a_goal_that_no_plan_reaches(goal: list[str]) -> None:
    domain = Domain("d")
    domain.action("a", provides=["p"])
    domain.action("b", provides=["q"])
    assert solve(domain.problem(goal=goal)).status is Status.UNSOLVABLE
    found = solve(domain.problem(goal=["(or (or) (p))", "(or (p) (q) (or))"]))
    assert found.status is Status.OPTIMAL
    assert validate(found.plan.problem, found.plan.steps).valid


def test_patches_and_the_checker_read_demands_too() -> None:
    asked = replace(declared(), goal=Goal(), constraints=(mandatory("a(o1)"),))
    found = patch(asked, [])
    assert [str(step) for step in found.steps] == ["a(o1)"]
    plan = solve(asked).expect_plan()
    assert validate(plan.problem, found.steps).valid
    assert not validate(plan.problem, ()).valid
    with pytest.raises(InputError, match="as authors write them"):
        validate(asked, ())
    with pytest.raises(InputError, match="no predicate 'zz'"):
        patch(replace(declared(), goal=Goal(Atom("zz"))), [])
