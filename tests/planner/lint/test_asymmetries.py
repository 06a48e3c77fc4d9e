"""Actions beside each other: what one takes and leaves, what none lowers, copies, effects that change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.lint.check_files import check_files, check_texts
from planner.lint.findings import Finding
from planner.lint.fixes import apply_fixes
from planner.lint.outlines import SourceText

QUAY = """\
domain: quay
types: {boat: object, berth: object, bale: object}
functions:
  load: {parameters: [boat], low: 0}
  room: {parameters: [boat]}
  weight: {parameters: [bale]}
actions:
  moor:
    parameters: {b: boat, q: berth}
    requires: ["at_sea(b)", "open(q)"]
    provides: ["lies_at(b, q)", "not at_sea(b)", "not open(q)"]
  cast_off:
    parameters: {b: boat, q: berth}
    requires: ["lies_at(b, q)"]
    provides: ["at_sea(b)", "open(q)", "not lies_at(b, q)"]
  lift:
    parameters: {b: boat, q: berth, x: bale}
    requires: ["lies_at(b, q)", "on(x, q)", "load(b) + weight(x) <= room(b)"]
    provides: ["aboard(x, b)"]
    modifies: ["on(x, _)", "load(b) += weight(x)"]
  land:
    parameters: {b: boat, q: berth, x: bale}
    requires: ["lies_at(b, q)", "aboard(x, b)"]
    provides: ["on(x, q)"]
    modifies: ["aboard(x, _)", "load(b) -= weight(x)"]
---
problem: two-bales
objects: {gull: boat, north: berth, south: berth, wool: bale, silk: bale}
initial: ["lies_at(gull, north)", "open(south)", "on(wool, north)", "on(silk, north)"]
values: {load(gull): 0, room(gull): 5, weight(wool): 3, weight(silk): 4}
goal: ["on(wool, south)", "on(silk, south)"]
"""


def found(text: str, *changes: tuple[str, str]) -> list[Finding]:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return list(check_texts([SourceText("quay.yaml", text)]).findings)


def places(findings: list[Finding], rule: str) -> list[tuple[str, int]]:
    return [(each.place, each.span.line) for each in findings if each.rule == rule and each.span]


def test_a_model_without_a_slip_is_clean() -> None:
    assert found(QUAY) == []


def test_given_back_and_never_taken() -> None:
    findings = found(QUAY, (', "not open(q)"', ""))
    assert places(findings, "never-taken") == [("action moor", 11)]


def test_a_load_that_is_never_lowered() -> None:
    findings = found(QUAY, (', "load(b) -= weight(x)"', ""))
    assert [place for place, _ in places(findings, "never-given-back")] == ["action land"]


def test_a_copy_that_nobody_edited() -> None:
    copy = QUAY.replace(
        "---\n",
        """\
  tow:
    parameters: {x: boat, y: berth}
    requires: ["lies_at(x, y)"]
    provides: ["open(y)", "at_sea(x)", "not lies_at(x, y)"]
---
""",
    )
    assert [place for place, _ in places(found(copy), "equal-actions")] == ["action tow"]
    dearer = copy.replace('"not lies_at(x, y)"]', '"not lies_at(x, y)"]\n    cost: 5')
    assert not places(found(dearer), "equal-actions")


def test_a_berth_beside_itself() -> None:
    parameters = "  cast_off:\n    parameters: {b: boat, q: berth}"
    near = (
        ('requires: ["lies_at(b, q)"]', 'requires: ["lies_at(b, q)", "beside(q, q2)"]'),
        (parameters, parameters.replace("}", ", q2: berth}")),
    )
    facts = '"open(south)", "beside(north, south)", "beside(south, north)"'
    assert not places(found(QUAY, *near, ('"open(south)"', facts)), "reflexive-fact")
    slip = facts.replace("beside(south, north)", "beside(south, south)")
    assert places(found(QUAY, *near, ('"open(south)"', slip)), "reflexive-fact")


@pytest.mark.parametrize(
    ("requires", "provides", "rule"),
    [
        ('"wet(b)"', '"wet(b)"', "known-effect"),
        ('"not wet(b)", "lies_at(b, q)"', '"not wet(b)", "seen(q)"', "known-effect"),
        ('"wet(b)", "lies_at(b, q)"', '"wet(b)", "seen(q)"', "known-effect"),
        ('"wet(b)", "wet(b)", "open(q)"', '"seen(q)"', "repeated-part"),
    ],
    ids=["nothing", "negative", "positive", "twice"],
)
def test_effects_that_change_nothing(requires: str, provides: str, rule: str) -> None:
    more = f"""\
  mop:
    parameters: {{b: boat, q: berth}}
    requires: [{requires}]
    provides: [{provides}]
---
"""
    assert ("action mop") in [place for place, _ in places(found(QUAY, ("---\n", more)), rule)]


def test_conditions_that_exclude_each_other_beside_numbers() -> None:
    findings = found(QUAY, ('["lies_at(b, q)", "aboard(x, b)"]', '["lies_at(b, q)", "at_sea(b)", "aboard(x, b)"]'))
    assert [place for place, _ in places(findings, "never-applies")] == ["action land"]


def test_an_action_in_time_that_keeps_what_others_give_back(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text("""\
(define (domain mills)
  (:requirements :typing :durative-actions)
  (:types mill sack)
  (:predicates (free ?m - mill) (ground ?s - sack) (sieved ?s - sack))
  (:durative-action grind
    :parameters (?m - mill ?s - sack)
    :duration (= ?duration 4)
    :condition (at start (free ?m))
    :effect (and (at start (not (free ?m))) (at end (ground ?s))))
  (:durative-action sieve
    :parameters (?m - mill ?s - sack)
    :duration (= ?duration 2)
    :condition (and (at start (free ?m)) (at start (ground ?s)))
    :effect (and (at start (not (free ?m))) (at end (free ?m)) (at end (sieved ?s)))))
""")
    findings = list(check_files(str(tmp_path / "domain.pddl")).findings)
    assert places(findings, "never-given-back") == [("action grind", 9)]


def test_what_is_modified_in_place_is_ended_by_the_fix() -> None:
    text = SourceText(
        "lamp.yaml",
        """\
domain: lamps
types: {lamp: object}
actions:
  put_out:
    parameters: {x: lamp}
    requires: ["lit(x)"]
    modifies: ["lit(x)"]
---
problem: one
objects: {a: lamp}
initial: ["lit(a)"]
goal: ["not lit(a)"]
""",
    )
    first = check_texts([text]).findings
    fixes = [each.fix for each in first if each.code == "FT210" and each.fix]
    assert len(fixes) == 1
    changed, number = apply_fixes(text, fixes)
    assert number == 1
    assert "not lit(x)" in changed
    assert not [each for each in check_texts([SourceText("lamp.yaml", changed)]).findings if each.code == "FT210"]


def test_a_charge_does_not_exclude_the_place_that_it_is_used_up_for() -> None:
    findings = found(
        QUAY,
        (
            "---\n",
            """\
  sail:
    parameters: {b: boat, q: berth, r: berth}
    requires: ["lies_at(b, q)", "rigged(b)", "open(r)"]
    provides: ["lies_at(b, r)", "not rigged(b)", "not lies_at(b, q)", "open(q)", "not open(r)"]
  rig:
    parameters: {b: boat, q: berth}
    requires: ["lies_at(b, q)"]
    provides: ["rigged(b)"]
---
""",
        ),
    )
    assert not places(findings, "unlike-pair")
