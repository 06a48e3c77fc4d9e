"""`--fix` removes an initial fact that stands twice: the model stays, and so do comments and layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli import main
from planner.language.loading.load import load
from planner.lint.check_files import check_texts
from planner.lint.outlines import SourceText

DOMAIN = """\
domain: gate  # of a garden
types: [guest]
actions:
  enter: {parameters: {g: guest}, requires: ["invited(g)"], provides: ["inside(g)"]}
---
problem: party
objects: {ann: guest, bob: guest}
goal: ["inside(ann)", "inside(bob)"]
"""
YAML = [
    ('initial: ["invited(ann)", "invited(bob)", "invited( ann )"]  # all\n',
     'initial: ["invited(ann)", "invited(bob)"]  # all\n'),
    ("initial:\n  - invited(ann)  # first\n  - invited(ann)\n  - invited(bob)\n",
     "initial:\n  - invited(ann)  # first\n  - invited(bob)\n"),
    ('initial: [\n  "invited(ann)",\n  "invited(ann)",\n  "invited(bob)",\n]\n',
     'initial: [\n  "invited(ann)",\n  "invited(bob)",\n]\n'),
]  # fmt: skip
PDDL = (
    "(define (domain gate) (:predicates (p ?x) (q ?x))"
    " (:action go :parameters (?x) :precondition (p ?x) :effect (q ?x)))"
)
INIT = [
    ("(:init (p a) (p b) (p a))", "(:init (p a) (p b))"),
    ("(:init (p a) ; one\n         (p a)\n         (p b))", "(:init (p a) ; one\n         (p b))"),
]


def fix(path: Path, *more: Path) -> None:
    with pytest.raises(SystemExit):
        main(["check", str(path), *map(str, more), "--fix", "-q"])


@pytest.mark.parametrize(("before", "after"), YAML)
def test_a_fact_of_yaml_is_removed_once(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text(DOMAIN + before)
    was = load(str(path)).initial  # type: ignore[union-attr]
    for _ in range(2):
        fix(path)
        assert path.read_text() == DOMAIN + after
    assert {*load(str(path)).initial} == {*was}  # type: ignore[union-attr]


@pytest.mark.parametrize(("before", "after"), INIT)
def test_a_fact_of_pddl_is_removed_once(tmp_path: Path, before: str, after: str) -> None:
    domain, path = tmp_path / "domain.pddl", tmp_path / "one.pddl"
    domain.write_text(PDDL)
    text = "; a garden\n(define (problem one) (:domain gate) (:objects a b)\n  INIT\n  (:goal (and (q a) (q b))))\n"
    path.write_text(text.replace("INIT", before))
    for _ in range(2):
        fix(domain, path)
        assert path.read_text() == text.replace("INIT", after)
    assert load(str(domain), str(path)).name == "one"


def test_what_has_a_comment_or_may_be_meant_stays() -> None:
    for more in (
        "initial:\n  - invited(ann)\n  - invited(bob)\n  - invited(ann)  # again?\n",
        'initial: ["invited(ann)", "invited(bob)"]\n',
    ):
        text = DOMAIN.replace('"inside(bob)"]', '"inside(bob)", "inside(bob)"]') + more
        told = [x for x in check_texts([SourceText("gate.yaml", text)]).findings if x.rule == "stated-twice"]
        assert told
        assert not [each for each in told if each.fix]


def test_arguments_that_fit_in_one_other_order_are_swapped(tmp_path: Path) -> None:
    path = tmp_path / "pets.yaml"
    text = """\
domain: pets
types: [guest, dog]
predicates: {owns: {parameters: [guest, dog]}}
actions:
  enter:  # together
    parameters: {g: guest, d: dog}
    requires: ["owns(d, g)"]
    provides: ["inside(g)"]
---
problem: party
objects: {ann: guest, rex: dog}
initial: ["owns(rex, ann)"]  # a dog
goal: ["inside(ann)"]
"""
    path.write_text(text)
    for _ in range(2):
        fix(path)
        assert path.read_text() == text.replace("(d, g)", "(g, d)").replace("(rex, ann)", "(ann, rex)")
    assert load(str(path)).name == "party"


def test_arguments_that_fit_in_no_other_order_stay() -> None:
    text = (
        "domain: p\ntypes: [a, b]\npredicates: {r: [a, b]}\nactions: {x: {parameters: {y: b}, requires: ['r(y, y)']}}\n"
    )
    told = check_texts([SourceText("p.yaml", text)]).findings
    assert not [each for each in told if each.rule == "wrong-type" and each.fix]


KEYWORDS = [
    (":preconditon", ":precondition"),
    (":parameter ", ":parameters "),
    (":acton", ":action"),
    (":predicate ", ":predicates "),
]


@pytest.mark.parametrize(("wrong", "right"), KEYWORDS)
def test_a_misspelt_keyword_is_mended_alone(tmp_path: Path, wrong: str, right: str) -> None:
    path = tmp_path / "gate.pddl"
    text = PDDL.replace(
        " (:action go ", "\n (:action stay :parameters (?x) :precondition (q ?x) :effect (p ?x))\n (:action go "
    )
    path.write_text(text.replace(right, wrong, 1))
    for _ in range(2):
        fix(path)
        assert path.read_text() == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_a_file_keeps_its_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "gate.yaml"
    text = DOMAIN + '# für alle\ninitial: ["invited(ann)", "invited(bob)", "invited(ann)"]\n'
    path.write_bytes(text.encode(encoding))
    fix(path)
    assert path.read_bytes() == text.replace(', "invited(ann)"]', "]").encode(encoding)


def test_a_parameter_with_a_comment_stays(tmp_path: Path) -> None:
    path = tmp_path / "gate.pddl"
    text = PDDL.replace("(:action go :parameters (?x)", "(:action go :parameters (?x\n ?y ; who is it for?\n )")
    path.write_text(text)
    fix(path)
    assert path.read_text() == text
