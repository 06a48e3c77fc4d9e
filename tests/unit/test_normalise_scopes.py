"""Variables of one action that share a name but not a scope stay apart in the ground task."""

from __future__ import annotations

from planner.budget import Budget
from planner.grounding import ground
from planner.model import Action, Atom, DomainModel, Exists, Goal, Object, Predicate, Problem, Variable, When
from planner.task import Task

X, Y = Variable("?x"), Variable("?y")


def grounded(action: Action) -> Task:
    predicates = {name: Predicate(name, (X,)) for name in ("p", "q", "r")}
    domain = DomainModel("scopes", predicates=predicates, actions={action.name: action})
    initial = (Atom("p", ("one",)), Atom("q", ("two",)))
    goal = Goal(Atom("r", ("two",)))
    return ground(Problem("scopes", domain, (Object("one"), Object("two")), initial, goal), Budget())


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
