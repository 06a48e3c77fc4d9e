"""Plans with mistakes as a benchmark: they are spoilt as said, repaired, replayed, and the table adds up."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.foreign_plans.foreign_plan_cases import MISTAKES, SIZES, draw_shipped, spoil_plan, spoil_plans
from benchmarks.foreign_plans.foreign_plan_repair import Measured, find_untruth, foreign_table, measure
from executor.agent.foreign_plans.repair_plan import Repaired, RepairStatus, repair_plan
from planner import load, solve, validate
from planner.lightweight import replace


@pytest.fixture(scope="module")
def page():
    problem = load("assistant", "one-page")
    return problem, solve(problem).expect_plan()


@pytest.mark.parametrize("kind", MISTAKES)
@pytest.mark.parametrize("seed", range(6))
def test_plans_with_mistakes_are_repaired(page, kind: str, seed: int) -> None:
    case = spoil_plan("here", *page, kind, Random(seed))
    measured = measure(case, 10.0)
    assert measured.wrong == ""
    assert measured.status is not RepairStatus.REFUSED
    if kind == "other names":
        assert (measured.status, measured.kept) == (RepairStatus.VALID, len(case.right))
    if kind == "dropped":
        assert measured.kept == measured.given < len(case.right)
    if kind in {"misspelt", "invented"}:
        assert measured.status is RepairStatus.REPAIRED
        assert measured.kept < measured.given


@pytest.mark.parametrize("source", SIZES)
def test_each_source_gives_plans(source: str) -> None:
    name, problem = next(draw_shipped(source, 3))
    assert name == source
    assert problem == next(draw_shipped(source, 3))[1]


def test_a_seed_determines_the_cases() -> None:
    drawn = [list(spoil_plans([draw_shipped("assistant", 1), draw_shipped("random", 1)], 8, 5, 10.0)) for _ in range(2)]
    assert [each.written for each in drawn[0]] == [each.written for each in drawn[1]]
    assert [each.mistake for each in drawn[0]] == [*MISTAKES, *list(MISTAKES)[:2]]
    assert {each.source for each in drawn[0]} == {"assistant", "random"}
    assert all(validate(each.problem, each.right).valid for each in drawn[0])


def test_false_claims_are_noticed(page) -> None:
    case = spoil_plan("here", *page, "dropped", Random(1))
    honest = repair_plan(case.problem, case.written)
    assert find_untruth(case, honest) == ""
    assert find_untruth(
        case, Repaired(RepairStatus.VALID, honest.given, replace(honest.plan, steps=honest.plan.steps[1:]))
    )
    cheap = tuple([replace(step, cost=0) for step in honest.plan.steps])
    assert "costs" in find_untruth(case, replace(honest, plan=replace(honest.plan, steps=cheap)))
    assert "kept" in find_untruth(case, replace(honest, origins=honest.origins[::-1]))
    sound = replace(case, written=[str(step) for step in case.right.steps])
    given = repair_plan(sound.problem, sound.written).given
    assert "refused" in find_untruth(sound, Repaired(RepairStatus.REFUSED, given))


def test_the_table_adds_up() -> None:
    one = Measured("a", "dropped", RepairStatus.REPAIRED, True, 10, 8, 4, 6, 3, 10.0, 1.0)
    two = Measured("b", "dropped", RepairStatus.REFUSED, False, 10, 0, 2, None, 3, 20.0, 2.0)
    last = foreign_table([one, two]).splitlines()[-1]
    cells = [each.strip() for each in last.split("|")[1:-1]]
    assert cells == ["all", "2", "0", "1", "1", "1", "20", "40 %", "30 %", "2.00", "15", "20", "2", "2"]


def test_the_command_takes_tasks_from_files(tmp_path: Path) -> None:
    domain = (
        "(define (domain d) (:predicates (p) (q)) (:action a :effect (p)) (:action b :precondition (p) :effect (q)))"
    )
    (tmp_path / "domain.pddl").write_text(domain)
    (tmp_path / "p01.pddl").write_text("(define (problem x) (:domain d) (:init) (:goal (q)))")
    ran = CliRunner().invoke(app, ["foreign", str(tmp_path), "--plans", "7", "--source", "random"])
    assert ran.exit_code == 0, ran.output
    assert "| competitions | 1 |" in ran.stdout
