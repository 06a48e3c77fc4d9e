"""What holds the code together: import rules, complete `__all__`, and what importing costs, counted in modules."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS

ROOT = Path(__file__).parents[2]
PACKAGES = ("planner", "htn", "executor", "domains", "desk", "service", "benchmarks")
HEAVY = {"networkx", "numba", "numpy", "pydantic", "rich", "ruamel", "typer", "unified_planning"}
FACADES = [
    path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("__init__.py"))
    if "__all__" in path.read_text(encoding="utf-8")
]


def name_of(path: Path) -> str:
    """Return the dotted name of the module at `path`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_by(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after `statement`, beyond those that it starts with."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def packages_of(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_import_rules_are_kept() -> None:
    """In a process of its own: the linter switches off all loggers that there are."""
    config = str(ROOT / "pyproject.toml")
    code = f"from importlinter.cli import lint_imports; raise SystemExit(lint_imports({config!r}, no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_STATUS_SUCCESS, done.stdout


@pytest.mark.parametrize("path", FACADES, ids=name_of)
def test_all_is_complete(path: Path) -> None:
    """A package that says what it offers offers all that it imports for others, in order, and each name is there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = [node for node in tree.body if isinstance(node, ast.ImportFrom) and _is_own(node)]
    offered = {alias.asname or alias.name for node in ours for alias in node.names}
    defined = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    module = importlib.import_module(name_of(path))
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert {name for name in defined if not name.startswith("_")} <= set(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)
    unused = offered - set(module.__all__)
    assert {name for name in unused if not _is_used(name, tree)} == set()


def _is_own(node: ast.ImportFrom) -> bool:
    return (node.module or "").partition(".")[0] in PACKAGES


def _is_used(name: str, tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def test_there_are_packages_with_all() -> None:
    assert FACADES


def test_importing_planner_loads_nothing_heavy() -> None:
    loaded = imported_by("import planner")
    assert packages_of(loaded) & HEAVY == set()
    assert len(loaded) <= 150


def test_starting_the_command_loads_no_stage_of_planning() -> None:
    loaded = imported_by("import planner.cli.root")
    assert packages_of(loaded) & HEAVY == set()
    stages = {
        "planner.language.pddl",
        "planner.language.declare",
        "planner.language.documents",
        "planner.compilations.normal_form",
        "planner.grounding.ground",
    }
    assert (
        loaded & (stages | {"planner.search", "planner.heuristics", "planner.validate", "planner.unified_planning"})
        == set()
    )


def test_running_loads_no_language_model() -> None:
    loaded = imported_by("from executor import Executor, World, ExecutionPolicy, summary")
    assert not [module for module in loaded if module.startswith(("executor.agent", "executor.language_model"))]


def test_every_module_is_found_by_its_name() -> None:
    """No file shadows another: each is importable under the name that its place gives it."""
    names = [name_of(path) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert len(names) == len(set(names)) > 20
