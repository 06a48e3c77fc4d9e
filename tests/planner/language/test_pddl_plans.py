"""Plan files: what is written, what is tolerated, and what is said of mistakes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from planner import read_documents, validate
from planner.errors import PlanError
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.language.pddl.syntax import read_text
from planner.model import Action, Atom, DomainModel, Function, Metric, Object, Problem, Variable
from planner.plan import Plan, Step

X, Y = Variable("?from"), Variable("?to")
DOMAIN = DomainModel(
    "d",
    functions={"far": Function("far", (X, Y))},
    actions={
        "move": Action("move", (X, Y), cost=(1, Atom("far", ("?from", "?to")))),
        "Send Mail": Action("Send Mail", (X,)),
        "wait": Action("wait"),
        "Wait": Action("Wait"),
    },
)
OBJECTS = (Object("a"), Object("B"), Object("the lab"), Object("c"), Object("C"))
PROBLEM = Problem("p", DOMAIN, OBJECTS, values={Atom("far", ("a", "B")): Decimal("1.5"), Atom("far", ("B", "a")): 2})

MOVE, BACK = Step("move", ("a", "B"), Decimal("2.5")), Step("move", ("B", "a"), 3)


def test_written_and_read_back() -> None:
    plan = Plan((MOVE, BACK, Step("Send Mail", ("the lab",), 1), Step("Wait", (), 1), Step("wait", (), 1)), PROBLEM)
    text = write_plan(plan)
    assert text == "(move a B)\n(move B a)\n(send-mail the-lab)\n(Wait)\n(wait)\n; cost = 8.5\n"
    assert read_plan(text, PROBLEM) == plan


def test_the_empty_plan() -> None:
    assert write_plan(Plan((), PROBLEM)) == "; cost = 0\n"
    assert read_plan("; cost = 0\n", PROBLEM).steps == ()


@pytest.mark.parametrize(
    "text",
    [
        "(move a b)\n(move b a)",
        "(MOVE A B)\r\n( move  b   a ) ; back\r\n; cost = 5 (general cost)",
        "\N{ZERO WIDTH NO-BREAK SPACE};; found\n\n(move a b)(move b a)",
        "0: (move a b) [1]\n1: (move b a) [1]",
        "0.000: (MOVE A B) [1.000]\n1.001:(move b a)[0.5]",
        "1. (move a b)\n2) (move b a)",
        "step    0: MOVE A B\n        1: MOVE B A [1]",
    ],
)
def test_what_other_planners_print(text: str) -> None:
    assert read_plan(text, PROBLEM).steps == (MOVE, BACK)


def test_by_length_each_step_costs_one() -> None:
    problem = Problem("p", DOMAIN, OBJECTS, metric=Metric.LENGTH)
    assert read_plan("(move a b)", problem).cost == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(mvoe a b)", "f:1:2: the problem has no action 'mvoe'; did you mean 'move'?"),
        ("(zzz)", "f:1:2: the problem has no action 'zzz'; check that the plan belongs to this problem"),
        ("\n ( move a)", "f:2:4: 'move' has 1 argument here, expected 2; it is declared as move(from, to)"),
        ("(wait a b)", "f:1:2: 'wait' has 2 arguments here, expected 0; it is declared as wait()"),
        ("0: (move a bb)", "f:1:12: the problem has no object 'bb'; did you mean 'B'?"),
        ("(move a the lab)", "f:1:2: 'move' has 3 arguments here, expected 2; it is declared as move(from, to)"),
        ("(WAIT)", "f:1:2: the action 'WAIT' may be 'wait' or 'Wait'; write it as it is declared"),
        (
            "move a b",
            "f:1:1: found 'move a b', expected a step such as '(move a b)'; each line is one step in parentheses",
        ),
        (
            "(move a b",
            "f:1:1: found '(move a b', expected a step such as '(move a b)'; close the parenthesis on the same line",
        ),
        ("(wait) )", "f:1:8: found ')', expected a step such as '(move a b)'; each line is one step in parentheses"),
        ("()", "f:1:2: found an empty step, expected an action with its arguments; name the action"),
        ("3: [1]", "f:1:3: found an empty step, expected an action with its arguments; name the action"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        read_plan(text, PROBLEM, "f")
    assert str(caught.value) == message


def test_a_missing_plan_file_is_a_mistake_in_the_plan(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="there is no such file"):
        read_text(tmp_path / "plan", PlanError)


WEIGHED = """\
domain: d
types: {item: object, box: object}
functions: {w: {parameters: {x: item}}, level: {}}
actions:
  do: {parameters: {x: item}, provides: ["made(x)"], cost: "w(x)", DECLARED}
---
problem: p
objects: {a: item, b: box}
values: {"w(a)": 1, level: 0}
goal: ["made(a)"]
"""


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ('modifies: ["level += w(x)"]', "objective: cost"),
        ('duration: "w(x)"', "objective: makespan"),
        ("description: x", ""),
    ],
)
def test_a_step_of_a_wrong_type_is_a_step_of_an_invalid_plan(declared: str, asked: str) -> None:
    """Costs of steps are computed as the plan is read: there is none for an object of another type."""
    (problem,) = read_documents(WEIGHED.replace("DECLARED", declared) + asked).problems
    assert isinstance(problem, Problem)
    assert validate(problem, read_plan("0: (do a) [1]", problem)).valid
    verdict = validate(problem, read_plan("0: (do b) [1]", problem))
    assert (verdict.valid, verdict.failing_step) == (False, 1)
    assert "its argument 'b' is of type box, but ?x wants item" in verdict.reason
