"""Where findings stand that are about what a problem leaves out, and findings that must not be told, or told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli.output import Exit
from planner.errors import InputError
from planner.language.loading.load import load_domain
from planner.limits import LimitReached
from planner.lint import problem_lint
from planner.lint.check_files import check_files, check_texts
from planner.lint.findings import Finding, Level
from planner.lint.outlines import SourceText
from planner.plan import StoppedBy

GATE = """\
domain: gate
types: [guest]
actions:
  enter: {parameters: {g: guest}, requires: ["invited(g)"], provides: ["inside(g)"]}
---
problem: party
objects: {ann: guest}
goal: ["inside(ann)"]
"""


def found(text: str, name: str = "gate.yaml") -> list[Finding]:
    return list(check_texts([SourceText(name, text)]).findings)


def test_a_missing_fact_stands_at_the_goal_where_nothing_is_stated() -> None:
    repairs = [each for each in found(GATE) if each.rule == "single-repair"]
    assert repairs[0].level is Level.WARNING
    assert repairs[0].message == "there is a plan if invited(ann) is stated, too"
    assert [each.span.line for each in repairs if each.place == "initial" and each.span] == [8]


def test_an_unnamed_problem_in_python_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "gate.py"
    path.write_text(
        'from planner import Domain\n\ngate = Domain("gate")\ngate.action("enter", {}, provides=["inside"])\n'
        'party = gate.problem(\n    initial=["inside"],\n)\n'
    )
    lines = [each.span.line for each in check_files(str(path)).findings if each.rule == "no-goal" and each.span]
    assert lines == [5]


def test_no_fact_is_missed_of_what_a_step_creates() -> None:
    text = """\
domain: desk
types: [doc, stamp]
predicates: {fits: {parameters: [stamp, doc]}}
actions:
  write: {creates: {d: doc}, provides: ["draft(d)"]}
  sign: {parameters: {d: doc, s: stamp}, requires: ["draft(d)", "fits(s, d)"], provides: [signed]}
---
problem: one
objects: {seal: stamp, old: doc}
initial: ["fits(seal, old)"]
goal: [signed]
"""
    findings = found(text)
    assert findings
    assert not [each for each in findings if each.rule == "missing-fact" and "old" not in each.states]


def test_a_problem_of_another_domain_is_told_once() -> None:
    domain = "(define (domain x) (:predicates (p) (q)) (:action go :precondition (p) :effect (q)))"
    problem = "(define (problem y) (:domain z) (:init (p)) (:goal (q)))"
    (finding,) = check_texts([SourceText("d.pddl", domain), SourceText("p.pddl", problem)]).findings
    assert finding.message == "this problem is for the domain 'z', not for 'x'"


def test_actions_that_differ_in_a_tag_are_no_copies() -> None:
    copy = '  enter: {parameters: {g: guest}, requires: ["invited(g)"], provides: ["inside(g)"]}\n'
    text = GATE.replace("---\n", f"{copy.replace('enter', 'slip_in')}---\n")
    assert [each.place for each in found(text) if each.rule == "equal-actions"] == ["action slip_in"]
    tagged = text.replace("slip_in: {", "slip_in: {tags: [read_only], ")
    assert not [each for each in found(tagged) if each.rule == "equal-actions"]


def test_a_problem_that_was_not_explored_has_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from planner.cli import main

    path = tmp_path / "gate.yaml"
    path.write_text(GATE.replace("goal:", 'initial: ["invited(ann)"]\ngoal:'))
    for reach, code in ((problem_lint._relax_in_part, Exit.OK), (lambda *_: None, Exit.NO_VERDICT)):
        monkeypatch.setattr(problem_lint, "_relax_in_part", reach)
        with pytest.raises(SystemExit) as end:
            main(["check", str(path)])
        assert end.value.code == code


MISSPELT = (
    ("gate.yaml", GATE, '"invited(g)"', '"invited(q)"'),
    ("gate.yaml", GATE, "{g: guest}", "{g: gest}"),
    ("gate.yaml", GATE, '"inside(ann)"', "inside(ann, ann)"),
    ("gate.yaml", GATE, "requires:", "require:"),
    ("gate.json", '{"domain": "d", "actions": {"go": {"provides": ["been"]}}}', '["been"]', '["been(x)"]'),
    ("d.pddl", "(define (domain d) (:types t) (:predicates (p ?x - t)))", "?x - t", "?x - tt"),
    ("d.pddl", "(define (domain d) (:predicates (p)) (:action a :effect (p)))", "effect (p)", "effect (p ?x)"),
)


@pytest.mark.parametrize(("name", "text", "old", "new"), MISSPELT)
def test_check_and_other_commands_name_the_same_place(tmp_path: Path, name: str, text: str, old: str, new: str) -> None:
    path = tmp_path / name
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_domain(str(path))
    told = [str(each.span) for each in check_files(str(path)).findings if each.message == caught.value.message]
    assert told == [str(caught.value.location)]


def test_a_place_is_that_of_the_word_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text(GATE.replace('"invited(g)"', '"invited(q)"'))
    with pytest.raises(InputError) as caught:
        load_domain(str(path))
    assert str(caught.value.location) == f"{path}:4:55"
    assert path.read_text().splitlines()[3][54:].startswith("q)")


def test_what_was_found_before_a_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    text = GATE.replace("actions:\n", "actions:\n  rest: {parameters: {g: guest}, provides: [rested]}\n")

    def stop(why: StoppedBy) -> None:
        def fail(*_given: object, **_more: object) -> list[Finding]:
            raise LimitReached(why)

        monkeypatch.setattr(problem_lint, "judge_by_proof", fail)
        monkeypatch.setattr(problem_lint, "check_single_values", fail)

    stop(StoppedBy.TIME)
    findings = found(text)
    (unexplored,) = [each for each in findings if each.rule == "unexplored"]
    assert unexplored.message.endswith("was checked: the values of items, whether there is a plan")
    assert {"unused-parameter", "unreachable-goal"} <= {each.rule for each in findings}
    stop(StoppedBy.CANCELLED)
    with pytest.raises(LimitReached):
        found(text)
