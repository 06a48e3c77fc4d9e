"""What one action does unlike its likes, guards of numbers, inverses, lists with something twice, units and moments."""

from __future__ import annotations

import pytest

from planner.lint.check_files import check_texts
from planner.lint.findings import Finding
from planner.lint.outlines import SourceText
from planner.lint.repeated_lint import check_repeated

PRESS = """\
domain: press
types: {cart: object, bay: object, roll: object}
functions:
  ink: {parameters: [cart], low: 0, high: 50}
  stock: {parameters: [bay]}
  length: {parameters: [roll]}
actions:
  go:
    parameters: {c: cart, a: bay, b: bay}
    requires: ["at(c, a)", "way(a, b)"]
    provides: ["at(c, b)"]
    modifies: ["at(c, _)"]
  pick:
    parameters: {c: cart, b: bay, r: roll}
    requires: ["at(c, b)", "lies(r, b)", "free(c)"]
    provides: ["on(r, c)", "not free(c)", "not lies(r, b)"]
  drop:
    parameters: {c: cart, b: bay, r: roll}
    requires: ["at(c, b)", "on(r, c)"]
    provides: ["lies(r, b)", "free(c)", "not on(r, c)"]
  fill:
    parameters: {c: cart, b: bay}
    requires: ["at(c, b)", "ink(c) <= 10", "stock(b) >= 40"]
    modifies: ["ink(c) += 40", "stock(b) -= 40"]
  print:
    parameters: {c: cart, b: bay, r: roll}
    requires: ["at(c, b)", "on(r, c)", "ink(c) >= length(r)"]
    provides: ["printed(r)"]
    modifies: ["ink(c) -= length(r)"]
---
problem: two-rolls
domain: press
objects: {c1: cart, hall: bay, dock: bay, yard: bay, red: roll, blue: roll}
initial:
  - at(c1, hall)
  - free(c1)
  - lies(red, dock)
  - lies(blue, yard)
  - way(hall, dock)
  - way(dock, hall)
  - way(dock, yard)
  - way(yard, dock)
  - way(hall, yard)
  - way(yard, hall)
values:
  ink(c1): 10
  stock(hall): 80
  stock(dock): 0
  stock(yard): 0
  length(red): 20
  length(blue): 30
goal: ["printed(red)", "printed(blue)", "lies(red, yard)"]
"""


FULL = '"stock(b) >= 40"]\n    modifies: ["ink(c) += '


def found(text: str, *changes: tuple[str, str]) -> list[Finding]:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return list(check_texts([SourceText("press.yaml", text)]).findings)


def lines(findings: list[Finding], rule: str) -> list[int]:
    return [each.span.line for each in findings if each.rule == rule and each.span]


def test_a_right_model_is_clean() -> None:
    assert found(PRESS) == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ('"stock(b) -= 40"', '"stock(b) += 40"', "wrong-sign", 24),
        (', "stock(b) -= 40"', "", "unused-guard", 23),
        ('"ink(c) <= 10", ', "", "", 0),
        ('"ink(c) <= 10", "stock(b) >= 40"]\n    modifies: ["ink(c) += 40"', f'{FULL}50"', "whole-range", 24),
        ('"stock(b) -= 40"', '"stock(b) -= 60"', "weak-guard", 24),
        ('"stock(b) -= 40"', '"stock(b) := 40"', "", 0),
        ('"ink(c) -= length(r)"', '"ink(c) -= stock(b)"', "weak-guard", 29),
        ("length(red): 20", "length(red): 2000", "whole-range", 50),
        ('"at(c, b)", "on(r, c)"]', '"at(c, b)"]', "unlike-condition", 19),
        ('"at(c, b)", "on(r, c)"]', '"on(r, c)"]', "unlike-inverse", 19),
        ('"at(c, b)", "on(r, c)", "ink', '"on(r, c)", "ink', "unused-parameter", 26),
        ('"at(c, b)", "ink', '"not at(c, b)", "ink', "unlike-condition", 23),
        (', "not on(r, c)"', "", "never-taken", 20),
        ("  - way(hall, yard)\n", "", "one-way-fact", 43),
        ("  - way(hall, yard)\n", "  - way(yard, hall)\n", "stated-twice", 44),
        ('"lies(red, yard)"]', '"printed(blue)"]', "stated-twice", 52),
        ("blue: roll}", "blue: roll, green: roll}", "lonely-object", 33),
    ],
)  # fmt: skip
def test_slips_are_told_where_they_are(old: str, new: str, rule: str, line: int) -> None:
    findings = found(PRESS, (old, new))
    assert lines(findings, rule) == ([line] if rule else []), [str(each) for each in findings]


def test_a_guard_on_a_number_that_only_one_action_leaves_out() -> None:
    free = ("ink: {parameters: [cart], low: 0, high: 50}", "ink: {parameters: [cart]}")
    wipe = '  wipe:\n    parameters: {c: cart}\n    requires: ["ink(c) >= 5"]\n    modifies: ["ink(c) -= 5"]\n  print:'
    more = (free, ("  print:", wipe))
    assert lines(found(PRESS, *more), "weak-guard") == []
    assert lines(found(PRESS, *more, (', "ink(c) >= length(r)"', "")), "weak-guard") == [33]


def test_an_amount_that_all_others_take() -> None:
    wipes = [
        f'  wipe{n}:\n    parameters: {{c: cart}}\n    requires: ["ink(c) >= {n}"]\n    modifies: ["ink(c) -= {n}"]\n'
        for n in (5, 6, 7)
    ]
    more = ("  print:", "".join([*wipes, "  print:"]))
    free = (', "ink(c) >= length(r)"', "")
    assert lines(found(PRESS, free, more), "unused-guard") == []
    kept = ('modifies: ["ink(c) -= 7"]', 'provides: ["wiped(c)"]')
    assert lines(found(PRESS, free, more, kept), "unused-guard") == [35]


def test_a_sum_that_is_guarded_and_assigned() -> None:
    changes = [
        ("  length:", "  load: {parameters: [cart], low: 0}\n  length:"),
        ('"not lies(r, b)"]', '"not lies(r, b)"]\n    modifies: ["load(c) += length(r)"]'),
        ('"lies(r, b)"', '"lies(r, b)", "load(c) + length(r) <= 60"'),
        ('"not on(r, c)"]', '"not on(r, c)"]\n    modifies: ["load(c) -= length(r)"]'),
        ("  ink(c1): 10", "  load(c1): 0\n  ink(c1): 10"),
    ]
    assert lines(found(PRESS, *changes), "weak-guard") == []
    assert lines(found(PRESS, *changes, ("load(c) += length(r)", "load(c) := length(r)")), "weak-guard") == [18]


def test_both_of_two_inverse_actions_lower_a_number() -> None:
    changes = [
        ("  length:", "  room: {parameters: [cart], low: 0}\n  length:"),
        ('"not lies(r, b)"]', '"not lies(r, b)"]\n    modifies: ["room(c) -= 1"]'),
        ('"not on(r, c)"]', '"not on(r, c)"]\n    modifies: ["room(c) += 1"]'),
        ("  ink(c1): 10", "  room(c1): 4\n  ink(c1): 10"),
    ]
    assert lines(found(PRESS, *changes), "wrong-sign") == []
    assert lines(found(PRESS, *changes, ('"room(c) += 1"', '"room(c) -= 1"')), "wrong-sign") == [23]


def test_more_than_any_object_has_room_for() -> None:
    changes = [
        ("  length:", "  load: {parameters: [cart]}\n  room: {parameters: [cart]}\n  length:"),
        ('"free(c)"]', '"free(c)", "load(c) + length(r) <= room(c)"]'),
        ('"not lies(r, b)"]', '"not lies(r, b)"]\n    modifies: ["load(c) += length(r)"]'),
        ('"not on(r, c)"]', '"not on(r, c)"]\n    modifies: ["load(c) -= length(r)"]'),
        ("  ink(c1): 10", "  load(c1): 0\n  room(c1): 30\n  ink(c1): 10"),
    ]
    assert lines(found(PRESS, *changes), "whole-range") == []
    assert lines(found(PRESS, *changes, ("length(blue): 30", "length(blue): 31")), "whole-range") == [57]


LIBRARY = """\
domain: library
types: [reader, book, shelf]
actions:
  lend:
    parameters: {b: book, s: shelf, r: reader}
    requires: ["on(b, s)"]
    provides: ["lent(b, r)", "not on(b, s)"]
  bring: {parameters: {b: book, r: reader}, requires: ["lent(b, r)"], provides: ["back(b)", "not lent(b, r)"]}
  shelve: {parameters: {b: book, s: shelf}, requires: ["back(b)"], provides: ["on(b, s)", "not back(b)"]}
---
problem: atlas
objects: {ada: reader, bea: reader, atlas: book, maps: shelf}
initial: ["lent(atlas, ada)"]
goal: ["lent(atlas, bea)"]
"""


def test_a_fact_that_a_round_gives_again_and_nobody_takes() -> None:
    assert found(LIBRARY) == []
    assert lines(found(LIBRARY, (', "not on(b, s)"', "")), "never-taken") == [7]


WARD = """\
domain: ward
types: [patient]
functions:
  talk: {parameters: [patient], description: minutes with the doctor}
actions:
  greet: {parameters: {p: patient}, requires: ["waits(p)"], provides: ["greeted(p)"], duration: 60}
  see:
    parameters: {p: patient}
    requires: ["greeted(p)"]
    provides: ["seen(p)"]
    duration: "60 * talk(p)"
  bill:
    description: It takes 5 minutes.
    parameters: {p: patient}
    requires: ["seen(p)"]
    provides: ["billed(p)"]
    duration: 300
---
problem: one
objects: {kim: patient}
initial: ["waits(kim)"]
values: {talk(kim): 10}
goal: ["billed(kim)"]
"""


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ('duration: "60 * talk(p)"', "duration: talk(p)", "unlike-units", 11),
        ("duration: 300", "duration: 5", "unlike-units", 17),
        ('provides: ["seen(p)"]', 'at_start: {provides: ["seen(p)"]}', "unlike-moment", 10),
    ],
)
def test_durations_and_moments(old: str, new: str, rule: str, line: int) -> None:
    assert found(WARD) == []
    assert lines(found(WARD, (old, new)), rule) == [line]


def test_a_condition_on_all_that_nothing_gives() -> None:
    text = """\
domain: bench
types: [part]
actions:
  fit: {parameters: {p: part}, requires: ["broken(p)"], provides: ["not broken(p)"]}
  test: {requires: ["(forall (?p - part) (not (broken ?p)))"], provides: [tested]}
---
problem: one
objects: {lamp: part, horn: part}
initial: ["broken(lamp)"]
goal: [tested]
"""
    assert found(text) == []
    findings = found(text, ("(not (broken ?p))", "(broken ?p)"))
    assert lines(findings, "never-applies") == [5]
    assert any("not broken(p)" in each.message and lines([each], "single-repair") == [5] for each in findings)


def test_facts_and_goals_twice_in_pddl() -> None:
    domain = """(define (domain x) (:requirements :strips :typing) (:types a) (:predicates (p ?x - a) (q ?x - a))
  (:action go :parameters (?x - a) :precondition (p ?x) :effect (q ?x)))"""
    problem = "(define (problem y) (:domain x) (:objects o1 o2 - a)\n (:init (p o1)\n  (p o1) (p o2))\n"
    problem += " (:goal (and (q o1) {})))"
    for more, expected in (("(q o2)", [3]), ("(q o1)", [3, 4])):
        texts = [SourceText("d.pddl", domain), SourceText("p.pddl", problem.format(more))]
        assert sorted(lines(list(check_texts(texts).findings), "stated-twice")) == expected


def test_goals_twice_in_python() -> None:
    text = 'd = Domain("x")\nd.problem("y", initial=["p(a)"], goal=[\n    "q(a)",\n    "q( a )",\n])\n'
    assert [each.span.line for each in check_repeated([SourceText("x.py", text)]) if each.span] == [4]


LOCK = """\
domain: lock
types: [boat, side]
actions:
  switch: {parameters: {s: side, t: side}, requires: ["level(s)", "s != t"], provides: ["level(t)", "not level(s)"]}
  enter:
    parameters: {b: boat, s: side}
    requires: ["lies(b, s)", "level(s)", chamber_free]
    provides: ["inside(b)", "not lies(b, s)", not chamber_free]
  leave:
    parameters: {b: boat, s: side}
    requires: ["inside(b)", "level(s)"]
    provides: ["lies(b, s)", "not inside(b)", chamber_free]
  drift:
    parameters: {b: boat, s: side, t: side}
    requires: ["lies(b, s)", "calm(s, t)"]
    provides: ["lies(b, t)"]
    modifies: ["lies(b, _)"]
---
problem: up
objects: {tug: boat, low: side, high: side}
initial: ["lies(tug, low)", "level(high)", chamber_free, "calm(low, low)"]
goal: ["lies(tug, high)"]
"""


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        (', "not level(s)"', "", "second-value", 4),
        (", not chamber_free", "", "never-taken", 8),
        (", not chamber_free]", "]\n    modifies: [chamber_free]", "never-taken", 8),
        ('"lies(b, s)", "calm', '"calm', "unlike-condition", 15),
    ],
)
def test_items_without_a_name_and_moves_from_nowhere(old: str, new: str, rule: str, line: int) -> None:
    assert found(LOCK) == []
    assert line in lines(found(LOCK, (old, new)), rule)
