"""Validators: each accepts valid plans and refuses invalid ones, on the features that it covers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.pddltext import read_expression, read_features, write_expression
from benchmarks.process import Limits
from benchmarks.validators import FOREIGN, VAL_VARIABLE, VALIDATORS, Verdict, validate_plan
from benchmarks.validators.plan_checks import CHECKS
from benchmarks.validators.val import read_verdict
from benchmarks.validators.val_files import adapt_domain, read_values, value_at_start

STRIPS = """(define (domain parcels)
  (:requirements :strips :typing)
  (:types place thing - object van parcel - thing)
  (:predicates (at ?x - thing ?p - place) (in ?x - parcel ?v - van) (road ?p ?q - place))
  (:action drive :parameters (?v - van ?p ?q - place)
    :precondition (and (at ?v ?p) (road ?p ?q)) :effect (and (at ?v ?q) (not (at ?v ?p))))
  (:action load :parameters (?x - parcel ?v - van ?p - place)
    :precondition (and (at ?v ?p) (at ?x ?p)) :effect (and (in ?x ?v) (not (at ?x ?p))))
  (:action unload :parameters (?x - parcel ?v - van ?p - place)
    :precondition (and (at ?v ?p) (in ?x ?v)) :effect (and (at ?x ?p) (not (in ?x ?v)))))"""
STRIPS_PROBLEM = """(define (problem one) (:domain parcels)
  (:objects v - van x y - parcel a b - place)
  (:init (at v a) (at x a) (at y b) (road a b))
  (:goal (and (at x b))))"""

ADL = """(define (domain lamps)
  (:requirements :adl :action-costs)
  (:types lamp)
  (:predicates (on ?l - lamp) (broken ?l - lamp) (next ?l ?m - lamp) (dusk))
  (:functions (total-cost) - number)
  (:action press :parameters (?l - lamp)
    :precondition (and (not (broken ?l)) (or (dusk) (exists (?m - lamp) (next ?l ?m))))
    :effect (and (increase (total-cost) 3)
                 (forall (?m - lamp) (when (next ?l ?m) (on ?m)))
                 (when (on ?l) (not (on ?l)))
                 (when (not (on ?l)) (on ?l)))))"""
ADL_PROBLEM = """(define (problem two) (:domain lamps)
  (:objects k l m - lamp)
  (:init (next k l) (next l m) (broken m) (= (total-cost) 0))
  (:goal (forall (?x - lamp) (imply (not (= ?x k)) (on ?x))))
  (:metric minimize (total-cost)))"""

AXIOMS = """(define (domain pipes)
  (:requirements :adl :derived-predicates)
  (:predicates (valve ?a ?b) (open ?a ?b) (wet ?a) (source ?a) (dry ?a))
  (:derived (wet ?a) (or (source ?a) (exists (?b) (and (open ?b ?a) (wet ?b)))))
  (:derived (dry ?a) (not (wet ?a)))
  (:action turn :parameters (?a ?b)
    :precondition (and (valve ?a ?b) (wet ?a) (dry ?b)) :effect (open ?a ?b)))"""
AXIOMS_PROBLEM = """(define (problem three) (:domain pipes)
  (:objects a b c)
  (:init (source a) (valve a b) (valve b c))
  (:goal (wet c)))"""

NUMBERS = """(define (domain tank)
  (:requirements :typing :numeric-fluents :conditional-effects)
  (:types tank)
  (:functions (level ?t - tank) (limit ?t - tank) (spilt) (moves))
  (:action pour :parameters (?a ?b - tank)
    :precondition (and (>= (level ?a) 0.5) (not (= (level ?b) (limit ?b))))
    :effect (and (decrease (level ?a) 0.5) (increase (level ?b) 0.5) (increase (moves) 1)))
  (:action empty :parameters (?t - tank)
    :precondition (>= (- (level ?t) (limit ?t)) 0)
    :effect (and (assign (level ?t) 0) (increase (spilt) (level ?t)))))"""
NUMBERS_PROBLEM = """(define (problem four) (:domain tank)
  (:objects s t - tank)
  (:init (= (level s) 2) (= (level t) 0) (= (limit s) 2) (= (limit t) 1.0) (= (spilt) 0) (= (moves) 0))
  (:goal (>= (+ (level t) (* 2 (spilt))) 2))
  (:metric minimize (+ (moves) (* 4 (spilt)))))"""

FILES = {
    "numbers": (NUMBERS, NUMBERS_PROBLEM),
    "strips": (STRIPS, STRIPS_PROBLEM),
    "adl": (ADL, ADL_PROBLEM),
    "axioms": (AXIOMS, AXIOMS_PROBLEM),
}


@dataclass(frozen=True)
class Case:
    files: str
    plan: str
    cost: int | None
    """None: the plan is invalid."""


CASES = {
    "valid": Case("strips", "(load x v a)\n(drive v a b)\n(unload x v b)\n; cost = 3 (unit cost)\n", 3),
    "upper case": Case("strips", "(LOAD X V A)\n(DRIVE V A B)\n(UNLOAD X V B)\n", 3),
    "precondition": Case("strips", "(load x v a)\n(drive v b a)\n", None),
    "goal": Case("strips", "(load x v a)\n(drive v a b)\n", None),
    "empty": Case("strips", "", None),
    "deleted": Case("strips", "(load x v a)\n(load x v a)\n(drive v a b)\n(unload x v b)\n", None),
    "unknown action": Case("strips", "(fly v a b)\n", None),
    "arity": Case("strips", "(load x v)\n(drive v a b)\n(unload x v b)\n", None),
    "unknown object": Case("strips", "(load z v a)\n(drive v a b)\n(unload x v b)\n", None),
    "type": Case("strips", "(load x v a)\n(drive v a b)\n(unload x v b)\n(drive x b a)\n", None),
    "adl valid": Case("adl", "(press k)\n(press l)\n(press l)\n", 9),
    "adl shorter": Case("adl", "(press l)\n", 3),
    "adl condition": Case("adl", "(press k)\n(press l)\n", None),
    "adl negative": Case("adl", "(press m)\n(press l)\n", None),
    "axioms valid": Case("axioms", "(turn a b)\n(turn b c)\n", 2),
    "axioms derived condition": Case("axioms", "(turn b c)\n(turn a b)\n", None),
    "numbers valid": Case("numbers", "(pour s t)\n(pour s t)\n(empty t)\n", 6),
    "numbers at once": Case("numbers", "(empty s)\n", 8),
    "numbers reached": Case("numbers", "(pour s t)\n(pour s t)\n(pour s t)\n", None),
    "numbers bound": Case("numbers", "(empty t)\n(empty s)\n", None),
    "numbers goal": Case("numbers", "(pour s t)\n(pour s t)\n", None),
    "axioms negated": Case("axioms", "(turn a b)\n(turn a b)\n(turn b c)\n", None),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, (domain, problem) in FILES.items():
        (tmp_path / f"{name}-domain.pddl").write_text(domain)
        (tmp_path / f"{name}.pddl").write_text(problem)
    return tmp_path


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # unified-planning's reader against newer pyparsing
@pytest.mark.parametrize("name", VALIDATORS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_validator_judges_rightly(case: Case, name: str, folder: Path) -> None:
    validator = VALIDATORS[name]
    domain, problem = folder / f"{case.files}-domain.pddl", folder / f"{case.files}.pddl"
    if not validator.takes(read_features(domain, problem)):
        pytest.skip(f"{name} does not cover the features, or is not installed")
    verdict: Verdict = CHECKS[name](domain, problem, case.plan)
    if case.files == "numbers" and verdict.said.startswith("unsupported"):
        pytest.skip(f"{name} does not read numbers")
    assert (verdict.valid, verdict.invalid) == (case.cost is not None, case.cost is None), verdict
    if verdict.valid and verdict.cost is not None:
        assert verdict.cost == case.cost


@pytest.mark.parametrize("files", [name for name in FILES if name != "numbers"])
def test_some_foreign_validator_covers_everything(files: str, folder: Path) -> None:
    pytest.importorskip("up_fast_downward")
    features = read_features(folder / f"{files}-domain.pddl", folder / f"{files}.pddl")
    assert any(VALIDATORS[name].takes(features) for name in FOREIGN)


@pytest.mark.parametrize(("plan", "said"), [("(turn a b)\n(turn b c)\n", "valid"), ("(turn b c)\n", "invalid")])
def test_a_validator_as_a_process(plan: str, said: str, folder: Path) -> None:
    pytest.importorskip("up_fast_downward")
    files = folder / "axioms-domain.pddl", folder / "axioms.pddl"
    assert validate_plan("fast-downward", *files, plan, Limits()).said.startswith(said)


def test_a_validator_that_crashes_or_runs_out_gives_no_verdict(folder: Path) -> None:
    crashed = validate_plan("pyperplan", folder / "adl-domain.pddl", folder / "adl.pddl", "(press l)\n", Limits())
    assert crashed.said.startswith("error: ")
    late = validate_plan(
        "unified-planning", folder / "adl-domain.pddl", folder / "adl.pddl", "(press l)\n", Limits(1, 0.02)
    )
    assert not late.valid
    assert not late.invalid


@pytest.mark.parametrize(
    ("stdout", "returncode", "expected"),
    [
        ("Plan executed successfully - checking goal\nPlan valid\nFinal value: 28 \n", 0, Verdict("valid", 28)),
        ("Plan valid\nFinal value: -1.25 \n", 0, Verdict("valid", -1.25)),
        ("Plan valid\nFinal value: 1.23457e+06 \n", 0, Verdict("valid")),
        ("Plan valid\nFinal value: 123.457 \n", 0, Verdict("valid")),
        ("\nPlan failed to execute\n\nFailed plans:\n", 1, Verdict("invalid: Plan failed to execute")),
        ("Goal not satisfied\nPlan invalid\n", 1, Verdict("invalid: Goal not satisfied")),
        ("Checking plan: plan\n", -11, Verdict("error: VAL was ended by signal 11")),
        ("Problem in domain definition!\n", 255, Verdict("unsupported: Problem in domain definition!")),
        ("", 3, Verdict("unsupported: exit code 3")),
    ],
)
def test_what_val_says_is_understood(stdout: str, returncode: int, expected: Verdict) -> None:
    assert read_verdict(stdout, "", returncode) == expected


def test_val_is_used_where_its_program_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VAL_VARIABLE, raising=False)
    assert (VALIDATORS["val"].available, VALIDATORS["val"].missing) == (False, VAL_VARIABLE)
    program = tmp_path / "Validate"
    program.write_text("#!/bin/sh\ngrep -q drive \"$3\" && printf 'Plan valid\\nFinal value: 7 \\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv(VAL_VARIABLE, str(program))
    assert (VALIDATORS["val"].available, VALIDATORS["val"].missing) == (True, "")
    files = folder / "strips-domain.pddl", folder / "strips.pddl"
    assert validate_plan("val", *files, "(Drive v a b) ; first\n", Limits()) == Verdict("valid", 1)  # no metric: steps
    assert (
        validate_plan("val", *files, "(load x v)\n", Limits()).said == "invalid: step 1: load takes 3 arguments, not 2"
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # unified-planning's reader against newer pyparsing
@pytest.mark.filterwarnings("ignore::UserWarning")  # its simulator says that it may not know undefined numbers
@pytest.mark.parametrize(("cost", "valid"), [("total-cost", True), ("fees", False)])
def test_costs_that_nobody_states_begin_at_zero(cost: str, valid: bool, tmp_path: Path) -> None:
    pytest.importorskip("unified_planning")
    domain, problem = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    domain.write_text(
        f"""(define (domain d) (:requirements :numeric-fluents) (:predicates (p)) (:functions (x) ({cost}))
        (:action a :parameters () :precondition (>= (x) 1) :effect (and (p) (increase ({cost}) 1))))"""
    )
    problem.write_text("(define (problem q) (:domain d) (:init (= (x) 1)) (:goal (p)))")
    assert CHECKS["unified-planning"](domain, problem, "(a)\n").valid is valid


def test_val_gets_moments_at_single_effects_and_the_requirement_of_durations() -> None:
    text = """
    (define (domain d) (:requirements :typing)
      (:durative-action A :parameters (?x) :duration (= ?duration 1) :condition (at start (p ?x))
        :effect (and (at start (not (p ?x))) (at end (forall (?y) (when (q ?y) (and (r ?y) (not (q ?y)))))))))
    """
    assert write_expression(adapt_domain(read_expression(text, "d"))).replace("( ", "(").replace(" )", ")") == (
        "(define (domain d) (:requirements :durative-actions :typing) "
        "(:durative-action a :parameters (?x) :duration (= ?duration 1) :condition (at start (p ?x)) "
        ":effect (and (at start (not (p ?x))) "
        "(forall (?y) (when (at end (q ?y)) (and (at end (r ?y)) (at end (not (q ?y)))))))))"
    )


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("(+ (* 25 (- (subs) 3)) (total-time))", -75),
        ("(total-cost)", 4),
        ("(- (/ (used a) 2))", -1.5),
        ("(/ (used a) (subs))", None),
        ("(is-violated p)", None),
    ],
)
def test_what_a_metric_is_before_the_first_step(metric: str, value: float | None) -> None:
    values = read_values(
        read_expression("(define (problem p) (:init (= (subs) 0) (at 5 (q)) (= (used a) 3) (= (total-cost) 4)))", "p")
    )
    assert value_at_start(read_expression(metric, "p"), values) == value
