"""Methods that begin what their task is for and do not end it, and subtasks in the wrong order."""

from __future__ import annotations

import pytest

from planner.lint.check_files import check_texts
from planner.lint.findings import Finding, Level
from planner.lint.outlines import SourceText

OFFICE = """\
domain: office
types: [person, system, kit]
actions:
  sign: {parameters: {p: person}, requires: ["hired(p)"], provides: ["signed(p)"]}
  hand: {parameters: {p: person, k: kit}, requires: ["signed(p)", "spare(k)"], provides: ["has(p, k)", "not spare(k)"]}
  grant: {parameters: {p: person, s: system}, requires: ["signed(p)", "wants(p, s)"], provides: ["open(p, s)"]}
  greet: {parameters: {p: person}, requires: ["signed(p)"], provides: ["greeted(p)"]}
tasks:
  start: {parameters: {p: person}}
  equip: {parameters: {p: person}}
  admit: {parameters: {p: person}}
methods:
  by_list:
    task: start(p)
    parameters: {p: person}
    subtasks: ["paper: sign(p)", "kit: equip(p)", "doors: admit(p)", "hello: greet(p)"]
    ordering: ["paper < kit", "paper < doors", "paper < hello"]
  from_store: {task: equip(p), parameters: {p: person, k: kit}, requires: ["spare(k)"], subtasks: ["hand(p, k)"]}
  next:
    task: admit(p)
    parameters: {p: person, s: system}
    requires: ["wants(p, s)", "not open(p, s)"]
    subtasks: ["grant(p, s)", "admit(p)"]
  all:
    task: admit(p)
    parameters: {p: person}
    requires: ["(forall (?s - system) (imply (wants ?p ?s) (open ?p ?s)))"]
    subtasks: []
---
problem: monday
objects: {nia: person, mail: system, wiki: system, bag: kit}
initial: ["hired(nia)", "spare(bag)", "wants(nia, mail)", "wants(nia, wiki)"]
tasks: ["start(nia)"]
"""


def found(*changes: tuple[str, str]) -> list[Finding]:
    text = OFFICE
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return list(check_texts([SourceText("office.yaml", text)]).findings)


def lines(findings: list[Finding], rule: str) -> list[int]:
    return [each.span.line for each in findings if each.rule == rule and each.span]


def test_a_right_model_is_clean() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        (', "admit(p)"]', "]", "unfinished-task", 23),
        ('"paper < kit"', '"kit < paper"', "wrong-order", 16),
        ('"paper < kit"', '"kit < paper"', "single-repair", 16),
        ('"grant(p, s)", "admit', '"grant(p, s)", "grant(p, s)", "admit', "repeated-part", 23),
    ],
)
def test_slips_are_told_where_they_are(old: str, new: str, rule: str, line: int) -> None:
    findings = found((old, new))
    assert line in lines(findings, rule), [str(each) for each in findings]


def test_the_other_order_is_told_first() -> None:
    repairs = [each for each in found(('"paper < kit"', '"kit < paper"')) if each.rule == "single-repair"]
    assert "'sign(p)' before 'equip(p)'" in repairs[0].message
    assert [each.level for each in repairs] == [Level.WARNING, *[Level.HINT] * (len(repairs) - 1)]


def test_a_method_for_another_task_than_its_name_says() -> None:
    named = (("next:", "admit_next:"), ("all:", "admit_all:"))
    assert lines(found(*named), "other-task") == []
    wrong = (
        "task: admit(p)\n    parameters: {p: person, s: system}",
        "task: equip(p)\n    parameters: {p: person, s: system}",
    )
    assert lines(found(*named, wrong), "other-task") == [20]


def test_a_method_that_leaves_an_argument_out() -> None:
    errand = """\
domain: errand
types: [item, place]
actions:
  carry: {parameters: {i: item, p: place}, requires: ["light(i)"], provides: ["lies(i, p)"]}
  send: {parameters: {i: item, p: place}, requires: ["heavy(i)"], provides: ["lies(i, p)"]}
tasks:
  bring: {parameters: {i: item, p: place}}
methods:
  by_hand: {task: "bring(i, p)", parameters: {i: item, p: place}, subtasks: ["carry(i, p)"]}
  by_post: {task: "bring(i, p)", parameters: {i: item, p: place, q: place}, subtasks: ["send(i, q)"]}
---
problem: one
objects: {cup: item, box: item, hall: place, den: place}
initial: ["light(cup)", "heavy(box)"]
tasks: ["bring(cup, hall)", "bring(box, den)"]
"""
    texts = [SourceText("errand.yaml", errand)]
    assert lines(list(check_texts(texts).findings), "unused-argument") == [10]
    right = errand.replace("send(i, q)", "send(i, p)").replace(", q: place", "")
    assert list(check_texts([SourceText("errand.yaml", right)]).findings) == []


def test_an_empty_method_that_may_end_the_task_anywhere() -> None:
    condition = '    requires: ["(forall (?s - system) (imply (wants ?p ?s) (open ?p ?s)))"]\n'
    assert lines(found((condition, "")), "open-case") == [25]
