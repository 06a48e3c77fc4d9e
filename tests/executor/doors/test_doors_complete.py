"""No door is missing: what starts runs in the sources is compared with the doors of the matrix."""

from __future__ import annotations

import ast
import inspect
import typing
from pathlib import Path

import pytest
from doors.promises import PROMISES
from doors.registry import APART, DOORS

import executor
from executor.agent.standing_goals.goal_authoring import StandingGoals
from executor.plans.execution_models import ExecutionModel

SOURCES = Path(executor.__file__).parent
STARTERS = frozenset({"Agent", "Executor", "PlannedCalls", "Room", "TemporalExecutor", "TemporalWorker", "Worker"})
"""Classes that begin runs, or carry on those that wait for a worker."""
NAMESAKES = {"executor.service.pool": "service/pool.py"}
"""Modules that have classes of such names for something else, and their files."""
ENTRANCES = {
    "executor.py": (
        "sequential",
        "parallel",
        "dag",
        "reactive",
        "policy",
        "timed",
        "hierarchical",
        "plan by hand",
        "plan without goal",
    ),
    "agent/agent.py": ("agent", "room", "maintain"),
    "agent/conversations/errands.py": ("room",),
    "agent/conversations/room.py": ("room",),
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
    "temporal/temporal_worker.py": ("temporal",),
}
"""Modules that start runs, and the doors that try them."""
STARTS_NONE = {
    "__init__.py": "it only hands names on",
    "temporal/__init__.py": "it only hands names on",
    "demo.py": "it shows runs in simulated worlds",
    "agent/agent_demo.py": "it shows runs in simulated worlds",
    "cli/sentence.py": "its agent only plans: cli/execute.py carries out the plan",
    "run.py": "an executor has begun what it drives",
}
"""Modules that name classes that begin runs, and why they are no doors."""
HELPERS = frozenset({"__init__", "agent_call", "offers"})
"""Modules beside the adapters that are none."""
ELSEWHERE = {
    "command line": "tests/executor/doors/test_command_door.py",
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


def find_starters(source):
    """Return the classes that begin runs which the `source` of a module names, also for its types alone.

    It defines them, or imports them by any name, or takes them from a module, which may be any that is not known to be
    foreign. All of a module of ours ("*") may be such a class, too.
    """
    nodes, foreign, found = [*ast.walk(ast.parse(source))], set(), set()
    for node in nodes:
        match node:
            case ast.Import(names=names):
                foreign |= {each.asname or each.name.partition(".")[0] for each in names if not is_ours(each.name)}
            case ast.ImportFrom(module=module, names=names, level=level):
                named = {each.name for each in names}
                if level == 0 and not is_ours(module):
                    foreign |= {each.asname or each.name for each in names}
                elif module not in NAMESAKES:
                    found |= named & {*STARTERS, "*"}
            case ast.ClassDef(name=name) if name in STARTERS:
                found.add(name)
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) if name in STARTERS and not is_rooted_in(node, foreign):
                found.add(name)
            case ast.Call(func=ast.Name("getattr"), args=[_, ast.Constant(name), *_]) if name in STARTERS:
                found.add(name)
    return found


def is_ours(module):
    return module.partition(".")[0] == "executor"


def is_rooted_in(node, names):
    """Return whether `a.b.c` begins with one of the names."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


def list_starting_modules(folder=SOURCES):
    """Return the files of modules that name classes that begin runs."""
    files = {str(each.relative_to(SOURCES)): each for each in folder.rglob("*.py")}
    return {
        name
        for name, each in files.items()
        if name not in NAMESAKES.values() and find_starters(each.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from executor import Executor", {"Executor"}),
        ("from executor.executor import Executor as Other", {"Executor"}),
        ("from executor.agent.agent import Agent, Other", {"Agent"}),
        ("from executor.agent.conversations.room import Room", {"Room"}),
        ("def begin():\n    from executor.workers.worker import Worker", {"Worker"}),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from executor import PlannedCalls",
            {"PlannedCalls"},
        ),
        ("from .executor import Executor", {"Executor"}),
        ("from . import executor\nexecutor.Executor(world)", {"Executor"}),
        ("import executor\nexecutor.Executor(world)", {"Executor"}),
        ("import executor.agent.agent\nexecutor.agent.agent.Agent(world)", {"Agent"}),
        ("import executor.workers.worker as hand\nhand.Worker(made)", {"Worker"}),
        ("from executor import temporal\nmade = temporal.TemporalExecutor", {"TemporalExecutor"}),
        ("from executor.executor import *", {"*"}),
        ("from importlib import import_module\nimport_module('executor.executor').Executor(world)", {"Executor"}),
        ("import executor\ngetattr(executor, 'Agent')(world)", {"Agent"}),
        ("class Room: ...", {"Room"}),
        ("from executor import Run, World\nimport executor", set()),
        ("from executor.service.pool import Worker", set()),
        ("from concurrent.futures import Executor", set()),
        ("from concurrent import futures\nfutures.Executor()", set()),
        ("import concurrent.futures\nconcurrent.futures.Executor()", set()),
        ("import executors\nexecutors.Executor()", set()),
        ("'from executor import Executor'  # Executor", set()),
    ],
)
def test_what_begins_runs_is_seen_in_a_source(source, found):
    assert find_starters(source) == found


def test_each_module_that_starts_runs_has_a_door():
    starting = list_starting_modules()
    assert starting - STARTS_NONE.keys() <= ENTRANCES.keys(), "give them a door in tests/doors/registry.py"
    assert starting == ENTRANCES.keys() | STARTS_NONE.keys(), "nothing in these starts runs any more"
    assert not ENTRANCES.keys() & STARTS_NONE.keys()


def test_classes_that_begin_runs_are_where_they_are_looked_for():
    defined = [
        each.name
        for file in SOURCES.rglob("*.py")
        for each in ast.parse(file.read_text("utf-8")).body
        if isinstance(each, ast.ClassDef)
    ]
    assert defined.count("Worker") == 1 + len(NAMESAKES)
    assert {*defined} >= STARTERS >= CLASSES.keys()


def test_each_entrance_is_tried_by_a_door_or_elsewhere():
    tried = {name for names in ENTRANCES.values() for name in names}
    assert tried - DOORS.keys() == ELSEWHERE.keys() == APART.keys()


def test_each_adapter_to_another_framework_has_a_door():
    files = {each.stem for each in (SOURCES / "adapters").glob("*.py")}
    named = {name.removeprefix("adapters/").removesuffix(".py") for name in ENTRANCES if name.startswith("adapters/")}
    assert files - HELPERS == named
    assert files >= HELPERS


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
    assert not list_starting_modules(SOURCES / "service")


@pytest.mark.parametrize("path", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_doors_that_need_processes_are_tried_elsewhere(path):
    assert (Path(__file__).parents[3] / path).exists()


def test_there_are_seventeen_promises():
    assert len(PROMISES) == 17
