"""Variables that share a name but not a scope stay apart, and scopes are no wider than what uses their variables."""

from __future__ import annotations

import itertools

import pytest

from planner.compilations.normal_form import to_negation_normal_form
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model.actions import Action, When
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import FALSE, TRUE, And, Atom, Exists, Forall, Formula, Not, Object, Or, Variable
from planner.model.problem import Goal, Problem
from planner.semantics.simulation import Simulation
from planner.task.ground_task import Task

X, Y = Variable("?x"), Variable("?y")


def grounded(action: Action) -> Task:
    predicates = {name: Predicate(name, (X,)) for name in ("p", "q", "r")}
    domain = DomainModel("scopes", predicates=predicates, actions={action.name: action})
    initial = (Atom("p", ("one",)), Atom("q", ("two",)))
    goal = Goal(Atom("r", ("two",)))
    return ground(Problem("scopes", domain, (Object("one"), Object("two")), initial, goal), Limits())


def test_existential_variables_of_a_condition_and_of_an_effect() -> None:
    found = When(Exists((Y,), Atom("q", ("?y",))), (Atom("r", ("two",)),))
    task = grounded(Action("act", (), Exists((Y,), Atom("p", ("?y",))), when=(found,)))
    assert task.unreachable_goal is None
    assert [str(action.step) for action in task.actions] == ["act()"]


def test_a_universal_effect_may_reuse_the_name_of_a_parameter() -> None:
    every = When(Atom("q", ("?x",)), (Atom("r", ("?x",)),), (), (X,))
    task = grounded(Action("act", (X,), Atom("p", ("?x",)), when=(every,)))
    assert task.unreachable_goal is None
    assert [str(action.step) for action in task.actions] == ["act(one)"]


class Counting(Limits):
    """A budget for so many questions."""

    checks = 1000

    def check(self) -> None:
        self.checks -= 1
        assert self.checks > 0, "too much was looked at"


P, Q = Atom("p", ("?x",)), Atom("q", ("?y",))
EVERY_Q, SOME_Q = Forall((Y,), Q), Exists((Y,), Q)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (Forall((X,), Or((P, EVERY_Q))), "(for all ?y: q(?y)) or (for all ?x: p(?x))"),
        (Exists((X,), And((P, EVERY_Q))), "(for all ?y: q(?y)) and (for some ?x: p(?x))"),
        (Exists((X,), Or((P, EVERY_Q))), "(for some ?x: p(?x)) or ((for all ?y: q(?y)) and (for some ?x: (true)))"),
        (Forall((X,), And((P, SOME_Q))), "(for all ?x: p(?x)) and ((for some ?y: q(?y)) or (for all ?x: (false)))"),
        (Not(Forall((X,), Or((P, EVERY_Q)))), "(for some ?y: not q(?y)) and (for some ?x: not p(?x))"),
        (Forall((X,), EVERY_Q), "(for all ?y: q(?y)) or (for all ?x: (false))"),
        (Forall((X,), Or((P, Atom("r", ("two",))))), "for all ?x: (p(?x) or r(two))"),
    ],
    ids=str,
)
def test_what_does_not_use_a_variable_leaves_its_scope(formula: Formula, expected: str) -> None:
    normal = str(to_negation_normal_form(formula, itertools.repeat(0)))
    assert normal.replace("@0", "").replace(" - object", "") == expected


def asked(goal: Formula, *, objects: int = 4) -> Problem:
    predicates = {"z": Predicate("z"), "p": Predicate("p", (X,)), "r": Predicate("r", (X, Y))}
    actions = {
        "win": Action("win", (), TRUE, (Atom("z"),)),
        "mark": Action("mark", (X,), TRUE, (Atom("p", ("?x",)),)),
        "join": Action("join", (X, Y), TRUE, (Atom("r", ("?x", "?y")),)),
    }
    domain = DomainModel("nested", predicates=predicates, actions=actions)
    return Problem("nested", domain, tuple([Object(f"o{n}") for n in range(objects)]), (), Goal(goal))


def alike(depth: int) -> Formula:
    """Return `for all x: p(x) or for all x: p(x) or … z`."""
    return Forall((X,), Or((P, alike(depth - 1) if depth else Atom("z"))))


def chained(depth: int, before: int = 0) -> Formula:
    """Return `for all x1: r(x0, x1) or for some x2: r(x1, x2) and … z`, with a parameter x0."""
    if not depth:
        return Atom("z")
    kind, joined = (Forall, Or) if before % 2 == 0 else (Exists, And)
    atom = Atom("r", (f"?x{before}", f"?x{before + 1}"))
    return kind((Variable(f"?x{before + 1}"),), joined((atom, chained(depth - 1, before + 1))))


NESTED = {"alike": alike(24), "chained": Forall((Variable("?x0"),), chained(24)), "false": Or((alike(24), FALSE))}


@pytest.mark.parametrize("goal", NESTED.values(), ids=NESTED)
def test_conditions_that_are_nested_deep_are_instantiated_once_for_each_binding(goal: Formula) -> None:
    task = ground(asked(goal), Counting())
    assert task.unreachable_goal is None


@pytest.mark.parametrize("goal", NESTED.values(), ids=NESTED)
def test_conditions_that_are_nested_deep_are_decided_once_for_each_binding(goal: Formula) -> None:
    problem = asked(goal)
    assert not Simulation(problem).holds(goal)
    assert Simulation(Problem("won", problem.domain, problem.objects, (Atom("z"),), problem.goal)).holds(alike(24))


def test_whoever_instantiates_conditions_asks_the_budget() -> None:
    every = tuple([Variable(f"?x{place}") for place in range(6)])
    loose = Forall(every, Or(tuple([Atom("p", (each.name,)) for each in every])))
    few, many = Counting(), Counting()
    ground(asked(loose, objects=1), few)
    ground(asked(loose, objects=6), many)
    assert many.checks < few.checks - 6**6 // 5000
