"""Validators: each accepts valid plans and refuses invalid ones, on the features that it covers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.pddltext import read_features
from benchmarks.process import Limits
from benchmarks.validators import FOREIGN, VALIDATORS, Verdict, validate_plan
from benchmarks.validators.plan_checks import CHECKS

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

FILES = {
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
    assert (verdict.valid, verdict.invalid) == (case.cost is not None, case.cost is None), verdict
    if verdict.valid and verdict.cost is not None:
        assert verdict.cost == case.cost


@pytest.mark.parametrize("files", FILES)
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
