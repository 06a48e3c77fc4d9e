"""The runners of ACPBench and PlanBench on questions and plans of our own, and the tasks of independent proofs."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from benchmarks import acpbench, planbench, solvability
from benchmarks.pddltext import read_expression

DOMAIN = """(define (domain harbor) (:requirements :strips)
  (:predicates (at ?c ?p) (here ?p) (on ?c) (empty) (lane ?a ?b) (car ?c) (pier ?p))
  (:action sail :parameters (?a ?b)
    :precondition (and (here ?a) (lane ?a ?b)) :effect (and (here ?b) (not (here ?a))))
  (:action board :parameters (?c ?p)
    :precondition (and (car ?c) (at ?c ?p) (here ?p) (empty)) :effect (and (on ?c) (not (at ?c ?p)) (not (empty))))
  (:action leave :parameters (?c ?p)
    :precondition (and (on ?c) (here ?p)) :effect (and (at ?c ?p) (empty) (not (on ?c)))))"""
PROBLEM = """(define (problem one) (:domain harbor)
  (:objects beetle north south)
  (:init (car beetle) (pier north) (pier south) (at beetle north) (here north) (empty)
    (lane north south) (lane south north))
  (:goal (at beetle south)))"""
PLAN = "(board beetle north) (sail north south) (leave beetle south)"
QUESTIONS = {
    "app": ("?", ["(sail north south)", "(BOARD beetle north)"]),
    "prog": (
        'performing the action "board the beetle at north" into',
        {"pos": ["(on beetle)"], "neg": ["(at beetle north)", "(empty)"]},
    ),
    "reach": ("?", ["on north", "on south"]),
    "areach": ("?", ["(sail north north)"]),
    "just": (
        'the plan "(sail north south) (sail south north) (board beetle north) (sail north south) (leave beetle south)"',
        [],
    ),
    "land": ("?", {"yes": ["(on beetle)"], "no": ["(here south)"]}),
    "val": ('the sequence "(sail north south) (board beetle south)"', 1),
    "nexta": ("?", {"yes": ["(board beetle north)"], "no": ["(sail north south)"], "maybe": [], "opt": "3"}),
}
needs_fast_downward = pytest.mark.skipif(find_spec("up_fast_downward") is None, reason="needs up-fast-downward")


@pytest.fixture
def folder(tmp_path):
    for kind, (asked, key) in QUESTIONS.items():
        entry = {"PDDL_domain": DOMAIN, "PDDL_problem": PROBLEM, "answer": key, "question": asked}
        (tmp_path / f"{kind}.json").write_text(json.dumps([entry]), encoding="utf-8")
    return tmp_path


def rows(printed):
    lines = [line for line in printed.splitlines() if line.startswith("| ")][2:]
    return {cells[0]: cells[1:] for line in lines if (cells := [cell.strip() for cell in line.strip("| ").split("|")])}


def test_answers_are_compared_with_keys(folder, capsys):
    acpbench.main([str(folder), "--no-proofs"])
    found = {kind: cells[1:5] for kind, cells in rows(capsys.readouterr().out).items()}
    right, wrong = ["1", "0", "0", "0"], ["0", "0", "1", "0"]
    assert found == {what: right for what, _ in acpbench.KINDS.values()} | {"justification": wrong, "landmarks": wrong}


@needs_fast_downward
def test_fast_downward_shows_which_keys_are_wrong(folder, capsys):
    acpbench.main([str(folder), "--kind", "just", "--kind", "land", "--kind", "reach"])
    printed = capsys.readouterr().out
    assert "(here south) is a landmark: confirmed by Fast Downward" in printed
    found = {kind: cells[1:5] for kind, cells in rows(printed).items()}
    assert found["justification"] == found["landmarks"] == ["0", "1", "0", "0"]
    assert found["reachable facts"] == ["1", "0", "0", "0"]


@needs_fast_downward
def test_edited_tasks_are_solvable_exactly_if_the_claim_is_false():
    domain, problem = read_expression(DOMAIN, "domain"), read_expression(PROBLEM, "problem")

    def is_reached(*facts):
        edited = solvability.with_goal(problem, solvability.any_of(facts))
        return solvability.decide_solvability(domain, edited).solvable

    def is_taken(*steps):
        return solvability.decide_solvability(*solvability.probe_steps(domain, problem, steps)).solvable

    def is_avoidable(*fact):
        return solvability.decide_solvability(*solvability.without_adding(domain, problem, fact)).solvable

    assert is_reached(("on", "north"), ("on", "south")) is False
    assert is_reached(("on", "north"), ("on", "beetle")) is True
    assert is_taken(("board", "north", "south"), ("sail", "north", "north")) is False
    assert is_taken(("sail", "north", "north"), ("leave", "beetle", "south")) is True
    assert is_avoidable("on", "beetle") is False
    assert is_avoidable("empty") is False
    assert is_avoidable("at", "beetle", "north") is True


def test_a_text_is_split_into_steps_and_what_is_dropped():
    assert planbench.split_text("[PLAN]\n( Sail north south )\n() ok\n(board (the) beetle)") == (
        (("sail", "north", "south"), ("the",)),
        ("[PLAN]", "() ok", "(board", "beetle)"),
    )


@needs_fast_downward
def test_plans_are_judged_and_repaired(tmp_path, capsys):
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "domain.pddl").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "instances" / "one.pddl").write_text(PROBLEM, encoding="utf-8")
    (tmp_path / "instances" / "never.pddl").write_text(PROBLEM.replace("(lane north south) ", ""), encoding="utf-8")
    right = "(board beetle north)\n(sail north south)\n(leave beetle south)"
    plans = [
        ("one.pddl", right, True),
        ("one.pddl", f"[PLAN]\n{right}", False),
        ("one.pddl", right.replace("(sail north south)\n", ""), False),
        ("one.pddl", right.replace("(leave", "(drop"), False),
        ("never.pddl", right, False),
    ]
    records = [
        {"set": "cars", "domain": "domain.pddl", "problem": problem, "plan": plan, "correct": correct}
        for problem, plan, correct in plans
    ]
    (tmp_path / "plans.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    planbench.main([str(tmp_path)])
    printed = capsys.readouterr().out
    assert "cars, one.pddl: dropped '[PLAN]'" in printed
    assert "cars, one.pddl: recorded as wrong; Fast Downward: valid" in printed
    plans_, agree, refuted, undecided, wrong, repaired, least, impossible, unknown, kept, new, *_ = rows(printed)["all"]
    assert (plans_, agree, refuted, undecided) == ("5", "4", "1", "0")
    assert (wrong, repaired, least, impossible, unknown) == ("3", "2", "2", "1", "0")
    assert (kept, new) == ("80.0 %", "2")
