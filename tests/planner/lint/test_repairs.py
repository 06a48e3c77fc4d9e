"""Single changes that give a model without a plan one: told at the slip, and never of a model that has a plan."""

from __future__ import annotations

import pytest

from planner.explain.single_repairs import list_repairs
from planner.language.loading.load import load
from planner.lint.check_files import check_texts
from planner.lint.findings import Finding, Level
from planner.lint.outlines import SourceText
from planner.model.formulas import functions_in, is_variable
from planner.model.problem import Problem
from planner.plan import Status
from planner.solve import solve

BAKERY = """\
domain: bakery
types: {baker: object, place: object, loaf: object}
functions:
  flour: {low: 0, high: 20}
actions:
  walk:
    parameters: {b: baker, a: place, c: place}
    requires: ["at(b, a)", "way(a, c)"]
    provides: ["at(b, c)"]
    modifies: ["at(b, _)"]
  buy:
    parameters: {b: baker}
    requires: ["at(b, mill)", "not rainy"]
    modifies: ["flour += 10"]
  knead:
    parameters: {b: baker, l: loaf}
    requires: ["at(b, house)", "flour >= 6", "not kneaded(l)"]
    provides: ["kneaded(l)"]
    modifies: ["flour -= 6"]
  bake:
    parameters: {b: baker, l: loaf}
    requires: ["at(b, house)", "kneaded(l)"]
    provides: ["baked(l)"]
constants: {mill: place, house: place}
---
problem: morning
objects: {eve: baker, rye: loaf, oat: loaf, field: place}
initial: ["at(eve, house)", "way(house, field)", "way(field, mill)", "way(mill, house)"]
values: {flour: 2}
goal: ["baked(rye)", "baked(oat)"]
"""

TEXTILE = """\
domain: textile
types: {cart: object, yard: object}
actions:
  pull:
    parameters: {c: cart, a: yard, b: yard}
    requires: ["at(c, a)", "rail(a, b)"]
    provides: ["at(c, b)"]
    modifies: ["at(c, _)"]
  fill:
    parameters: {c: cart, y: yard}
    requires: ["at(c, y)", "not full(c)"]
    provides: ["full(c)"]
  tip:
    parameters: {c: cart, y: yard}
    requires: ["at(c, y)", "full(c)"]
    provides: ["heap(y)", "not full(c)"]
tasks:
  bring: {parameters: {c: cart, y: yard}}
methods:
  by_rail:
    task: bring(c, y)
    parameters: {c: cart, x: yard, y: yard}
    requires: ["at(c, x)"]
    subtasks: ["fill(c, x)", "pull(c, x, y)", "tip(c, y)"]
---
problem: one
objects: {c1: cart, pit: yard, mound: yard}
initial: ["at(c1, pit)", "rail(pit, mound)"]
tasks: ["bring(c1, mound)"]
"""


def found(text: str, *changes: tuple[str, str]) -> list[Finding]:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return list(check_texts([SourceText("model.yaml", text)]).findings)


def told(findings: list[Finding]) -> dict[int, str]:
    return {each.span.line: each.message for each in findings if each.rule == "single-repair" and each.span}


@pytest.mark.parametrize("text", [BAKERY, TEXTILE])
def test_nothing_is_told_of_a_model_that_has_a_plan(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('["at(b, mill)", "not rainy"]', '["at(b, mill)", "rainy"]', 13, ""),
        ('"not kneaded(l)"]', '"kneaded(l)"]', 17, "kneaded(l)"),
        ('provides: ["baked(l)"]', 'provides: ["not baked(l)"]', 23, "with 'baked(l)' for 'not baked(l)'"),
        ('"flour -= 6"', '"flour -= 60"', 19, "flour"),
        ('"flour += 10"', '"flour -= 10"', 14, "with 'flour += 10' for 'flour -= 10'"),
        ("goal: [", 'constraints: [{never: "at(eve, mill)"}]\ngoal: [', 30, "without it"),
    ],
    ids=["fact", "negation", "effect", "nought", "sign", "constraint"],
)
def test_a_slip_is_told_at_its_place(old: str, new: str, line: int, words: str) -> None:
    findings = found(BAKERY, (old, new))
    repairs = told(findings)
    assert line in repairs
    assert words in repairs.get(line, "")
    assert [each for each in findings if each.level is Level.ERROR]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"fill(c, x)", "pull(c, x, y)"', '"pull(c, x, y)", "fill(c, x)"', "before"),
        ('"pull(c, x, y)"', '"pull(c, y, x)"', "with 'pull(c, x, y)' for 'pull(c, y, x)'"),
        ('"fill(c, x)", ', "", "fill(c, "),
    ],
    ids=["order", "turned", "left-out"],
)
def test_a_slip_in_a_method_is_told(old: str, new: str, words: str) -> None:
    text = TEXTILE.replace("subtasks: [", "subtasks:\n      [")
    repairs = told(found(text, (old, new)))
    assert any(words in each for each in repairs.values())


def test_the_tasks_of_the_problem_are_not_those_of_the_domain() -> None:
    findings = found(TEXTILE, ('"rail(pit, mound)"', '"rail(mound, pit)"'))
    impossible = [each for each in findings if each.rule == "impossible-task"]
    assert [each.span.line for each in impossible if each.span] == [29] * len(impossible)


def test_each_repair_that_is_told_gives_a_plan_and_the_same_ones_are_told_again() -> None:
    text = BAKERY.replace('"flour += 10"', '"flour -= 10"')
    problem = load(text)
    assert isinstance(problem, Problem)
    repairs = {(each.place, each.words): each for each in list_repairs(problem)}
    first, again = [[each for each in found(text) if each.rule == "single-repair"] for _ in range(2)]
    assert first == again
    for each in first:
        repair = repairs[each.place, each.message.removeprefix("there is a plan ")]
        assert solve(repair.make()).status in {Status.OPTIMAL, Status.SOLVED}


def test_changes_of_numbers_name_what_the_action_has() -> None:
    """What one action does with a product of numbers is no change for an action without its parameters."""
    text = BAKERY.replace("  flour: {low: 0", "  worth: {parameters: {l: loaf}}\n  cash: {low: 0}\n  flour: {low: 0")
    text = text.replace('provides: ["baked(l)"]', 'provides: ["baked(l)"]\n    modifies: ["cash += 5 * worth(l)"]')
    text = text.replace("values: {flour: 2}", "values: {flour: 2, cash: 0, worth(rye): 3, worth(oat): 4}")
    problem = load(text)
    assert isinstance(problem, Problem)
    for repair in list_repairs(problem):
        for action in repair.make().domain.actions.values():
            own = {each.name for each in action.parameters}
            terms = [arg for each in action.numbers for term in functions_in(each.value) for arg in term.args]
            assert {each for each in terms if is_variable(each)} <= own


def test_what_is_too_large_to_explore_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.limits import LimitReached
    from planner.lint import problem_lint
    from planner.plan import StoppedBy

    def stop(*_: object) -> None:
        raise LimitReached(StoppedBy.TIME)

    monkeypatch.setattr(problem_lint, "relax", stop)
    assert [(each.rule, each.level) for each in found(BAKERY)] == [("unexplored", Level.HINT)]
