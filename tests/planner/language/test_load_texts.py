"""Loading from texts: what is a text and what a name, and where mistakes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import InputError, load, load_domain, solve
from planner.language.loading.load import is_text

DOMAIN = """(define (domain lamps) (:predicates (on ?l) (off ?l))
  (:action press :parameters (?l) :precondition (off ?l) :effect (and (on ?l) (not (off ?l)))))
; kept in /tmp/lamps.pddl"""
PROBLEM = """(define (problem one) (:domain lamps)
  (:objects desk) (:init (off desk)) (:goal (on desk)))"""
YAML_DOMAIN = """domain: lamps
actions:
  press: {parameters: {l: object}, requires: ["off(l)"], provides: ["on(l)", "not off(l)"]}
"""
YAML_PROBLEM = """problem: one
objects: {desk: object}
initial: ["off(desk)"]
goal: ["on(desk)"]
"""
HDDL_DOMAIN = """(define (domain lamps) (:predicates (on ?l) (off ?l))
  (:task light :parameters (?l))
  (:method press-it :parameters (?l) :task (light ?l) :ordered-subtasks (and (press ?l)))
  (:action press :parameters (?l) :precondition (off ?l) :effect (and (on ?l) (not (off ?l)))))"""
HDDL_PROBLEM = """(define (problem one) (:domain lamps) (:objects desk)
  (:htn :ordered-subtasks (and (light desk))) (:init (off desk)))"""


@pytest.mark.parametrize(
    "texts",
    [
        (DOMAIN, PROBLEM),
        (f"{DOMAIN}\n{PROBLEM}",),
        (f"{PROBLEM}\n{DOMAIN}",),
        (DOMAIN.partition("\n;")[0].replace("\n", " "), PROBLEM.replace("\n", " ")),
        (YAML_DOMAIN, YAML_PROBLEM),
        (f"{YAML_DOMAIN}---\n{YAML_PROBLEM}",),
        (HDDL_DOMAIN, HDDL_PROBLEM),
        (f"Here it is:\n```pddl\n{DOMAIN}\n```\nGood luck!", f"```\n{PROBLEM}\n```"),
        (f"Domain:\n```pddl\n{DOMAIN}\n```\nProblem:\n\n```pddl\n{PROBLEM}\n```\n```sh\nforethought solve\n```",),
        (f"```yaml\n{YAML_DOMAIN}```\n", f"The problem:\n~~~\n{YAML_PROBLEM}"),
        (f"One:\n```yaml\n{YAML_DOMAIN}```\nTwo:\n```yaml\n{YAML_PROBLEM}```\n",),
        (YAML_DOMAIN + "description: |\n  Such as\n  ```\n  domain: other\n  ```\n", YAML_PROBLEM),
    ],
)
def test_texts_are_loaded_as_files_are(texts):
    found = solve(load(*texts)).expect_plan()
    assert [(step.action, step.arguments) for step in found.steps] == [("press", ("desk",))]


def test_the_problem_in_a_text_goes_by_its_name():
    assert load(f"{DOMAIN}\n{PROBLEM}", "one").name == "one"
    with pytest.raises(InputError, match=r"has no problem 'two'.*its problems are one"):
        load(f"{DOMAIN}\n{PROBLEM}", "two")


def test_a_text_goes_with_a_file_and_a_file_with_a_text(tmp_path):
    (tmp_path / "domain.pddl").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "one.pddl").write_text(PROBLEM, encoding="utf-8")
    assert load(str(tmp_path / "domain.pddl"), PROBLEM).name == "one"
    assert load(DOMAIN, tmp_path / "one.pddl").name == "one"
    assert load(tmp_path, PROBLEM).name == "one"
    assert load_domain(DOMAIN).name == "lamps"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((DOMAIN, PROBLEM.replace("(off desk)", "(of desk)")), "<problem text>:2:27: the predicate 'of'"),
        ((DOMAIN.replace("(off ?l) :eff", "(of ?l) :eff"), PROBLEM), "<domain text>:2:50: the predicate 'of'"),
        ((DOMAIN.replace("(off ?l) :eff", "(of ?l) :eff") + "\n" + PROBLEM,), "<domain text>:2:50: the predicate"),
        ((DOMAIN + "\n" + PROBLEM.replace("(off desk)", "(of desk)"),), "<problem text>:5:27: the predicate 'of'"),
        ((YAML_DOMAIN, YAML_PROBLEM + "gaol: []"), "<problem text>:5:1: the document has no key 'gaol'"),
        ((YAML_DOMAIN + "extra: [\n", YAML_PROBLEM), "<domain text>:4:8: this is no YAML"),
        ((DOMAIN,), "<domain text>: there is a domain, but no problem"),
        ((PROBLEM, PROBLEM), "<domain text>:1:9: this file defines a problem"),
        ((DOMAIN, YAML_DOMAIN), "<problem text>: the text declares no problem"),
        ((DOMAIN, "no such"), "<domain text> has no problem 'no such'"),
        (("a name\nwith a line break",), "<domain text>:1:1: a document is a mapping"),
        (("x" * 9_000,), "there is no file, folder or shipped domain 'xxxx"),
        ((DOMAIN, "x" * 9_000), "has no problem 'xxxx"),
        ((Path("(define\n(domain d))"),), "there is no file, folder"),
        (("",), "the name of the domain is empty"),
        ((" \n\t\n",), "the text of the domain is blank"),
        ((DOMAIN, "\n"), "the text of the problem is blank"),
        (("domain: a\nb\0: c",), "<domain text>:2:2: found a NUL character"),
        ((DOMAIN + "\n\0", PROBLEM), "<domain text>:4:1: found a NUL character"),
        (("(" * 2_000_000,), "there is no file, folder or shipped domain '((((("),
        ((DOMAIN, "\n" + "(" * 2_000_000), "has no problem"),
        (("(define (domain d)\n" + "(" * 500_000,), "<domain text>:2:100: parentheses nest deeper"),
        (("lorem ipsum: {\n" * 500_000,), "<domain text>:1:1: the text is neither PDDL nor a document"),
        ((DOMAIN, "lorem ipsum\n" * 500_000), "<problem text>:1:1: the text is neither PDDL nor a document"),
        ((f"As you like:\n\n {DOMAIN}",), "<domain text>:3:2: there is other text before this definition"),
        (
            (f"So:\n```\n{DOMAIN}\n```", f"\n```\n{PROBLEM}\n```".replace("(off desk)", "(of desk)")),
            "<problem text>:4:27",
        ),
    ],
)
def test_mistakes_are_located_in_the_text(texts, message):
    with pytest.raises(InputError) as raised:
        load(*texts)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("(define (domain d))", True),
        ("  ( define (domain d))", True),
        ('{"domain": "d"}', True),
        ("domain: d", True),
        ("courier\n", False),
        ("domain.pddl", False),
        ("(define).pddl", False),
        ("{x}.yaml", False),
        ("my domain: v2.yaml", False),
        (DOMAIN, True),
    ],
)
def test_a_text_is_told_from_a_name(given, expected):
    assert is_text(given) is expected
