"""No door is missing: what starts runs in the sources is compared with the doors of the matrix."""

from __future__ import annotations

import ast
import inspect
import typing
from pathlib import Path

import pytest
from doors.promises import PROMISES
from doors.registry import DOORS

import executor
from executor.agent.standing_goals.goal_authoring import StandingGoals
from executor.plans.execution_models import ExecutionModel

SOURCES = Path(executor.__file__).parent
ENTRANCES = {
    "agent/agent.py": ("agent", "room", "maintain"),
    "agent/run_goals.py": ("agent", "room", "maintain"),
    "adapters/planned_calls.py": ("planned calls",),
    "adapters/langgraph_nodes.py": ("langgraph",),
    "adapters/pydantic_ai_toolset.py": ("pydantic-ai",),
    "adapters/session.py": ("planned calls", "pydantic-ai"),
    "cli/execute.py": ("command line",),
    "joining.py": ("named run", "agent"),
    "cli/worker.py": ("worker",),
    "mcp_server/run_tools.py": ("mcp",),
    "workers/worker.py": ("worker",),
    "temporal/activities.py": ("temporal",),
    "temporal/plan_run.py": ("temporal",),
    "temporal/temporal_executor.py": ("temporal",),
}
"""Modules that start runs, and the doors that try them."""
STARTS_NONE = {
    "__init__.py": "it only hands names on",
    "demo.py": "it shows runs in simulated worlds",
    "run.py": "an executor has begun what it drives",
}
"""Modules that name the executor or planned calls, and why they are no doors."""
ELSEWHERE = {
    "command line": "tests/executor/doors/test_killed_doors.py",
    "temporal": "tests/executor/temporal/test_temporal_door.py",
}
"""Doors that need processes or servers, and which tests try them with the same bank and promises."""
BEGINNINGS = frozenset({"run", "start", "enqueue", "achieve", "carry_out", "call", "attend", "work", "toolset"})
"""Names of methods that begin runs."""
CLASSES = {
    "Agent": ("agent", "maintain"),
    "Executor": ("sequential",),
    "PlannedCalls": ("planned calls",),
    "Room": ("room",),
}
"""Public classes whose methods begin runs, and the doors that try them."""


def names_executor(path):
    """Return whether a module imports what begins runs, also for its types alone."""
    wanted = {"Executor", "PlannedCalls", "TemporalExecutor"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_ours = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("executor")
        if is_ours and wanted & {each.name for each in node.names}:
            return True
    return False


def test_each_module_that_starts_runs_has_a_door():
    found = {str(each.relative_to(SOURCES)) for each in SOURCES.rglob("*.py") if names_executor(each)}
    packages = {"temporal/__init__.py"}
    assert found - packages - STARTS_NONE.keys() <= ENTRANCES.keys(), "give them a door in tests/doors/registry.py"
    tried = {name for names in ENTRANCES.values() for name in names}
    assert tried <= DOORS.keys() | ELSEWHERE.keys()


def test_each_adapter_to_another_framework_has_a_door():
    helpers = {"__init__", "agent_call", "believed_problem", "offers"}
    found = {each.stem for each in (SOURCES / "adapters").glob("*.py")} - helpers
    assert {f"adapters/{each}.py" for each in found} <= ENTRANCES.keys()


def test_each_execution_model_has_a_door():
    assert set(typing.get_args(ExecutionModel)) <= DOORS.keys()


def test_each_verb_of_standing_goals_has_a_door():
    verbs = {
        name
        for name, each in vars(StandingGoals).items()
        if not name.startswith("_") and getattr(each, "__annotations__", {}).get("return") == "StandingGoal"
    }
    assert verbs
    assert verbs <= DOORS.keys()


def test_each_public_class_that_begins_runs_has_a_door():
    classes = {name: getattr(executor, name) for name in executor.__all__ if inspect.isclass(getattr(executor, name))}
    found = {
        name
        for name, each in classes.items()
        if any(inspect.iscoroutinefunction(getattr(each, verb, None)) for verb in BEGINNINGS)
    }
    assert found == CLASSES.keys()
    assert {door for doors in CLASSES.values() for door in doors} <= DOORS.keys()


def test_the_service_begins_no_runs():
    assert not [each for each in (SOURCES / "service").rglob("*.py") if names_executor(each)]


@pytest.mark.parametrize("path", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_doors_that_need_processes_are_tried_elsewhere(path):
    assert (Path(__file__).parents[3] / path).exists()


def test_there_are_eleven_promises():
    assert len(PROMISES) == 11
