"""Hierarchical problems of unified-planning, and those that its HDDL reader reads, as problems of ours."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from unified_planning.engines import PlanGenerationResultStatus as Outcome
from unified_planning.environment import get_environment
from unified_planning.io import PDDLReader, PDDLWriter
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.shortcuts import OneshotPlanner, PlanValidator
from unified_planning.test.examples import get_example_problems

from htn import problem_kind
from htn.grounding.ground_htn import ground
from htn.language.hddl import parse_domain, parse_problem, read
from htn.model import HtnProblem
from planner import load
from planner.limits import Limits
from planner.model import TRUE
from planner.plan import Status
from planner.solve import solve
from planner.unified_planning import register
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # its own

EXAMPLES = {
    name: case for name, case in get_example_problems().items() if isinstance(case.problem, HierarchicalProblem)
}
TIMED = {"htn-go-temporal"}
SHIPPED = ("travel", "incident", "household")
UNWRITTEN = {"travel"}
"""Constraints on the variables of methods, which unified-planning's writer of HDDL does not write."""
TASKS = Path(__file__).parents[3] / "shared" / "data" / "ipc2020-htn"
REFUSED = {"UM-Translog"}
"""A domain that unified-planning does not take: a type with two parents."""
LARGEST = 20_000
"""Larger files are left out, in bytes: their reader takes seconds for them."""


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    get_environment().credits_stream = None
    monkeypatch.setattr(get_environment(), "error_used_name", False)
    register()


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - TIMED))
def test_examples_are_solved_and_their_plans_accepted(name: str) -> None:
    case = EXAMPLES[name]
    with OneshotPlanner(name="forethought") as engine:
        assert engine.supports(case.problem.kind)
        result = engine.solve(case.problem)
    assert (result.status, result.plan) == (Outcome.SOLVED_SATISFICING, case.valid_plans[0])
    with PlanValidator(name="forethought") as engine:
        assert [engine.validate(case.problem, plan).status.name for plan in case.valid_plans] == ["VALID"]


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) & TIMED))
def test_examples_with_time_are_refused(name: str) -> None:
    with OneshotPlanner(name="forethought") as engine:
        assert engine.solve(EXAMPLES[name].problem).status is Outcome.UNSUPPORTED_PROBLEM


def samples() -> list[tuple[Path, Path]]:
    """Return the files of one task of each domain; none where they are not at hand."""
    found: dict[Path, tuple[Path, Path]] = {}
    if (TASKS / "tasks.tsv").exists():
        with (TASKS / "tasks.tsv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                folder = TASKS / row["track"] / row["domain"]
                files = folder / row["domain_file"], folder / row["problem_file"]
                if row["domain"] not in REFUSED and sum(path.stat().st_size for path in files) < LARGEST:
                    found.setdefault(folder, files)
    return list(found.values())


@pytest.mark.parametrize("files", [pytest.param(each, id=each[0].parent.name) for each in samples()])
def test_what_its_reader_reads_is_what_ours_reads(files: tuple[Path, Path]) -> None:
    theirs = from_unified_planning(PDDLReader().parse_problem(*map(str, files))).problem
    assert instances(theirs) == instances(as_they_read(read(*files)))


def as_they_read(problem: HtnProblem) -> HtnProblem:
    """Return `problem` without the constraints of its methods, which unified-planning's reader passes over."""
    methods = {
        name: replace(method, network=replace(method.network, constraints=TRUE))
        for name, method in problem.domain.methods.items()
    }
    return replace(problem, domain=replace(problem.domain, methods=methods))


def instances(problem: HtnProblem) -> tuple[object, ...]:
    """Return all that a decomposition of `problem` can be made of, whatever it is numbered."""
    found = ground(problem, Limits())
    methods = sorted((each.method.name, each.binding) for each in found.methods if each.method is not None)
    return sorted(str(each.step) for each in found.task.actions), sorted(map(str, found.compounds)), methods


@pytest.mark.parametrize("name", sorted({*SHIPPED} - UNWRITTEN))
def test_what_its_writer_writes_has_the_same_optimum(name: str) -> None:
    problem = load(name)
    outgoing = to_unified_planning(problem)
    writer = PDDLWriter(outgoing.problem)
    texts = writer.get_domain(), writer.get_problem()
    again = parse_problem(texts[1], parse_domain(texts[0]))
    before, after = solve(problem, time_limit=20), solve(again, time_limit=20)
    assert (before.status, after.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert before.cost == after.cost


@pytest.mark.parametrize("name", SHIPPED)
def test_the_engine_solves_what_is_shipped(name: str) -> None:
    problem = load(name)
    outgoing = to_unified_planning(problem)
    with OneshotPlanner(name="forethought-opt") as engine:
        result = engine.solve(outgoing.problem)
    assert result.status is Outcome.SOLVED_OPTIMALLY
    plan = outgoing.plan(result.plan)
    verdict = problem_kind.validate(problem, plan)
    assert (verdict.valid, verdict.cost) == (True, plan.cost)
    assert plan.cost == solve(problem, mode="optimal", time_limit=20).cost
