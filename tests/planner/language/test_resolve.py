"""Whatever way a problem is made, its names are looked up once before it is searched."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domains.travel import couple
from planner import (
    Domain,
    Limits,
    Plan,
    Step,
    candidates,
    check_problem,
    compile_object_creation,
    decide,
    done,
    evaluate,
    executions,
    expected_costs,
    explain_plan,
    explain_unsolvable,
    k_best,
    load,
    mandatory,
    mend,
    never,
    solve,
    undo,
)
from planner.errors import InputError
from planner.lightweight import replace
from planner.model.actions import Action, Constraint, ConstraintKind, Done
from planner.model.domain import DomainModel
from planner.model.formulas import TRUE, Atom, Object, Variable
from planner.model.problem import Goal, Problem, SoftGoal
from planner.plan import Status
from planner.repair.patching import patch
from planner.validation.validate import validate

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
    "ran: None is no list of actions": {"ran": None},
    "ran: 'b' is no list of actions": {"ran": "b"},
    "ran: 3 is no action": {"ran": (3,)},
    "goal: None is no tuple of soft goals": {"goal": Goal(TRUE, None)},  # type: ignore[arg-type]
    "goal: 'q' is no soft goal": {"goal": Goal(TRUE, ("q",))},  # type: ignore[arg-type]
    "goal: the condition of the goal is None": {"goal": Goal(None)},  # type: ignore[arg-type]
    "the condition of a soft goal is None": {"goal": Goal(TRUE, (SoftGoal(None, 3),))},  # type: ignore[arg-type]
    "constraints: 'sometime' is no kind of constraint; did you mean 'SOMETIME'?": {
        "constraints": (Constraint("sometime", Done(Atom("b"))),)  # type: ignore[arg-type]
    },
    "3 is no kind of constraint; write ConstraintKind.ALWAYS, or SOMETIME": {
        "constraints": (Constraint(3, Done(Atom("b"))),)  # type: ignore[arg-type]
    },
    "constraints: a constraint is on None; give a condition": {
        "constraints": (Constraint(ConstraintKind.SOMETIME, None),)  # type: ignore[arg-type]
    },
    "constraints: 'b' is no step; write done(": {
        "constraints": (Constraint(ConstraintKind.SOMETIME, Done("b")),)  # type: ignore[arg-type]
    },
    "None cannot name a problem": {"name": None},
    "'' cannot name a problem": {"name": ""},
    r"'a\x1b' cannot name a problem": {"name": "a\x1b"},
    "entities are None; give a mapping": {"entities": None},
    "is of the unknown type 'y'": {"objects": (Object("o1", ("y",)),)},
    "object 'o1' is there twice": {"objects": (Object("o1", ("x",)), Object("o1", ("x",)))},
    "7 is no object": {"objects": (7,)},
    "the domain is": {"domain": 7},
    "domain 'd', actions: None are no actions; give a mapping from names to Action(…)": {
        "domain": replace(declared().domain, actions=None)
    },
    "domain 'd', actions: 7 is none of the actions; each is an Action": {
        "domain": replace(declared().domain, actions={"a": 7})
    },
    "argument 1 of p(z) is of type 'y', but predicate 'p' takes 'x', declared at domain 'd'": {
        "domain": replace(
            declared().domain,
            types={"x": ("object",), "y": ("object",)},
            actions={"a": Action("a", (Variable("?z", ("y",)),), provides=(Atom("p", ("?z",)),))},
        )
    },
}


STEPS = (Step("a", ("o1",)),)
SEARCHES: dict[str, Callable[[Any], object]] = {
    "solve": solve,
    "decide": decide,
    "k_best": lambda problem: k_best(problem, 2),
    "candidates": candidates,
    "explain_unsolvable": lambda problem: explain_unsolvable(problem, Limits(5)),
    "explain_plan": lambda problem: explain_plan(problem, Plan(STEPS, problem)),
    "patch": lambda problem: patch(problem, STEPS),
    "mend": lambda problem: mend(problem, STEPS),
    "undo": lambda problem: undo(problem, (), ()),
    "evaluate": lambda problem: evaluate(problem, lambda *_: None),  # type: ignore[arg-type,misc]
    "executions": lambda problem: list(executions(problem, lambda *_: None, 1)),  # type: ignore[arg-type,misc]
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("message", MISTAKES)
def test_names_that_mean_nothing_are_mistakes_and_no_proofs(message: str, search: str) -> None:
    problem = replace(declared(), **MISTAKES[message])
    with pytest.raises(InputError) as refused:
        SEARCHES[search](problem)
    assert message in str(refused.value)


TAKING_CLASSICAL: dict[str, Callable[[Any], object]] = {
    **{name: SEARCHES[name] for name in ("explain_unsolvable", "explain_plan", "undo")},
    "compile_object_creation": lambda problem: compile_object_creation(problem, 2).problem,
    "expected_costs": expected_costs,
    "check_problem": check_problem,
}
INSTEAD = {
    "explain_unsolvable": "htn.problem_kind.explain_unsolvable(problem, limits) explains it",
    "explain_plan": "htn.problem_kind.explain_plan(problem, plan) explains it",
    "check_problem": "htn.problem_kind.check(problem, limits) checks it",
}


@pytest.mark.parametrize("asked", TAKING_CLASSICAL)
def test_functions_for_classical_problems_say_what_takes_others(asked: str) -> None:
    with pytest.raises(InputError) as refused:
        TAKING_CLASSICAL[asked](couple())
    hint = INSTEAD.get(asked, "give its classical part: problem.classical")
    assert str(refused.value) == f"'couple' is a HtnProblem; {asked} takes classical problems; {hint}"
    with pytest.raises(InputError) as refused:
        TAKING_CLASSICAL[asked](None)
    assert str(refused.value) == "expected a problem, got None; load(…) and domain.problem(…) give one"


def test_explanations_are_of_plans() -> None:
    with pytest.raises(InputError, match=r"a tuple is no plan; solve\(problem\)\.expect_plan\(\)"):
        explain_plan(declared(), STEPS)  # type: ignore[arg-type]


def test_mending_and_undoing_read_texts() -> None:
    problem = replace(declared(), goal="p(o1)")
    mended = mend(problem, STEPS)
    assert mended.status is Status.OPTIMAL
    assert mended.steps is not None
    assert validate(declared(), mended.steps).valid
    undone = undo(problem, (), ())
    assert (undone.status, undone.steps) == (Status.OPTIMAL, ())


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
        assert replace(problem, name="other").unsealed == ("name",)
        assert replace(problem, unmentioned=()).unsealed == ()
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
    assert validate(asked, found.steps).valid
    assert not validate(asked, ()).valid
    with pytest.raises(InputError, match="no predicate 'zz'"):
        patch(replace(declared(), goal=Goal(Atom("zz"))), [])


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("done(o1)", ""),
        ("foo", ""),
        ("mad(o1)", "did you mean 'made'"),
        ("do(o1)", "has no predicate 'do'"),
    ],
)
def test_a_stated_fact_that_the_domain_lacks_is_refused_only_for_a_name_that_could_be_meant(
    fact: str, expected: str
) -> None:
    """A name that is like that of an action alone is no reason: whole contexts are handed over."""
    domain = Domain("d", types=["thing"])
    domain.action("do", {"x": "thing"}, provides="made(x)")
    given: dict[str, Any] = {"objects": {"o1": "thing"}, "initial": [fact], "goal": "made(o1)"}
    if expected:
        with pytest.raises(InputError, match=expected):
            domain.problem(**given)
        return
    problem = domain.problem(**given)
    assert [str(each) for each in problem.unmentioned] == [fact]
    assert validate(problem, solve(problem).expect_plan()).valid
