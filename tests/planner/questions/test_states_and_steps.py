"""States with numbers, steps that leave out what they create, and states that settle unknown facts."""

from __future__ import annotations

import pytest

from planner import Domain, Step
from planner.errors import InputError, PlanError, UnsupportedError
from planner.questions import applicable, first_inapplicable, progress, simplify


@pytest.fixture
def tank():
    domain = Domain("tanks")
    kind = domain.type("tank")
    domain.function("level", kind)
    domain.action("pour", {"x": kind}, requires=["level(x) >= 2", "open(x)"], modifies=["level(x) -= 2"])
    values = {"level(a)": 1, 'level("o 7")': 5}
    return domain.problem(objects={"a": kind, "o 7": kind}, initial=["open(a)"], values=values)


@pytest.mark.parametrize(
    "state",
    [
        "open(a), level(a) = 3",
        "(open a) (= (level a) 3)",
        "(= (level a) 2.5)\n(open a)",
        "level(a) == 2; open(a)",
        ["open(a)", "level(a) = 3"],
        ["(open a)", "(= (level a) 3)"],
    ],
)
def test_a_state_has_values_of_numbers(tank, state) -> None:
    assert applicable(tank) == ()
    assert [str(step) for step in applicable(tank, state)] == ["pour(a)"]
    assert progress(tank, "pour(a)", state).positive == ()


def test_numbers_that_a_state_leaves_out_keep_their_values(tank) -> None:
    assert [str(step) for step in applicable(tank, 'open("o 7")')] == ['pour("o 7")']
    assert applicable(tank, 'open("o 7"), level("o 7") = 1') == ()


def test_numbers_that_the_problem_does_not_have_are_refused(tank) -> None:
    with pytest.raises(InputError, match="no function 'levle'"):
        applicable(tank, "open(a), levle(a) = 3")
    with pytest.raises(InputError, match="an object 'z'"):
        applicable(tank, "(= (level z) 3)")


def test_steps_may_leave_out_what_they_create() -> None:
    domain = Domain("press")
    paper = domain.type("paper")
    domain.action("draft", provides=["written(new)"], creates={"new": paper})
    domain.action("print", {"x": paper}, requires=["written(x)"], provides=["printed(x)"])
    problem = domain.problem(goal="(exists (?x - paper) (printed ?x))")
    (step,) = applicable(problem)
    for text in (step, str(step), "draft()", "(draft)", "draft"):
        found = progress(problem, text)
        assert (str(found.step), [str(x) for x in found.positive]) == (str(step), [f"written({step.arguments[0]})"])
        assert found.negative == ()
    assert first_inapplicable(problem, ["draft()", "draft()", "print(new-paper-2)"]) is None
    assert first_inapplicable(problem, "draft(memo), draft(), print(memo)") is None
    assert first_inapplicable(problem, "draft(memo), draft(memo)").index == 1


def test_a_state_settles_unknown_facts() -> None:
    domain = Domain("doors")
    domain.action("enter", requires=["open"], provides=["inside"])
    problem = domain.problem(goal=["inside"], unknown=["open"])
    with pytest.raises(UnsupportedError, match="`state`"):
        simplify(problem, [Step("enter")])
    assert simplify(problem, [Step("enter")], "open").kept == (0,)
    with pytest.raises(PlanError, match="requires open"):
        simplify(problem, [Step("enter")], [])
