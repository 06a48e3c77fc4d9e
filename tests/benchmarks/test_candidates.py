"""`forethought bench candidates`: what is run, read and told."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.process import Limits, Run
from benchmarks.topk_comparison import LISTERS, Listed, listing_table

DOMAIN = """(define (domain ways) (:requirements :action-costs) (:predicates (there)) (:functions (total-cost))
  (:action near :parameters () :precondition () :effect (and (there) (increase (total-cost) 2)))
  (:action far :parameters () :precondition () :effect (and (there) (increase (total-cost) 3))))"""
PROBLEM = "(define (problem one) (:domain ways) (:init) (:goal (there)) (:metric minimize (total-cost)))"


def test_ours_lists_the_cheapest_plans(tmp_path):
    (tmp_path / "domain.pddl").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "p01.pddl").write_text(PROBLEM, encoding="utf-8")
    done = CliRunner().invoke(app, ["candidates", str(tmp_path), "-k", "4", "--planner", "ours"])
    assert done.exit_code == 0
    assert "| 4 | 2 to 5 | — |" in done.stdout
    assert "k=4 ours: 4 plans" in done.output


def test_an_unknown_planner_is_named(tmp_path):
    done = CliRunner().invoke(app, ["candidates", str(tmp_path), "--planner", "theirs"])
    assert done.exit_code == 2


def test_costs_are_read_from_what_others_leave(tmp_path):
    symk, kstar = (next(each for each in LISTERS if each.label == label) for label in ("symk", "kstar"))
    (tmp_path / "plan.1").write_text("(far )\n; cost = 3 (general cost)\n", encoding="utf-8")
    (tmp_path / "plan.2").write_text("(near )\n; cost = 2 (general cost)\n", encoding="utf-8")
    (tmp_path / "plans.json").write_text('{"plans": [{"cost": 2, "actions": ["near"]}]}', encoding="utf-8")
    run = Run(0, 1.0, 1.0, 1, None, "", "", Limits())
    assert symk.costs(run, tmp_path) == [2, 3]
    assert kstar.costs(run, tmp_path) == [2]
    failed = Run(23, 1.0, 1.0, 1, None, "", "", Limits())
    assert symk.costs(failed, tmp_path) == kstar.costs(failed, tmp_path) == []


@pytest.mark.parametrize(
    ("ours", "symk", "kstar", "agreed"),
    [
        ((2, 3), (2, 3), (), "the same"),
        ((2, 3), (2, 4), (2, 3), "lower: others miss plans"),
        ((2, 3), (2, 2), (2, 3), "different"),
        ((), (2, 2), (), "—"),
        ((2, 3), (), (), "—"),
    ],
)
def test_the_table_says_whether_costs_are_the_same(ours, symk, kstar, agreed):
    costs = {"ours": ours, "symk": symk, "kstar": kstar}
    found = [Listed("one", 2, label, tuple(map(float, each)), 1.5) for label, each in costs.items()]
    row = listing_table(found).splitlines()[2]
    assert f"| {agreed} |" in row
    assert row.count("1.50") == sum(map(bool, costs.values()))
