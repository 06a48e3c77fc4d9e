"""Risks and outcomes as `probabilistic` effects of PDDL and HDDL, and what has no words there."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from htn.language import hddl
from htn.language.hddl.hddl_writer import write_domain as write_hddl
from planner import Domain, decide, solve
from planner.cli import main
from planner.errors import UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import determinize, export, find_unlikely
from planner.language.pddl.pddl_writer import write_domain
from planner.model.actions import Action, Case, Constraint, ConstraintKind, Outcome, When
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import TRUE, Atom, Not, Object, Variable
from planner.model.problem import Goal, Problem
from planner.unified_planning.jobs import without_python_values

ROBOT, ROOM = Variable("?r", ("robot",)), ("room",)
AT, LOST = Predicate("at", (Variable("?r", ("robot",)), Variable("?x", ROOM))), Predicate("lost", (ROBOT,))
FROM, TO = Variable("?from", ROOM), Variable("?to", ROOM)
MOVES, ARRIVED = (Atom("at", ("?r", "_")),), (Atom("at", ("?r", "?to")),)
MOVE = Action("move", (ROBOT, FROM, TO), Atom("at", ("?r", "?from")), ARRIVED, MOVES)


def errand(**changes: object) -> Problem:
    """Return the problem to get a robot from a to b with an action to which `changes` are made."""
    move = replace(MOVE, **changes)  # type: ignore[arg-type]
    predicates = {"at": AT, "lost": LOST}
    domain = DomainModel("errand", {"robot": (), "room": ()}, predicates=predicates, actions={"move": move})
    objects = (Object("r2", ("robot",)), Object("a", ROOM), Object("b", ROOM))
    return Problem("one", domain, objects, (Atom("at", ("r2", "a")),), Goal(Atom("at", ("r2", "b"))))


def read_back(problem: Problem) -> Problem:
    written = export(problem)
    return parse_problem(written.problem, parse_domain(written.domain))


def outcomes(problem: Problem) -> tuple[Outcome, ...]:
    return problem.domain.actions["move"].outcomes


def test_a_risk_is_what_is_left_of_one() -> None:
    written = export(errand(risk=Decimal("0.25"))).domain
    retraction = "(forall (?any1 - room) (not (at ?r ?any1)))"
    assert f":effect (probabilistic 0.75 (and (at ?r ?to) {retraction}))" in written
    assert "(:requirements :strips :typing :probabilistic-effects)" in written
    again = read_back(errand(risk=Decimal("0.25")))
    assert outcomes(again) == (Outcome(Decimal("0.75"), ARRIVED, MOVES), Outcome(Decimal("0.25")))
    assert (again.domain.actions["move"].provides, again.domain.actions["move"].modifies) == (ARRIVED, MOVES)
    assert decide(again).expect_policy().cost == pytest.approx(4 / 3)
    assert solve(again).cost == 1


def test_the_intended_outcome_comes_first() -> None:
    lost = Outcome(Decimal("0.5"), (Atom("lost", ("?r",)),))
    again = read_back(errand(outcomes=(lost, Outcome(Decimal("0.5"), ARRIVED, MOVES))))
    assert outcomes(again) == (Outcome(Decimal("0.5"), ARRIVED, MOVES), lost)
    still = Outcome(Decimal("0.9"))
    again = read_back(errand(outcomes=(still, Outcome(Decimal("0.1"), ARRIVED, MOVES))))
    assert outcomes(again) == (Outcome(Decimal("0.1"), ARRIVED, MOVES), still)
    again = read_back(errand(provides=(), modifies=(), outcomes=(Outcome(Decimal("0.1"), ARRIVED, MOVES), still)))
    assert outcomes(again) == (still, Outcome(Decimal("0.1"), ARRIVED, MOVES))


def test_risks_and_outcomes_together_are_exact() -> None:
    third = Decimal("0.3333333333333333333333333333")
    both = (Outcome(third, ARRIVED, MOVES), Outcome(1 - third, (Atom("lost", ("?r",)),)))
    again = read_back(errand(risk=Decimal("0.123456789"), outcomes=both))
    assert sum(each.probability for each in outcomes(again)) == 1
    shares = {each.provides: float(each.probability) for each in outcomes(again)}
    assert shares[ARRIVED] == pytest.approx(float(third * (1 - Decimal("0.123456789"))))
    assert shares[()] == pytest.approx(0.123456789)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": (Case(("_", "a", "_"), Decimal("0.5")),)}, "probabilities of 'move' that depend on its arguments"),
        (
            {"risk": Decimal("0.5"), "when": (When(Atom("lost", ("?r",)), (Not(Atom("lost", ("?r",))),)),)},
            "uncertain outcomes of 'move' beside conditional effects",
        ),
    ],
)
def test_what_has_no_words_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        export(errand(**changes))


def test_strips_and_constraints_have_no_outcomes() -> None:
    risky = errand(risk=Decimal("0.5"))
    with pytest.raises(UnsupportedError, match="uncertain outcomes in STRIPS"):
        export(risky, "strips")
    never = Constraint(ConstraintKind.ALWAYS, Not(Atom("lost", ("r2",))))
    with pytest.raises(UnsupportedError, match="constraints beside uncertain outcomes"):
        export(replace(risky, constraints=(never,)))
    with pytest.raises(UnsupportedError, match="uncertain outcomes of 'move', in PDDL"):
        write_domain(errand(risk=Decimal("0.5"), modifies=()).domain, costs=True)


def test_conditional_effects_of_all_outcomes_stand_beside_them() -> None:
    found = When(Atom("lost", ("?r",)), (Not(Atom("lost", ("?r",))),))
    both = (Outcome(Decimal("0.75"), ARRIVED, MOVES), Outcome(Decimal("0.25")))
    again = read_back(errand(outcomes=both, when=(found,)))
    assert (outcomes(again), again.domain.actions["move"].when) == (both, (found,))


@pytest.mark.parametrize(
    "effect",
    [
        "(forall (?x - hall) (not (at ?r ?x)))",
        "(forall (?x - room) (at ?r ?x))",
        "(forall (?x - room) (not (near ?x ?x)))",
        "(forall (?x - room) (when (lost ?r) (not (at ?r ?x))))",
    ],
)
def test_other_outcomes_for_all_objects_are_refused(effect: str) -> None:
    text = f"""(define (domain d) (:types robot room - object hall - room)
 (:predicates (at ?r - robot ?x - room) (near ?x ?y - room) (lost ?r - robot))
 (:action move :parameters (?r - robot) :effect (probabilistic 0.5 {effect})))"""
    with pytest.raises(UnsupportedError, match="outcome for all objects of a variable"):
        parse_domain(text)


def test_what_all_outcomes_provide_stands_beside_them() -> None:
    """That nothing else changes is then what is left of 1, and the intended outcome stays the likeliest."""
    text = """(define (domain d) (:types room) (:predicates (at ?x - room) (p))
 (:action try :parameters (?x - room) :effect (and (not (at ?x)) (probabilistic 0.3 (p) 0.2 (at ?x)))))"""
    domain = parse_domain(text)
    written = write_domain(domain, costs=False)
    assert "(not (at ?x))\n      (probabilistic 0.3 (p) 0.2 (at ?x)))" in written
    assert parse_domain(written).actions["try"] == domain.actions["try"]
    assert find_unlikely(domain) == []


def test_hierarchies_keep_their_outcomes() -> None:
    text = """(define (domain d) (:predicates (p) (q)) (:task top :parameters ())
 (:method m :parameters () :task (top) :subtasks (act))
 (:action act :parameters () :effect (probabilistic 0.7 (p) 0.3 (and (q) (not (p))))))"""
    domain = hddl.parse_domain(text)
    written = write_hddl(domain)
    assert ":probabilistic-effects" in written
    assert hddl.parse_domain(written).classical.actions["act"].outcomes == domain.classical.actions["act"].outcomes
    assert len(domain.classical.actions["act"].outcomes) == 2


def test_engines_plan_on_what_is_intended() -> None:
    problem = errand(risk=Decimal("0.5"), cases=(Case(("_", "a", "_"), Decimal("0.5")),))
    (move,) = without_python_values(problem).domain.actions.values()
    assert not move.is_uncertain
    assert move.requires != TRUE


def test_the_command_says_which_outcome_readers_take(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.yaml"
    likely = "outcomes: [{probability: 0.4, provides: [p]}, {probability: 0.6, provides: [q]}]"
    path.write_text(f"domain: d\nactions:\n  a: {{provides: [p], {likely}}}\n---\nproblem: x\ngoal: [p]\n")
    with pytest.raises(SystemExit) as end:
        main(["compile", str(path), "--to", "pddl"])
    said = capsys.readouterr()
    assert (end.value.code, "(probabilistic 0.4 (p) 0.6 (q))" in said.out) == (0, True)
    assert "the action 'a' intends an outcome that is not the likeliest" in said.err


def test_other_planners_get_the_intended_outcomes_alone(capsys) -> None:
    """What is written has no chances, and says the same to classical search."""
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["compile", "courier", "--to", "pddl", "--determinize"])
    assert "probabilistic" not in capsys.readouterr().out
    domain = Domain("bet")
    domain.action("bet", provides=["won"], outcomes=[Outcome("0.4", ["won"]), Outcome("0.6", ["lost"])])
    problem = domain.problem(goal=["won"])
    certain = replace(problem, domain=determinize(problem.domain))
    assert "probabilistic" in export(problem).domain
    assert "probabilistic" not in export(certain).domain
    assert [step.action for step in solve(certain).expect_plan().steps] == ["bet"]
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["compile", "courier", "--to", "yaml", "--determinize"])
    assert "--determinize belongs to --to pddl" in capsys.readouterr().err
