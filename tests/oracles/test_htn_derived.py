"""Derived methods, written in HDDL, as unified-planning reads them."""

from __future__ import annotations

import pytest

from htn.compilations.methods_from_actions import as_htn
from htn.language.hddl import write
from planner import compile_object_creation, load
from planner.language.loading.python_files import list_shipped_names
from planner.model import Problem
from planner.model.problem import is_temporal

up = pytest.importorskip("unified_planning.shortcuts", reason="unified-planning is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # not ours


@pytest.mark.parametrize("name", list_shipped_names())
def test_unified_planning_reads_what_is_derived(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from unified_planning.io import PDDLReader

    problem = load(name)
    if not isinstance(problem, Problem):
        pytest.skip("the domain has methods of its own")
    if is_temporal(problem):
        pytest.skip("HDDL has no words for time")
    problem = compile_object_creation(problem, 1).problem
    if problem.domain.axioms:
        pytest.skip("its reader knows no derived predicates")
    if problem.wishes or problem.is_limited or problem.unknown:
        pytest.skip("HDDL has no words for wishes, budgets, deadlines and unknown facts")
    up.get_environment().credits_stream = None
    monkeypatch.setattr(up.get_environment(), "error_used_name", False)
    files = write(problem)
    found = PDDLReader().parse_problem_string(files["domain.hddl"], files["problem.hddl"])
    derived = as_htn(problem).domain
    assert len(found.methods) == len(derived.methods)
    assert {each.name for each in found.tasks} == {each.lower() for each in derived.tasks}
